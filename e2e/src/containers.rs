//! The containers of a Deployment: their names, images, and the owners of their images.

use baton_apply::{
    LiveObject,
    ownership::{Owner, owners},
};
use baton_merge::{
    fieldpath::{
        Path,
        PathElement::{Field, Key},
    },
    value,
};
use serde_json::Value;

/// The names, in order.
pub fn names(deployment: &LiveObject) -> Vec<&str> {
    all(deployment).iter().filter_map(|container| container["name"].as_str()).collect()
}

/// The image of a container; empty if there is no such container.
pub fn image<'a>(deployment: &'a LiveObject, name: &str) -> &'a str {
    let container = all(deployment).iter().find(|container| container["name"] == name);
    container.and_then(|container| container["image"].as_str()).unwrap_or_default()
}

/// The owners of the image of a container.
pub fn image_owners(deployment: &LiveObject, name: &str) -> Vec<Owner> {
    let container = [("name", value::Value::String(name))];
    let path = [
        Field("spec"),
        Field("template"),
        Field("spec"),
        Field("containers"),
        Key(&container),
        Field("image"),
    ];
    owners(deployment, Path::new(&path))
}

/// The owners of the image of a container, as `baton (Apply)`.
pub fn image_owner_names(deployment: &LiveObject, name: &str) -> Vec<String> {
    let owner = |owner: &Owner| format!("{} ({:?})", owner.manager, owner.operation);
    image_owners(deployment, name).iter().map(owner).collect()
}

fn all(deployment: &LiveObject) -> &[Value] {
    let containers = deployment.get(&["spec", "template", "spec", "containers"]).and_then(Value::as_array);
    containers.map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_container_has_its_image_and_the_owner_of_its_image() {
        let fields = |name: &str| {
            let item = format!("k:{{\"name\":\"{name}\"}}");
            json!({"f:spec": {"f:template": {"f:spec": {"f:containers": {item: {"f:image": {}}}}}}})
        };
        let entry = |manager: &str, name: &str| json!({"manager": manager, "operation": "Apply", "fieldsV1": fields(name)});
        let object = json!({
            "metadata": {"name": "web", "managedFields": [entry("baton", "app"), entry("mesh", "proxy")]},
            "spec": {"template": {"spec": {"containers": [
                {"name": "app", "image": "app:1"}, {"name": "proxy", "image": "proxy:2"},
            ]}}},
        });
        let deployment = LiveObject::from_json(object).unwrap();
        assert_eq!(names(&deployment), ["app", "proxy"]);
        assert_eq!((image(&deployment, "proxy"), image(&deployment, "other")), ("proxy:2", ""));
        assert_eq!(image_owner_names(&deployment, "proxy"), ["mesh (Apply)"]);
        assert_eq!(image_owner_names(&deployment, "app"), ["baton (Apply)"]);
    }
}
