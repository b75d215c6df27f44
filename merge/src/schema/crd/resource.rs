//! The parts of a CRD around its schemas.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::models;
use super::props::Props;
use super::structural;
use crate::schema::at::{At, present};
use crate::schema::error::{Problem, SchemaError};
use crate::schema::kinds::GroupVersionKind;
use crate::schema::openapi::convert::{self, Model};
use crate::schema::openapi::{Endpoints, KindInfo, OpenApi};

type Result<T> = std::result::Result<T, SchemaError>;
type Object = Map<String, Value>;

/// A custom resource, by its CRD.
#[derive(Clone, Debug, PartialEq)]
pub struct CustomResource {
    /// The API group.
    pub group: String,
    /// The kind.
    pub kind: String,
    /// The name of the resource in paths.
    pub plural: String,
    /// The scope of its objects.
    pub scope: Scope,
    /// All versions in the CRD's order, served or not.
    pub versions: Vec<Version>,
    /// The conversion between versions.
    pub conversion: Conversion,
    /// `spec.preserveUnknownFields`: all structs may have unknown fields.
    pub preserve_unknown_fields: bool,
    /// The types and kinds of all versions together: the server merges by one schema for all.
    pub api: OpenApi,
}

/// The scope of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// In namespaces.
    Namespaced,
    /// In the cluster.
    Cluster,
}

/// The conversion between versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversion {
    /// Only `apiVersion` changes.
    None,
    /// A webhook, whose result only it knows.
    Webhook,
}

/// A version of a custom resource.
#[derive(Clone, Debug, PartialEq)]
pub struct Version {
    /// The version's name.
    pub name: String,
    /// Whether the server serves it.
    pub served: bool,
    /// Whether objects are stored in it.
    pub storage: bool,
    /// The name of its type in [`CustomResource::api`].
    pub type_name: String,
    /// The source of its type.
    pub schema: VersionSchema,
    /// Whether there is a `status` subresource.
    pub status: bool,
    /// The paths of the `scale` subresource, where there is one.
    pub scale: Option<ScalePaths>,
}

/// The source of a version's type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VersionSchema {
    /// From the version's schema.
    Structural,
    /// The version has no schema: any fields, with deduced types.
    Absent,
    /// The version has a schema that isn't structural, which the server ignores.
    NotStructural(SchemaError),
}

/// The paths of a `scale` subresource, as JSON paths such as `.spec.replicas`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScalePaths {
    /// `specReplicasPath`: the desired replicas.
    pub spec_replicas: String,
    /// `statusReplicasPath`: the observed replicas.
    pub status_replicas: String,
    /// `labelSelectorPath`: the selector of the pods, if set.
    pub label_selector: Option<String>,
}

impl ScalePaths {
    /// The fields of `spec_replicas`, outermost first, split as the server splits them.
    pub fn spec_replicas_fields(&self) -> impl Iterator<Item = &str> {
        self.spec_replicas.strip_prefix('.').unwrap_or(&self.spec_replicas).split('.')
    }
}

impl CustomResource {
    /// The kind of a version's objects.
    pub fn group_version_kind(&self, version: &str) -> GroupVersionKind {
        GroupVersionKind::new(self.group.clone(), version, self.kind.clone())
    }

    /// A version by its name.
    pub fn version(&self, name: &str) -> Option<&Version> {
        self.versions.iter().find(|version| version.name == name)
    }
}

