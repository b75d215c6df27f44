//! Names of kinds: group, version and kind, and the `apiVersion` that holds the first two.

use std::fmt;

use serde_json::Value;

/// The group, version and kind of objects: `apps`, `v1`, `Deployment`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersionKind {
    /// The API group; empty for the core group.
    pub group: String,
    /// The version in the group.
    pub version: String,
    /// The kind.
    pub kind: String,
}

/// An `apiVersion` that is neither `version` nor `group/version`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no apiVersion: write \"v1\" for the core group, else \"group/version\"")]
pub struct ApiVersionError(pub String);

impl GroupVersionKind {
    /// The kind of this group, version and name.
    pub fn new(group: impl Into<String>, version: impl Into<String>, kind: impl Into<String>) -> Self {
        Self { group: group.into(), version: version.into(), kind: kind.into() }
    }

    /// The kind of objects with this `apiVersion` and `kind`.
    ///
    /// # Errors
    /// When `api_version` has more than one slash. An empty one is legal, as in Go's `schema.ParseGroupVersion`.
    pub fn from_api_version(api_version: &str, kind: impl Into<String>) -> Result<Self, ApiVersionError> {
        let (group, version) = match api_version.split_once('/') {
            None => ("", api_version),
            Some((_, rest)) if rest.contains('/') => return Err(ApiVersionError(api_version.to_owned())),
            Some(parts) => parts,
        };
        Ok(Self::new(group, version, kind))
    }

    /// The kind of an object; `None` if it lacks `apiVersion` or `kind`.
    pub fn of(object: &Value) -> Option<Self> {
        let api_version = object.get("apiVersion")?.as_str()?;
        let kind = object.get("kind")?.as_str()?;
        Self::from_api_version(api_version, kind).ok()
    }

    /// The `apiVersion` of objects of this kind: `v1`, `apps/v1`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }
}

/// As Go prints it: `apps/v1, Kind=Deployment`.
impl fmt::Display for GroupVersionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}, Kind={}", self.group, self.version, self.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_api_version_is_read_and_written() {
        for (text, group, version) in [("v1", "", "v1"), ("apps/v1", "apps", "v1"), ("", "", "")] {
            let kind = GroupVersionKind::from_api_version(text, "Kind").unwrap();
            assert_eq!((kind.group.as_str(), kind.version.as_str()), (group, version));
            assert_eq!(kind.api_version(), text);
        }
    }

    #[test]
    fn two_slashes_are_refused() {
        let error = GroupVersionKind::from_api_version("a/b/c", "Kind").unwrap_err();
        assert_eq!(error, ApiVersionError("a/b/c".to_owned()));
    }

    #[test]
    fn an_object_names_its_kind() {
        let object = serde_json::json!({"apiVersion": "apps/v1", "kind": "Deployment"});
        assert_eq!(GroupVersionKind::of(&object), Some(GroupVersionKind::new("apps", "v1", "Deployment")));
        assert_eq!(GroupVersionKind::of(&serde_json::json!({"kind": "Deployment"})), None);
    }

    #[test]
    fn the_core_group_prints_as_in_go() {
        assert_eq!(GroupVersionKind::new("", "v1", "Pod").to_string(), "/v1, Kind=Pod");
    }
}
