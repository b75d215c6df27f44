//! The kinds of a server, as far as writes depend on them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use super::resets::{self, Resets};
use crate::schema::{
    Schema, SchemaError, TypeId,
    crd::{self, Conversion, CustomResource},
    definition::{AtomDefinition, FieldDefinition, MapDefinition, SchemaDefinition, TypeReference},
    kinds::GroupVersionKind,
    openapi::{self, KindInfo, OpenApi},
};

/// The kinds of an OpenAPI document or a CRD, compiled once and then shared.
///
/// ```
/// use baton_merge::{schema::kinds::GroupVersionKind, server::Resources};
///
/// let resources = Resources::from_crd(&serde_json::json!({
///     "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
///     "spec": {
///         "group": "baton.rs", "scope": "Namespaced", "names": {"kind": "Note", "plural": "notes"},
///         "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
///             "type": "object", "properties": {"text": {"type": "string"}},
///         }}}],
///     },
/// }))?;
/// assert!(resources.get(&GroupVersionKind::new("baton.rs", "v1", "Note")).is_some());
/// # Ok::<(), baton_merge::schema::SchemaError>(())
/// ```
#[derive(Debug)]
pub struct Resources {
    schema: Schema,
    kinds: BTreeMap<GroupVersionKind, Kind>,
}

#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is one fact about a kind")]
struct Kind {
    api_version: String,
    type_id: TypeId,
    is_custom: bool,
    has_status: bool,
    scale: Option<Scale>,
    /// Every version of the kind with a type, by `apiVersion`.
    versions: Vec<(String, TypeId)>,
    /// The versions with the same fields as this one.
    same_versions: Vec<String>,
    /// The versions with a separate `status`.
    status_versions: Vec<String>,
    /// The conversion between versions; `None` if only the server knows it.
    conversion: Option<Conversion>,
    /// Whether the server sets defaults.
    has_defaults: bool,
    /// Whether the storage version has the same fields.
    is_stored_as_written: bool,
    zero: Option<serde_json::Value>,
    /// The type of the `scale` subresource.
    scale_type: Option<TypeId>,
}

/// The replicas of a `scale` subresource's parent.
#[derive(Clone, Debug)]
pub(super) struct Scale {
    /// Their path by version; empty for a version without a `scale` subresource.
    pub(super) replicas_by_version: Vec<(String, Vec<String>)>,
    pub(super) replicas: Vec<String>,
    pub(super) status_replicas: Vec<String>,
}

/// One kind in one version.
#[derive(Clone, Copy, Debug)]
pub struct Resource<'s> {
    pub(super) schema: &'s Schema,
    pub(super) gvk: &'s GroupVersionKind,
    kind: &'s Kind,
}

pub(super) const SCALE_VERSION: &str = "autoscaling/v1";
pub(super) const SCALE_KIND: &str = "Scale";

impl Resources {
    /// The kinds of an OpenAPI v3 document, as a kube-apiserver serves it for a group and version. It describes built-in
    /// kinds completely, and custom ones except for the `scale` subresource.
    ///
    /// # Errors
    /// When the document can't be read.
    pub fn from_openapi(document: &serde_json::Value) -> Result<Self, SchemaError> {
        Ok(Self::of_openapi(&openapi::parse(document)?))
    }

    /// The versions of a custom resource.
    ///
    /// # Errors
    /// When the CRD can't be read.
    pub fn from_crd(definition: &serde_json::Value) -> Result<Self, SchemaError> {
        Ok(Self::of_crd(&crd::parse(definition)?))
    }