/// Reads a CustomResourceDefinition.
///
/// # Errors
/// When it isn't a CRD of version v1, a part for merging is missing or has an unknown value. The server wouldn't serve such
/// a resource.
///
/// ```
/// use baton_merge::schema::crd;
///
/// let resource = crd::parse(&serde_json::json!({
///     "apiVersion": "apiextensions.k8s.io/v1",
///     "kind": "CustomResourceDefinition",
///     "spec": {
///         "group": "baton.rs", "scope": "Namespaced", "names": {"kind": "Note", "plural": "notes"},
///         "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
///             "type": "object", "properties": {"text": {"type": "string"}},
///         }}}],
///     },
/// }))?;
/// assert_eq!(resource.versions[0].type_name, "rs.baton.v1.Note");
/// # Ok::<(), baton_merge::schema::SchemaError>(())
/// ```
pub fn parse(definition: &Value) -> Result<CustomResource> {
    let root = At::root("$");
    let object = root.object(definition)?;
    expect(object, "apiVersion", "apiextensions.k8s.io/v1", &root)?;
    expect(object, "kind", "CustomResourceDefinition", &root)?;
    let at = root.member("spec");
    let spec = at.object(required(object, "spec", &root)?)?;
    let names = at.object(required(spec, "names", &at)?)?;
    let group = text(spec, "group", &at)?;
    let kind = text(names, "kind", &at.member("names"))?;
    let preserve_unknown_fields = flag(spec, "preserveUnknownFields", &at)?;
    let reads = read_versions(spec, &at, &group, &kind)?;
    let mut models = models::shipped(reads.iter().any(|(version, _)| version.scale.is_some()))?;
    let (versions, own): (Vec<Version>, Vec<Model<'_>>) = reads.into_iter().unzip();
    models.extend(own);
    let mut resource = CustomResource {
        plural: text(names, "plural", &at.member("names"))?,
        scope: read_scope(spec, &at)?,
        conversion: read_conversion(spec, &at)?,
        api: OpenApi {
            definition: convert::definition(&models, preserve_unknown_fields)?,
            kinds: BTreeMap::new(),
        },
        group,
        kind,
        versions,
        preserve_unknown_fields,
    };
    resource.api.kinds = index(&resource);
    Ok(resource)
}

/// A list of CRDs omits these from its items, so absent is valid.
fn expect(object: &Object, name: &str, expected: &'static str, at: &At<'_>) -> Result<()> {
    let at = at.member(name);
    match present(object, name).map(|value| at.text(value)).transpose()? {
        Some(found) if found != expected => {
            Err(at.error(Problem::NotACustomResourceDefinition { expected, found: found.to_owned() }))
        }
        _ => Ok(()),
    }
}

fn required<'v>(object: &'v Object, name: &'static str, at: &At<'_>) -> Result<&'v Value> {
    present(object, name).ok_or_else(|| at.error(Problem::Missing(name)))
}

fn text(object: &Object, name: &'static str, at: &At<'_>) -> Result<String> {
    Ok(at.member(name).text(required(object, name, at)?)?.to_owned())
}

fn flag(object: &Object, name: &'static str, at: &At<'_>) -> Result<bool> {
    present(object, name).map_or(Ok(false), |value| at.member(name).flag(value))
}

fn read_scope(spec: &Object, at: &At<'_>) -> Result<Scope> {
    match text(spec, "scope", at)?.as_str() {
        "Namespaced" => Ok(Scope::Namespaced),
        "Cluster" => Ok(Scope::Cluster),
        other => at.member("scope").refuse_word("scope", &other.into(), &["Namespaced", "Cluster"]),
    }
}

fn read_conversion(spec: &Object, at: &At<'_>) -> Result<Conversion> {
    let Some(conversion) = present(spec, "conversion") else { return Ok(Conversion::None) };
    let at = at.member("conversion");
    let conversion = at.object(conversion)?;
    match text(conversion, "strategy", &at)?.as_str() {
        "None" => Ok(Conversion::None),
        "Webhook" => Ok(Conversion::Webhook),
        other => {
            at.member("strategy").refuse_word("conversion strategy", &other.into(), &["None", "Webhook"])
        }
    }
}

