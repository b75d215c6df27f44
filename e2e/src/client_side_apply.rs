//! The request of `kubectl apply` without `--server-side` for a new object.

use baton_testbed::{Error, writes::LAST_APPLIED};
use kube::{Client, ResourceExt as _, api::PostParams, core::DynamicObject};
use serde_json::{Value, json};

use crate::any_object::any_object;

/// The field manager of that request.
pub const CLIENT_SIDE: &str = "kubectl-client-side-apply";

/// Creates an object as kubectl does: with the applied object in an annotation. Its kind needs a regular plural.
///
/// # Errors
/// When it isn't an object of a namespace, or is refused, also because it already exists.
pub async fn create(client: &Client, namespace: &str, object: &Value) -> Result<DynamicObject, Error> {
    create_as(client, CLIENT_SIDE, annotated(namespace, object)).await
}

/// Creates an object as this field manager. Its kind needs a regular plural.
///
/// # Errors
/// When it isn't an object of a namespace, or is refused, also because it already exists.
pub async fn create_as(client: &Client, manager: &str, object: Value) -> Result<DynamicObject, Error> {
    let (api, object) = any_object(client, object)?;
    let params = PostParams { field_manager: Some(manager.to_owned()), ..PostParams::default() };
    let created = api.create(&params, &object).await;
    let name = object.name_any();
    let kind = object.types.map(|types| types.kind).unwrap_or_default();
    created.map_err(Error::api(format!("create the {kind} {name}")))
}

/// The object with its annotation. The object in there always has annotations, if only empty ones, and ends with a line break.
fn annotated(namespace: &str, object: &Value) -> Value {
    let mut object = object.clone();
    object["metadata"]["namespace"] = json!(namespace);
    let metadata = &mut object["metadata"];
    if metadata["annotations"].is_null() {
        metadata["annotations"] = json!({});
    }
    let applied = format!("{object}\n");
    object["metadata"]["annotations"][LAST_APPLIED] = json!(applied);
    object
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_testbed::Cluster;

    #[tokio::test]
    async fn an_object_is_created_with_the_annotation_of_kubectl() {
        let client = Cluster::in_process().unwrap().admin().await.unwrap();
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shop"}, "data": {"key": "one"},
        });
        let created = create(&client, "default", &object).await.unwrap();
        assert_eq!(
            created.annotations()[LAST_APPLIED],
            r#"{"apiVersion":"v1","data":{"key":"one"},"kind":"ConfigMap","metadata":{"annotations":{},"name":"shop","namespace":"default"}}"#
                .to_owned()
                + "\n"
        );
        assert_eq!(created.managed_fields()[0].manager.as_deref(), Some(CLIENT_SIDE));
    }
}
