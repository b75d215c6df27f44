use http::Request;
use http_body_util::BodyExt as _;
use kube::Client;
use serde_json::{Value, json};

use crate::ApiServer;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/crates.example.com";
const CRATES: &str = "/apis/example.com/v2/namespaces/default/crates";
const LOST: &str = "request to convert CR from an invalid group/version: example.com/v1";

/// The code and the body of a response.
async fn send(client: &Client, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let content_type = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let request = Request::builder().method(method).uri(path).header("content-type", content_type);
    let response = client.send(request.body(body.to_string().into_bytes().into()).unwrap()).await.unwrap();
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&body).unwrap_or_default())
}

/// The versions of a CRD, one of them stored.
fn versions(names: &[&str], stored: &str) -> Value {
    let version = |name: &&str| {
        let schema =
            json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
        json!({"name": name, "served": true, "storage": *name == stored, "schema": schema})
    };
    json!({"spec": {"versions": names.iter().map(version).collect::<Vec<_>>()}})
}

/// A server with an object stored in v1, and v2 as the storage version.
async fn migrating() -> (ApiServer, Client) {
    let server = ApiServer::builder().start().unwrap();
    let client = server.client();
    let mut definition = versions(&["v1", "v2"], "v1");
    definition["metadata"] = json!({"name": "crates.example.com"});
    definition["spec"]["group"] = "example.com".into();
    definition["spec"]["scope"] = "Namespaced".into();
    definition["spec"]["names"] = json!({"plural": "crates", "kind": "Crate"});
    assert_eq!(send(&client, "POST", DEFINITIONS, &definition).await.0, 201);
    assert_eq!(send(&client, "POST", CRATES, &object("old")).await.0, 201);
    let stored = versions(&["v1", "v2"], "v2");
    assert_eq!(send(&client, "PATCH", DEFINITION, &stored).await.0, 200);
    (server, client)
}

fn object(name: &str) -> Value {
    json!({"apiVersion": "example.com/v2", "kind": "Crate", "metadata": {"name": name}})
}

/// Removes v1 from the CRD, as after a migration.
async fn drop_v1(client: &Client) {
    let dropped = versions(&["v2"], "v2");
    let (code, refused) = send(client, "PATCH", DEFINITION, &dropped).await;
    assert_eq!(code, 422, "{refused}");
    let migrated = json!({"status": {"storedVersions": ["v2"]}});
    assert_eq!(send(client, "PATCH", &format!("{DEFINITION}/status"), &migrated).await.0, 200);
    assert_eq!(send(client, "PATCH", DEFINITION, &dropped).await.0, 200);
}

#[tokio::test]
async fn an_object_in_a_version_that_was_dropped_cant_be_read_or_deleted() {
    let (_server, client) = migrating().await;
    assert_eq!(send(&client, "POST", CRATES, &object("new")).await.0, 201);
    drop_v1(&client).await;
    let old = format!("{CRATES}/old");
    for (method, path) in [("GET", &old), ("PATCH", &old), ("DELETE", &old)] {
        let (code, body) = send(&client, method, path, &json!({})).await;
        assert_eq!((code, &body["message"]), (500, &LOST.into()), "{method} {path}");
    }
    assert_eq!(send(&client, "GET", &format!("{CRATES}/new"), &json!({})).await.0, 200);
    for query in ["", "?labelSelector=a&limit=1", "?watch=true"] {
        let (code, body) = send(&client, "GET", &format!("{CRATES}{query}"), &json!({})).await;
        let list = "failed to list example.com/v2, Kind=Crate";
        let message = format!("storage is (re)initializing: {list}: {LOST}");
        assert_eq!((code, &body["message"]), (429, &message.into()), "{query}");
    }
    let first = send(&client, "GET", &format!("{CRATES}?limit=1"), &json!({})).await;
    assert_eq!((first.0, &first.1["items"][0]["metadata"]["name"]), (200, &"new".into()));
    assert_eq!(send(&client, "GET", &format!("{CRATES}?limit=2"), &json!({})).await.0, 500);
}

#[tokio::test]
async fn a_definition_is_deleted_once_its_objects_can_be() {
    let (_server, client) = migrating().await;
    drop_v1(&client).await;
    send(&client, "DELETE", DEFINITION, &json!({})).await;
    let (_, definition) = send(&client, "GET", DEFINITION, &json!({})).await;
    let conditions = definition["status"]["conditions"].as_array().unwrap();
    let terminating = conditions.iter().find(|own| own["type"] == "Terminating").unwrap();
    assert_eq!(terminating["reason"], "InstanceDeletionFailed");
    send(&client, "PATCH", DEFINITION, &versions(&["v1", "v2"], "v2")).await;
    assert_eq!(send(&client, "GET", DEFINITION, &json!({})).await.0, 404);
    assert_eq!(send(&client, "GET", CRATES, &json!({})).await.0, 404);
}

#[tokio::test]
async fn a_write_that_changes_nothing_else_stores_an_object_in_the_new_version() {
    let (_server, client) = migrating().await;
    let old = format!("{CRATES}/old");
    let (_, before) = send(&client, "GET", &old, &json!({})).await;
    let (_, moved) = send(&client, "PATCH", &old, &json!({})).await;
    let (_, same) = send(&client, "PATCH", &old, &json!({})).await;
    drop_v1(&client).await;
    let (_, after) = send(&client, "GET", &old, &json!({})).await;
    assert_ne!(before["metadata"]["resourceVersion"], moved["metadata"]["resourceVersion"]);
    assert_eq!((&moved, &moved), (&same, &after));
}