fn read_versions<'a>(
    spec: &'a Object,
    at: &At<'_>,
    group: &str,
    kind: &str,
) -> Result<Vec<(Version, Model<'a>)>> {
    let versions = required(spec, "versions", at)?;
    let at = at.member("versions");
    let mut seen = BTreeSet::new();
    let mut read = Vec::new();
    for (index, version) in at.list(versions)?.iter().enumerate() {
        let at = at.index(index);
        let (version, model) = read_version(at.object(version)?, &at, group, kind)?;
        if !seen.insert(version.name.clone()) {
            return Err(at.error(Problem::Duplicate { what: "versions", name: version.name }));
        }
        read.push((version, model));
    }
    Ok(read)
}

fn read_version<'a>(
    object: &'a Object,
    at: &At<'_>,
    group: &str,
    kind: &str,
) -> Result<(Version, Model<'a>)> {
    let name = text(object, "name", at)?;
    let type_name = type_name(group, &name, kind);
    let (schema, model) = read_schema(object, at)?;
    let model = Model {
        name: type_name.clone(),
        at: at.member("schema").member("openAPIV3Schema").to_string(),
        schema: model,
    };
    let (status, scale) = read_subresources(object, at)?;
    let (served, storage) = (flag(object, "served", at)?, flag(object, "storage", at)?);
    Ok((Version { name, served, storage, type_name, schema, status, scale }, model))
}

/// The group's labels reversed, as in Java packages: `rs.baton.v1alpha1.Workload`.
fn type_name(group: &str, version: &str, kind: &str) -> String {
    let backwards: Vec<&str> = group.split('.').rev().collect();
    format!("{}.{version}.{kind}", backwards.join("."))
}

fn read_schema<'a>(
    version: &'a Object,
    at: &At<'_>,
) -> Result<(VersionSchema, crate::schema::openapi::spec::Schema<'a>)> {
    let absent = Ok((VersionSchema::Absent, models::free_form()));
    let Some(validation) = present(version, "schema") else { return absent };
    let at = at.member("schema");
    let Some(schema) = present(at.object(validation)?, "openAPIV3Schema") else { return absent };
    let at = at.member("openAPIV3Schema");
    let props = Props::read(schema, &at)?;
    Ok(match structural::check(&props, &at) {
        Ok(()) => (VersionSchema::Structural, models::resource(&props)),
        Err(why) => (VersionSchema::NotStructural(why), models::free_form()),
    })
}

fn read_subresources(version: &Object, at: &At<'_>) -> Result<(bool, Option<ScalePaths>)> {
    let Some(subresources) = present(version, "subresources") else { return Ok((false, None)) };
    let at = at.member("subresources");
    let subresources = at.object(subresources)?;
    let status = present(subresources, "status").is_some();
    let Some(scale) = present(subresources, "scale") else { return Ok((status, None)) };
    let at = at.member("scale");
    let scale = at.object(scale)?;
    let label_selector = match present(scale, "labelSelectorPath") {
        None => None,
        Some(path) => Some(at.member("labelSelectorPath").text(path)?.to_owned()),
    };
    let paths = ScalePaths {
        spec_replicas: text(scale, "specReplicasPath", &at)?,
        status_replicas: text(scale, "statusReplicasPath", &at)?,
        label_selector,
    };
    Ok((status, Some(paths)))
}

fn index(resource: &CustomResource) -> BTreeMap<GroupVersionKind, KindInfo> {
    let mut kinds = BTreeMap::new();
    for version in &resource.versions {
        let endpoints = Endpoints {
            plural: resource.plural.clone(),
            namespaced: resource.scope == Scope::Namespaced,
            status: version.status,
            scale: version.scale.is_some(),
        };
        let info = KindInfo { type_name: version.type_name.clone(), endpoints: Some(endpoints) };
        kinds.insert(resource.group_version_kind(&version.name), info);
    }
    if resource.versions.iter().any(|version| version.scale.is_some()) {
        let scale = KindInfo { type_name: models::SCALE.to_owned(), endpoints: None };
        kinds.insert(GroupVersionKind::new("autoscaling", "v1", "Scale"), scale);
    }
    kinds
}

#[cfg(test)]
#[path = "resource_tests.rs"]
mod tests;