    /// The compiled schema.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The kind in a version, if it is served.
    pub fn get(&self, gvk: &GroupVersionKind) -> Option<Resource<'_>> {
        let (gvk, kind) = self.kinds.get_key_value(gvk)?;
        Some(Resource { schema: &self.schema, gvk, kind })
    }

    fn of_openapi(api: &OpenApi) -> Self {
        let schema = Schema::compile(&api.definition);
        let kinds = api.kinds.iter().filter_map(|(gvk, info)| {
            let type_id = schema.type_named(&info.type_name)?;
            let of_kind =
                || api.kinds.iter().filter(|(other, _)| other.group == gvk.group && other.kind == gvk.kind);
            let has_status =
                |info: &KindInfo| info.endpoints.as_ref().is_some_and(|endpoints| endpoints.status);
            let status_versions = of_kind().filter(|(_, info)| has_status(info));
            let status_versions = status_versions.map(|(other, _)| other.api_version()).collect();
            let versions = of_kind()
                .filter_map(|(other, info)| Some((other.api_version(), schema.type_named(&info.type_name)?)))
                .collect();
            let is_custom = !is_builtin(&gvk.group);
            let same_versions = of_kind()
                .filter(|(_, other)| is_same_type(&api.definition, &info.type_name, &other.type_name));
            let kind = Kind {
                api_version: gvk.api_version(),
                type_id,
                is_custom,
                has_status: has_status(info),
                scale: if is_custom { None } else { builtin_scale(gvk) },
                status_versions,
                versions,
                same_versions: same_versions.map(|(other, _)| other.api_version()).collect(),
                conversion: None,
                // A document doesn't show the defaults of a custom resource.
                has_defaults: true,
                // Nor the storage version; usually it is the written one.
                is_stored_as_written: true,
                zero: zero_value(gvk).cloned(),
                scale_type: scale_type(&schema, api),
            };
            Some((gvk.clone(), kind))
        });
        let kinds = kinds.collect();
        Self { schema, kinds }
    }

    fn of_crd(resource: &CustomResource) -> Self {
        let schema = Schema::compile(&resource.api.definition);
        let api_version = |version: &str| resource.group_version_kind(version).api_version();
        let versions: Vec<_> = resource
            .versions
            .iter()
            .filter_map(|version| Some((api_version(&version.name), schema.type_named(&version.type_name)?)))
            .collect();
        let paths =
            |text: &str| text.strip_prefix('.').unwrap_or(text).split('.').map(ToOwned::to_owned).collect();
        let replicas_by_version: Vec<_> = resource
            .versions
            .iter()
            .map(|version| {
                let path =
                    version.scale.as_ref().map(|scale| paths(&scale.spec_replicas)).unwrap_or_default();
                (api_version(&version.name), path)
            })
            .collect();
        let status_versions: Vec<_> = resource
            .versions
            .iter()
            .filter(|version| version.status && (version.served || version.storage))
            .map(|version| api_version(&version.name))
            .collect();
        let same_versions = |version: &crd::Version| {
            let is_same = |other: &&crd::Version| {
                is_same_type(&resource.api.definition, &version.type_name, &other.type_name)
            };
            resource.versions.iter().filter(is_same).map(|other| api_version(&other.name)).collect()
        };
        let served = resource.versions.iter().filter(|version| version.served);
        let kinds = served.filter_map(|version| {
            let scale = version.scale.as_ref().map(|scale| Scale {
                replicas_by_version: replicas_by_version.clone(),
                replicas: paths(&scale.spec_replicas),
                status_replicas: paths(&scale.status_replicas),
            });
            let kind = Kind {
                api_version: api_version(&version.name),
                type_id: schema.type_named(&version.type_name)?,
                is_custom: true,
                has_status: version.status,
                scale,
                versions: versions.clone(),
                same_versions: same_versions(version),
                status_versions: status_versions.clone(),
                conversion: Some(resource.conversion),
                is_stored_as_written: is_stored_as_written(resource, version),
                has_defaults: has_defaults(&resource.api.definition, &version.type_name),
                zero: None,
                scale_type: scale_type(&schema, &resource.api),
            };
            Some((resource.group_version_kind(&version.name), kind))
        });
        let kinds = kinds.collect();
        Self { schema, kinds }
    }
}

impl<'s> Resource<'s> {
    /// The `apiVersion` of its objects.
    pub fn api_version(&self) -> &'s str {
        &self.kind.api_version
    }

    /// The `kind` of its objects.
    pub fn kind(&self) -> &'s str {
        &self.gvk.kind
    }

    /// The schema of its objects.
    pub fn schema(&self) -> &'s Schema {
        self.schema
    }

    /// The type of its objects.
    pub fn type_id(&self) -> TypeId {
        self.kind.type_id
    }

    /// Whether it is a custom resource, whose objects are stored as they are, not as values of a Go type.
    pub fn is_custom(&self) -> bool {
        self.kind.is_custom
    }

    /// Whether the server sets defaults.
    pub(super) fn has_defaults(&self) -> bool {
        self.kind.has_defaults
    }

    /// Whether the storage version has the same fields. Otherwise the store may hold fields that a write in this version
    /// drops.
    pub(crate) fn is_stored_as_written(&self) -> bool {
        self.kind.is_stored_as_written
    }

    pub(super) fn is_kind(&self, group: &str, kind: &str) -> bool {
        !self.kind.is_custom && self.gvk.group == group && self.gvk.kind == kind
    }

    pub(super) fn converts_by_webhook(&self) -> bool {
        self.kind.conversion == Some(Conversion::Webhook)
    }

    /// Whether only the server can convert to this version.
    pub(super) fn converts_in_server(&self, api_version: &str) -> bool {
        let may_be_served =
            || self.kind.is_custom || ZERO_VALUES.contains_key(&format!("{api_version} {}", self.gvk.kind));
        self.kind.conversion.is_none() && !self.is_same_in(api_version) && may_be_served()
    }

    /// Whether a version has the same fields as this one.
    pub(super) fn is_same_in(&self, api_version: &str) -> bool {
        self.kind.same_versions.iter().any(|same| same == api_version)
    }

    pub(super) fn type_in(&self, api_version: &str) -> Option<TypeId> {
        self.kind.versions.iter().find(|(own, _)| own == api_version).map(|(_, type_id)| *type_id)
    }

    /// The versions in which a subresource resets fields. The main resource of a custom kind resets them in its own version
    /// only, the status in those with a status.
    pub(super) fn versions_reset(&self, subresource: &str) -> impl Iterator<Item = &'s str> {
        let kind = self.kind;
        let of_status = kind.is_custom && !subresource.is_empty();
        let own_only = kind.is_custom && subresource.is_empty();
        let all = kind.versions.iter().map(|(version, _)| version.as_str());
        let all = all.filter(move |version| !of_status && (!own_only || *version == kind.api_version));
        all.chain(kind.status_versions.iter().map(String::as_str).filter(move |_| of_status))
    }

    pub(crate) fn resets(&self, subresource: &str) -> Option<Resets> {
        if self.kind.is_custom {
            resets::of_custom(self.kind.has_status, subresource)
        } else {
            resets::of_builtin(&self.gvk.group, &self.gvk.kind, subresource)
        }
    }

    pub(super) fn scale(&self) -> Option<(&'s Scale, TypeId)> {
        Some((self.kind.scale.as_ref()?, self.kind.scale_type?))
    }

    /// The zero value of the kind, without `apiVersion` and `kind`.
    pub(super) fn zero(&self) -> Option<&'s serde_json::Value> {
        self.kind.zero.as_ref()
    }
}

