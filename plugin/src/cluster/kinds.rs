//! The kinds that a cluster serves, and their names on a command line.

use baton_apply::Target;
use kube::core::{
    ApiResource,
    discovery::v2::{APIGroupDiscovery, APIResourceDiscovery},
};

use super::ClusterError;
use crate::{manifest::Manifest, text::most_similar};

/// How similar a name has to be to be suggested: 1 is the same.
const SIMILAR: f64 = 0.85;

/// A kind of object in one version.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    /// The kind as requests name it.
    pub(crate) resource: ApiResource,
    /// Whether its objects are in namespaces.
    pub(crate) is_namespaced: bool,
    /// Its singular and its short names.
    names: Vec<String>,
}

/// All kinds of a cluster, by the preference of the server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kinds(Vec<Kind>);

/// The name of an object on a command line: `deploy/web`.
#[derive(Clone, Debug)]
pub(crate) struct Reference {
    pub(crate) kind: String,
    pub(crate) name: String,
}

impl std::fmt::Display for Reference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.kind, self.name)
    }
}

impl std::str::FromStr for Reference {
    type Err = ClusterError;

    fn from_str(text: &str) -> Result<Self, ClusterError> {
        match text.split_once('/') {
            Some((kind, name)) if !kind.is_empty() && !name.is_empty() && !name.contains('/') => {
                Ok(Self { kind: kind.to_owned(), name: name.to_owned() })
            }
            _ => Err(ClusterError::Reference(text.to_owned())),
        }
    }
}

impl Kinds {
    /// The kinds of discovery documents, of which the first has the core group.
    pub(crate) fn of(groups: impl Iterator<Item = APIGroupDiscovery>) -> Self {
        let kinds = groups.flat_map(|group| {
            let name = group.metadata.and_then(|metadata| metadata.name).unwrap_or_default();
            group.versions.into_iter().flat_map(move |version| {
                let (group, name) = (name.clone(), version.version.unwrap_or_default());
                version.resources.into_iter().filter_map(move |resource| Kind::of(&group, &name, resource))
            })
        });
        Self(kinds.collect())
    }

    /// The object of a reference.
    pub(crate) fn target(&self, reference: &Reference, namespace: &str) -> Result<Target, ClusterError> {
        let kind = self.named(&reference.kind)?;
        Ok(kind.target(namespace, &reference.name))
    }

    /// The object that a manifest is about; in this namespace if it names none.
    pub(crate) fn of_manifest(&self, manifest: &Manifest, namespace: &str) -> Result<Target, ClusterError> {
        let kind = self.of_object(&manifest.api_version, &manifest.kind)?;
        Ok(kind.target(manifest.namespace.as_deref().unwrap_or(namespace), &manifest.name))
    }

    /// The kind with this name: plural, singular, short or its own, if need be with version and group: `deployments.v1.apps`.
    fn named(&self, typed: &str) -> Result<&Kind, ClusterError> {
        let (name, rest) = typed.split_once('.').unwrap_or((typed, ""));
        let (version, group) = rest.split_once('.').unwrap_or((rest, ""));
        let is_meant = |kind: &&Kind| {
            let own = &kind.resource;
            kind.is_named(name)
                && (rest.is_empty() || own.group == rest || (own.version == version && own.group == group))
        };
        self.0.iter().find(is_meant).ok_or_else(|| self.unknown(typed, name))
    }

    /// The kind of an object.
    fn of_object(&self, api_version: &str, kind: &str) -> Result<&Kind, ClusterError> {
        let is_it = |own: &&Kind| own.resource.api_version == api_version && own.resource.kind == kind;
        self.0.iter().find(is_it).ok_or_else(|| self.unknown(&format!("{kind} ({api_version})"), kind))
    }

    fn unknown(&self, typed: &str, name: &str) -> ClusterError {
        let name = name.to_lowercase();
        let similarity = |kind: &Kind| {
            let all = kind.names.iter().chain([&kind.resource.plural]);
            all.map(|own| strsim::jaro_winkler(own, &name)).fold(0.0, f64::max)
        };
        let names = self.0.iter().map(|kind| (similarity(kind), kind.full_name()));
        ClusterError::NoSuchKind { typed: typed.to_owned(), similar: most_similar(names, SIMILAR) }
    }
}

impl Kind {
    fn of(group: &str, version: &str, resource: APIResourceDiscovery) -> Option<Self> {
        let kind = resource.response_kind?.kind?;
        let api_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
        let names = resource.singular_resource.into_iter().chain(resource.short_names).collect();
        Some(Self {
            resource: ApiResource {
                group: group.to_owned(),
                version: version.to_owned(),
                api_version,
                kind,
                plural: resource.resource?,
            },
            is_namespaced: resource.scope.as_deref() == Some("Namespaced"),
            names,
        })
    }

    /// The object of this kind with this name, in this namespace if objects of the kind are in namespaces.
    fn target(&self, namespace: &str, name: &str) -> Target {
        let namespace = self.is_namespaced.then(|| namespace.to_owned());
        Target::new(self.resource.clone(), namespace, name)
    }

    fn is_named(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        let own = [self.resource.plural.clone(), self.resource.kind.to_lowercase()];
        own.contains(&name) || self.names.contains(&name)
    }

    /// Its plural and group: `deployments.apps`.
    fn full_name(&self) -> String {
        let ApiResource { plural, group, .. } = &self.resource;
        if group.is_empty() { plural.clone() } else { format!("{plural}.{group}") }
    }
}
