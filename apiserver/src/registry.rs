//! The served resources: built-in ones, and those of the CRDs in the store.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, LazyLock, OnceLock},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use baton_merge::{schema::kinds::GroupVersionKind, server};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256, Sha512};

use crate::{
    custom,
    data::{DISCOVERY, Document},
    kinds,
    table::CustomColumn,
    types::{TYPES, TypeRef},
};

/// One resource in one version.
pub(crate) struct Resource {
    pub(crate) gvk: GroupVersionKind,
    /// `deployments`
    pub(crate) plural: String,
    /// `Deployment` in lower case, or the CRD's singular.
    pub(crate) singular: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) namespaced: bool,
    pub(crate) verbs: Vec<String>,
    pub(crate) subresources: Vec<Subresource>,
    pub(crate) schema: Schema,
    /// The kind and version of stored objects. Each version of a custom resource is its own.
    pub(crate) stored_as: GroupVersionKind,
    /// The API version in which objects are written now, such as `apps/v1`.
    pub(crate) storage_version: Arc<str>,
    /// The key of its objects in the store, for all versions: [`qualified`](Self::qualified) in the group that stores them.
    pub(crate) storage: String,
    /// The `kind` of lists.
    pub(crate) list_kind: String,
    storage_version_hash: String,
}

/// A subresource in discovery.
pub(crate) struct Subresource {
    pub(crate) name: String,
    pub(crate) gvk: GroupVersionKind,
    pub(crate) verbs: Vec<String>,
}

/// The schema of a resource.
pub(crate) enum Schema {
    BuiltIn { document: &'static Document, of: Option<TypeRef> },
    Custom(Box<ServedVersion>),
}

/// A served version of a custom resource.
pub(crate) struct ServedVersion {
    pub(crate) definition: Arc<custom::Definition>,
    /// The CRD as an object.
    pub(crate) object: Arc<Value>,
    /// All versions, compiled for the merge core.
    pub(crate) resources: Arc<server::Resources>,
    pub(crate) name: String,
    /// Whether a stored object may differ from this version's: there are other versions, the schema changed, or the status
    /// has a default, which a creation drops.
    pub(crate) may_differ_from_stored: bool,
    pub(crate) columns: Vec<CustomColumn>,
    /// The JSON paths of selectable fields.
    pub(crate) selectable: Vec<String>,
}

impl ServedVersion {
    pub(crate) fn version(&self) -> Option<&custom::CustomVersion> {
        self.definition.version(&self.name)
    }
}

/// An entry of an `APIResourceList`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Listed {
    name: String,
    singular_name: String,
    kind: String,
    group: String,
    version: String,
    namespaced: bool,
    verbs: Vec<String>,
    short_names: Vec<String>,
    categories: Vec<String>,
    storage_version_hash: String,
}

/// A group version, with its resources in the order of discovery.
pub(crate) struct GroupVersion {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) resources: Vec<Arc<Resource>>,
    /// The OpenAPI document of custom resources.
    openapi: OnceLock<String>,
    hash: OnceLock<String>,
}

impl GroupVersion {
    pub(crate) fn new(group: String, version: String, resources: Vec<Arc<Resource>>) -> Self {
        Self { group, version, resources, openapi: OnceLock::new(), hash: OnceLock::new() }
    }