/// Whether the storage version of a custom resource has the same fields as another version.
fn is_stored_as_written(resource: &CustomResource, version: &crd::Version) -> bool {
    let stored = resource.versions.iter().find(|version| version.storage);
    stored.is_none_or(|stored| is_same_type(&resource.api.definition, &stored.type_name, &version.type_name))
}

/// Whether two types have the same fields.
fn is_same_type(definition: &SchemaDefinition, one: &str, other: &str) -> bool {
    let atom = |name: &str| definition.types.iter().find(|named| named.name == name).map(|named| &named.atom);
    one == other || atom(one) == atom(other)
}

/// Whether a field of a type has a default. The types of a CRD are inline; only metadata, which has none, is by reference.
fn has_defaults(definition: &SchemaDefinition, type_name: &str) -> bool {
    fn in_reference(reference: &TypeReference) -> bool {
        reference.inlined.as_deref().is_some_and(in_atom)
    }
    fn in_atom(atom: &AtomDefinition) -> bool {
        let in_map = |map: &MapDefinition| {
            let in_field =
                |field: &FieldDefinition| field.default.is_some() || in_reference(&field.type_reference);
            map.fields.iter().flatten().any(in_field) || in_reference(&map.element_type)
        };
        atom.map.as_ref().is_some_and(in_map)
            || atom.list.as_ref().is_some_and(|list| in_reference(&list.element_type))
    }
    definition.types.iter().any(|named| named.name == type_name && in_atom(&named.atom))
}

fn scale_type(schema: &Schema, api: &OpenApi) -> Option<TypeId> {
    let scale = GroupVersionKind::new("autoscaling", "v1", SCALE_KIND);
    schema.type_named(&api.kinds.get(&scale)?.type_name)
}

/// The mappings of the storages in kubernetes' `pkg/registry`.
fn builtin_scale(gvk: &GroupVersionKind) -> Option<Scale> {
    let versions: &[&str] = match (&*gvk.group, &*gvk.kind) {
        ("apps", "Deployment" | "StatefulSet") => &["apps/v1beta1", "apps/v1beta2", "apps/v1"],
        ("apps", "ReplicaSet") => &["apps/v1beta2", "apps/v1"],
        ("", "ReplicationController") => &["v1"],
        _ => return None,
    };
    let path = |parent: &str| vec![parent.to_owned(), "replicas".to_owned()];
    Some(Scale {
        replicas_by_version: versions.iter().map(|version| ((*version).to_owned(), path("spec"))).collect(),
        replicas: path("spec"),
        status_replicas: path("status"),
    })
}

/// The zero values of built-in kinds, by `apiVersion kind`.
static ZERO_VALUES: LazyLock<BTreeMap<String, serde_json::Value>> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../data/zero-values.json")).unwrap_or_default());

static BUILTIN_GROUPS: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    let group = |name: &'static String| name.split_once(' ').and_then(|(version, _)| version.split_once('/'));
    let groups = ZERO_VALUES.keys().map(|name| group(name).map_or("", |(group, _)| group));
    // The aggregator's own kind isn't a type of client-go, the source of the zero values.
    groups.chain(["apiregistration.k8s.io"]).collect()
});

fn zero_value(gvk: &GroupVersionKind) -> Option<&'static serde_json::Value> {
    ZERO_VALUES.get(&format!("{} {}", gvk.api_version(), gvk.kind))
}

fn is_builtin(group: &str) -> bool {
    BUILTIN_GROUPS.contains(group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_zero_values_are_there() {
        let deployment = GroupVersionKind::new("apps", "v1", "Deployment");
        assert_eq!(zero_value(&deployment).unwrap()["spec"]["strategy"], serde_json::json!({}));
        assert!(is_builtin("") && is_builtin("apps") && is_builtin("apiregistration.k8s.io"));
        assert!(!is_builtin("baton.rs"));
    }
}
