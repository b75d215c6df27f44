//! Resources and subresources of kinds, from the paths of an OpenAPI document.
//!
//! Only paths of a single object count, by their shape: `…/deployments/{name}` and the paths below it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::schema::kinds::GroupVersionKind;

/// The resource of a kind, and its subresources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoints {
    /// The resource: the kind in lower case and plural.
    pub plural: String,
    /// Whether the objects live in namespaces.
    pub namespaced: bool,
    /// Whether there is a `status` subresource.
    pub status: bool,
    /// Whether there is a `scale` subresource.
    pub scale: bool,
}

/// The endpoints of every kind in these paths. Paths of another shape are ignored.
pub(super) fn read(paths: &Map<String, Value>) -> BTreeMap<GroupVersionKind, Endpoints> {
    let mut found = BTreeMap::new();
    for (path, item) in paths {
        // Watches have paths of their own and the same kinds.
        let Some(collection) = path.strip_suffix("/{name}").filter(|path| !path.contains("/watch/")) else {
            continue;
        };
        let mut parents = collection.rsplit('/');
        let Some(plural) = parents.next().filter(|plural| !plural.is_empty()) else { continue };
        let namespaced = parents.next() == Some("{namespace}");
        let Some(kind) = kind_of(item) else { continue };
        let has = |subresource: &str| paths.contains_key(&format!("{path}/{subresource}"));
        let (status, scale) = (has("status"), has("scale"));
        found.insert(kind, Endpoints { plural: plural.to_owned(), namespaced, status, scale });
    }
    found
}

fn kind_of(item: &Value) -> Option<GroupVersionKind> {
    let operations = item.as_object()?.values();
    operations.filter_map(|operation| operation.get(KIND)).find_map(read_kind)
}

const KIND: &str = "x-kubernetes-group-version-kind";

/// The kinds of a schema. Unreadable ones are ignored, as by the server's index.
pub(super) fn kinds_of(schema: &Value) -> impl Iterator<Item = GroupVersionKind> {
    let kinds = schema.get(KIND).and_then(Value::as_array).into_iter().flatten();
    kinds.filter_map(read_kind).filter(|kind| !kind.kind.is_empty())
}

fn read_kind(value: &Value) -> Option<GroupVersionKind> {
    let member = |name: &str| value.get(name).and_then(Value::as_str);
    Some(GroupVersionKind::new(member("group")?, member("version")?, member("kind")?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn operation(group: &str, kind: &str) -> Value {
        json!({"parameters": [], "get": {KIND: {"group": group, "version": "v1", "kind": kind}}})
    }

    #[test]
    fn subresources_are_found_by_the_shape_of_paths() {
        let apps = "/apis/apps/v1/namespaces/{namespace}/deployments/{name}";
        let paths = json!({
            apps: operation("apps", "Deployment"),
            format!("{apps}/scale"): operation("autoscaling", "Scale"),
            format!("{apps}/status"): operation("apps", "Deployment"),
            "/api/v1/namespaces/{name}": operation("", "Namespace"),
            "/api/v1/namespaces/{name}/status": operation("", "Namespace"),
            "/apis/apps/v1/deployments": operation("apps", "Deployment"),
        });
        let found = read(paths.as_object().unwrap());
        let deployment =
            Endpoints { plural: "deployments".into(), namespaced: true, status: true, scale: true };
        assert_eq!(found[&GroupVersionKind::new("apps", "v1", "Deployment")], deployment);
        let namespace =
            Endpoints { plural: "namespaces".into(), namespaced: false, status: true, scale: false };
        assert_eq!(found[&GroupVersionKind::new("", "v1", "Namespace")], namespace);
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn watches_are_no_endpoints() {
        let paths = json!({"/api/v1/watch/nodes/{name}": operation("", "Node")});
        assert!(read(paths.as_object().unwrap()).is_empty());
    }

    #[test]
    fn odd_paths_are_passed_over() {
        let paths = json!({"/{name}": operation("", "A"), "": null, "x/{name}": null, "a/{name}": {"get": {KIND: {}}}});
        assert!(read(paths.as_object().unwrap()).is_empty());
    }
}