    /// `apps/v1`, or `v1`.
    pub(crate) fn name(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// Its path, such as `apis/apps/v1`.
    pub(crate) fn path(&self) -> String {
        let root = if self.group.is_empty() { "api" } else { "apis" };
        format!("{root}/{}", self.name())
    }

    /// The OpenAPI document.
    pub(crate) fn openapi(&self) -> &str {
        match Document::of(&self.path()) {
            Some(recorded) => recorded.text(),
            None => self.custom_openapi(),
        }
    }

    /// The hash of the OpenAPI document.
    pub(crate) fn openapi_hash(&self) -> &str {
        match Document::of(&self.path()) {
            Some(recorded) => recorded.hash(),
            None => self.hash.get_or_init(|| hash(self.custom_openapi().as_bytes())),
        }
    }

    fn custom_openapi(&self) -> &str {
        static APPS: LazyLock<Value> = LazyLock::new(|| {
            let apps = Document::of("apis/apps/v1").map(Document::text).unwrap_or_default();
            serde_json::from_str(apps).unwrap_or_default()
        });
        self.openapi.get_or_init(|| {
            let objects = self.resources.iter().filter_map(|resource| match &resource.schema {
                Schema::Custom(custom) => Some(custom.object.as_ref()),
                Schema::BuiltIn { .. } => None,
            });
            let objects: Vec<_> = objects.collect();
            custom::openapi::document(&self.version, &objects, &APPS).to_string()
        })
    }

    pub(crate) fn is_built_in(&self) -> bool {
        self.resources.iter().all(|resource| !resource.is_custom())
    }

    pub(crate) fn resource(&self, plural: &str) -> Option<&Arc<Resource>> {
        self.resources.iter().find(|resource| resource.plural == plural)
    }
}

/// The built-in group versions, shared by all servers of the process.
static BUILT_IN: LazyLock<Vec<Arc<GroupVersion>>> =
    LazyLock::new(|| DISCOVERY.resources.iter().map(|(path, list)| Arc::new(built_in(path, list))).collect());

fn built_in(path: &str, list: &Value) -> GroupVersion {
    let name = list["groupVersion"].as_str().unwrap_or_default();
    let (group, version) = name.split_once('/').unwrap_or(("", name));
    let listed: Vec<Listed> = serde_json::from_value(list["resources"].clone()).unwrap_or_default();
    let document = Document::of(path);
    let resources = listed.iter().filter(|resource| !resource.name.contains('/')).filter_map(|resource| {
        let gvk = GroupVersionKind::new(
            if resource.group.is_empty() { group } else { &resource.group },
            if resource.version.is_empty() { version } else { &resource.version },
            resource.kind.as_str(),
        );
        let of = TYPES.of_kind(&gvk);
        let below = format!("{}/", resource.name);
        let subresources = listed.iter().filter_map(|sub| {
            let gvk = GroupVersionKind::new(
                if sub.group.is_empty() && sub.version.is_empty() { group } else { &sub.group },
                if sub.version.is_empty() { version } else { &sub.version },
                sub.kind.as_str(),
            );
            Some(Subresource {
                name: sub.name.strip_prefix(&below)?.to_owned(),
                gvk,
                verbs: sub.verbs.clone(),
            })
        });
        let stored_as = kinds::convert::stored_as(&gvk);
        Some(Arc::new(Resource {
            list_kind: format!("{}List", resource.kind),
            storage: qualified(&resource.name, &stored_as.group),
            storage_version: stored_as.api_version().into(),
            stored_as,
            plural: resource.name.clone(),
            singular: resource.singular_name.clone(),
            short_names: resource.short_names.clone(),
            categories: resource.categories.clone(),
            namespaced: resource.namespaced,
            verbs: resource.verbs.clone(),
            subresources: subresources.collect(),
            schema: Schema::BuiltIn { document: document?, of },
            storage_version_hash: resource.storage_version_hash.clone(),
            gvk,
        }))
    });
    GroupVersion::new(group.to_owned(), version.to_owned(), resources.collect())
}

/// Deprecated versions of built-in kinds, with their warnings.
const DEPRECATED: [(&str, &str, &str, &str); 2] = [
    ("", "v1", "ComponentStatus", "v1 ComponentStatus is deprecated in v1.19+"),
    ("", "v1", "Endpoints", "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"),
];

/// Whether a built-in resource has this kind.
pub(crate) fn is_built_in(group: &str, version: &str, kind: &str) -> bool {
    let of = |of: &&Arc<GroupVersion>| of.group == group && of.version == version;
    BUILT_IN.iter().filter(of).flat_map(|of| &of.resources).any(|resource| resource.gvk.kind == kind)
}

/// The built-in group versions, those first that their groups prefer. Controllers go through them after every change.
static BY_PREFERENCE: LazyLock<Vec<Arc<GroupVersion>>> = LazyLock::new(|| {
    let preferred = |group: &Value| group["preferredVersion"]["groupVersion"].as_str().map(str::to_owned);
    let preferred: HashSet<String> = DISCOVERY.groups.iter().filter_map(preferred).collect();
    let is_preferred = |of: &Arc<GroupVersion>| of.group.is_empty() || preferred.contains(&of.name());
    let (first, others): (Vec<_>, Vec<_>) = BUILT_IN.iter().cloned().partition(is_preferred);
    [first, others].concat()
});

/// All served resources.
#[derive(Clone)]
pub(crate) struct Registry {
    /// By path, such as `apis/apps/v1`.
    versions: HashMap<String, Arc<GroupVersion>>,
    /// The groups of custom resources in the order of discovery, with their versions, the preferred one first.
    custom: Vec<(String, Vec<Arc<GroupVersion>>)>,
    preferred: Vec<Arc<Resource>>,
}

impl Default for Registry {
    fn default() -> Self {
        let versions = BUILT_IN.iter().map(|of| (of.path(), of.clone())).collect();
        let mut registry = Self { versions, custom: Vec::new(), preferred: Vec::new() };
        registry.set_preferred();
        registry
    }
}

impl Registry {
    /// The group version at a path, such as `apis/apps/v1`.
    pub(crate) fn group_version(&self, path: &str) -> Option<&Arc<GroupVersion>> {
        self.versions.get(path)
    }

    /// Whether a path belongs to a built-in group.
    pub(crate) fn is_built_in(path: &str) -> bool {
        let mut parts = path.split('/').skip(1);
        match (parts.next(), parts.next(), parts.next()) {
            (Some("api"), Some(_), _) => true,
            (Some("apis"), Some(group), Some(_)) => BUILT_IN.iter().any(|of| of.group == group),
            _ => false,
        }
    }

    /// The resource with this plural.
    pub(crate) fn resource(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        let path =
            if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") };
        self.versions.get(&path)?.resource(plural)
    }

    /// The resource with this kind.
    pub(crate) fn of_kind(&self, group: &str, version: &str, kind: &str) -> Option<&Arc<Resource>> {
        let path =
            if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") };
        self.versions.get(&path)?.resources.iter().find(|resource| resource.gvk.kind == kind)
    }

    /// All resources, each once: in the preferred version of its group or the next one that has it, and in the group that
    /// stores it.
    pub(crate) fn preferred(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.preferred.iter()
    }

    fn set_preferred(&mut self) {
        let custom = self.custom.iter().flat_map(|(_, versions)| versions);
        let all = BY_PREFERENCE.iter().chain(custom).flat_map(|of| &of.resources);
        let mut seen = HashSet::new();
        let is_first = |resource: &&Arc<Resource>| {
            resource.gvk.group == resource.stored_as.group && seen.insert(resource.storage.clone())
        };
        self.preferred = all.filter(is_first).cloned().collect();
    }

    /// Replaces the custom resources.
    pub(crate) fn set_custom(&mut self, custom: Vec<(String, Vec<Arc<GroupVersion>>)>) {
        for (_, versions) in &self.custom {
            for of in versions {
                self.versions.remove(&of.path());
            }
        }
        for (_, versions) in &custom {
            self.versions.extend(versions.iter().map(|of| (of.path(), of.clone())));
        }
        self.custom = custom;
        self.set_preferred();
    }

    /// The groups of custom resources with their versions, the preferred one first.
    pub(crate) fn custom(&self) -> &[(String, Vec<Arc<GroupVersion>>)] {
        &self.custom
    }

    /// All group versions, the built-in ones first.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<GroupVersion>> {
        BUILT_IN.iter().chain(self.custom.iter().flat_map(|(_, versions)| versions))
    }
}

impl Resource {
    /// The CRD of a custom resource, as an object.
    pub(crate) fn definition(&self) -> Option<&Arc<Value>> {
        match &self.schema {
            Schema::Custom(custom) => Some(&custom.object),
            Schema::BuiltIn { .. } => None,
        }
    }

    /// The resource of a custom resource's version.
    pub(crate) fn custom(served: ServedVersion) -> Self {
        let gvk =
            GroupVersionKind::new(&served.definition.group, &served.name, &served.definition.names.kind);
        let subresource = |name: &str, gvk| Subresource {
            name: name.to_owned(),
            gvk,
            verbs: ["get", "patch", "update"].map(str::to_owned).into(),
        };
        let mut subresources = Vec::new();
        if let Some(of) = served.version() {
            if of.status {
                subresources.push(subresource("status", gvk.clone()));
            }
            if of.scale.is_some() {
                subresources.push(subresource("scale", GroupVersionKind::new("autoscaling", "v1", "Scale")));
            }
        }
        let custom::Definition { names, versions, .. } = &*served.definition;
        let stored = versions.iter().find(|version| version.is_stored);
        let storage_version = stored.map_or("", |version| &version.api_version);
        Self {
            storage_version: storage_version.into(),
            storage_version_hash: storage_version_hash(&names.kind, storage_version),
            stored_as: gvk.clone(),
            storage: qualified(&names.plural, &gvk.group),
            plural: names.plural.clone(),
            singular: names.singular.clone(),
            short_names: names.short_names.clone(),
            categories: names.categories.clone(),
            namespaced: served.definition.namespaced,
            verbs: ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
                .map(str::to_owned)
                .into(),
            subresources,
            list_kind: names.list_kind.clone(),
            schema: Schema::Custom(Box::new(served)),
            gvk,
        }
    }

    /// `deployments.apps`, or `pods`: the name in messages and the store.
    pub(crate) fn qualified(&self) -> String {
        qualified(&self.plural, &self.gvk.group)
    }

    /// The `details` of a `Status` about an object.
    pub(crate) fn details(&self, name: &str) -> Value {
        let mut details = json!({"kind": self.plural});
        for (key, value) in [("group", self.gvk.group.as_str()), ("name", name)] {
            if !value.is_empty() {
                details[key] = value.into();
            }
        }
        details
    }

    /// The resource in the merge core.
    pub(crate) fn merged(&self) -> Option<server::Resource<'_>> {
        match &self.schema {
            Schema::BuiltIn { document, .. } => document.resources()?.get(&self.gvk),
            Schema::Custom(version) => version.resources.get(&self.gvk),
        }
    }

    /// Whether its objects are stored in another version.
    pub(crate) fn is_converted(&self) -> bool {
        self.gvk != self.stored_as
    }

    pub(crate) fn is_custom(&self) -> bool {
        matches!(self.schema, Schema::Custom(_))
    }

    /// Whether it is this built-in kind.
    pub(crate) fn is(&self, group: &str, kind: &str) -> bool {
        !self.is_custom() && self.gvk.group == group && self.gvk.kind == kind
    }

    /// The warning to clients of a deprecated version.
    pub(crate) fn deprecation(&self) -> Option<String> {
        match &self.schema {
            Schema::Custom(custom) => custom.version()?.deprecation.clone(),
            Schema::BuiltIn { .. } => {
                let own = DEPRECATED.iter().find(|(group, version, kind, _)| {
                    (*group, *version, *kind) == (&self.gvk.group, &self.gvk.version, &self.gvk.kind)
                });
                own.map(|(.., warning)| (*warning).to_owned())
            }
        }
    }

    pub(crate) fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|subresource| subresource.name == name)
    }

    pub(crate) fn allows(&self, verb: &str) -> bool {
        self.verbs.iter().any(|own| own == verb)
    }

    /// Its entries in an `APIResourceList`, with its subresources.
    pub(crate) fn listed(&self) -> Vec<Value> {
        let mut own = json!({
            "name": self.plural, "singularName": self.singular, "namespaced": self.namespaced,
            "kind": self.gvk.kind, "verbs": self.verbs,
        });
        for (key, names) in [("shortNames", &self.short_names), ("categories", &self.categories)] {
            if !names.is_empty() {
                own[key] = names.clone().into();
            }
        }
        if !self.storage_version_hash.is_empty() {
            own["storageVersionHash"] = self.storage_version_hash.as_str().into();
        }
        let below = self.subresources.iter().map(|subresource| {
            let mut entry = json!({
                "name": format!("{}/{}", self.plural, subresource.name), "singularName": "",
                "namespaced": self.namespaced, "kind": subresource.gvk.kind, "verbs": subresource.verbs,
            });
            if (&subresource.gvk.group, &subresource.gvk.version) != (&self.gvk.group, &self.gvk.version) {
                entry["group"] = subresource.gvk.group.as_str().into();
                entry["version"] = subresource.gvk.version.as_str().into();
            }
            entry
        });
        std::iter::once(own).chain(below).collect()
    }

    /// Its entry in an `APIGroupDiscoveryList`.
    pub(crate) fn discovered(&self) -> Value {
        // Built-in resources omit their own group and version.
        let kind = |gvk: &GroupVersionKind| {
            let is_here =
                !self.is_custom() && (&gvk.group, &gvk.version) == (&self.gvk.group, &self.gvk.version);
            let (group, version) =
                if is_here { ("", "") } else { (gvk.group.as_str(), gvk.version.as_str()) };
            json!({"group": group, "version": version, "kind": gvk.kind})
        };
        let mut own = json!({
            "resource": self.plural, "responseKind": kind(&self.gvk), "singularResource": self.singular,
            "scope": if self.namespaced { "Namespaced" } else { "Cluster" }, "verbs": self.verbs,
        });
        for (key, names) in [("shortNames", &self.short_names), ("categories", &self.categories)] {
            if !names.is_empty() {
                own[key] = names.clone().into();
            }
        }
        let below = self.subresources.iter().map(|subresource| {
            json!({
                "subresource": subresource.name, "responseKind": kind(&subresource.gvk),
                "verbs": subresource.verbs,
            })
        });
        let below: Vec<_> = below.collect();
        if !below.is_empty() {
            own["subresources"] = below.into();
        }
        own
    }
}

/// The hash of a document's content.
pub(crate) fn hash(content: &[u8]) -> String {
    Sha512::digest(content).iter().fold(String::new(), |text, byte| text + &format!("{byte:02X}"))
}

/// The hash of the storage version, after `endpoints/discovery/storageversionhash.go`.
fn storage_version_hash(kind: &str, storage_version: &str) -> String {
    let hash = Sha256::digest(format!("{storage_version}/{kind}"));
    STANDARD.encode(hash.get(..8).unwrap_or_default())
}

fn qualified(plural: &str, group: &str) -> String {
    if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") }
}
