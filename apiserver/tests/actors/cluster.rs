//! A server with actors, and a JSON client.

use std::time::Duration;

use baton_apiserver::{Actor, ApiServer};
use http::{Method, Request};
use kube::Client;
use serde_json::{Value, json};

pub(crate) struct Cluster {
    pub(crate) server: ApiServer,
    client: Client,
    /// The user of the requests, and its group.
    user: Option<(String, String)>,
}

/// A failed response: its code and message.
pub(crate) type Refused = (u64, String);

impl Cluster {
    pub(crate) fn with(actors: impl IntoIterator<Item = Actor>) -> Self {
        let server = ApiServer::builder().actors(actors).start().unwrap();
        let client = server.client();
        Self { server, client, user: None }
    }

    /// The same server, for another user.
    pub(crate) fn for_user(&self, name: &str, group: &str) -> Self {
        let user = Some((name.to_owned(), group.to_owned()));
        Self { server: self.server.clone(), client: self.client.clone(), user }
    }

    pub(crate) async fn ask(&self, method: Method, path: &str, body: Value) -> Result<Value, Refused> {
        let content_type = match method {
            Method::PATCH => "application/merge-patch+json",
            _ => "application/json",
        };
        let mut request = Request::builder().method(method).uri(path).header("content-type", content_type);
        if let Some((name, group)) = &self.user {
            request = request.header("impersonate-user", name).header("impersonate-group", group);
        }
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        match self.client.request::<Value>(request.body(body).unwrap()).await {
            Ok(response) => Ok(response),
            Err(kube::Error::Api(status)) => Err((u64::from(status.code), status.message)),
            Err(error) => panic!("{path}: {error}"),
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        self.ask(Method::GET, path, Value::Null).await.unwrap()
    }

    pub(crate) async fn is_there(&self, path: &str) -> bool {
        self.ask(Method::GET, path, Value::Null).await.is_ok()
    }

    pub(crate) async fn items(&self, path: &str) -> Vec<Value> {
        self.get(path).await["items"].as_array().unwrap().clone()
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Value {
        self.ask(Method::POST, path, body).await.unwrap()
    }

    pub(crate) async fn patch(&self, path: &str, body: Value) -> Value {
        self.ask(Method::PATCH, path, body).await.unwrap()
    }

    pub(crate) async fn delete(&self, path: &str, options: Value) -> Value {
        self.ask(Method::DELETE, path, options).await.unwrap()
    }

    /// Lets the actors do their current work.
    pub(crate) async fn settle(&self) {
        pass(Duration::from_millis(1)).await;
    }
}

/// Lets time pass.
pub(crate) async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}

pub(crate) const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
pub(crate) const PODS: &str = "/api/v1/namespaces/default/pods";

pub(crate) fn config_map(name: &str, owners: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "ownerReferences": owners},
    })
}

/// An owner reference to an object.
pub(crate) fn owned_by(owner: &Value) -> Value {
    json!([{
        "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"], "blockOwnerDeletion": true,
    }])
}

pub(crate) fn pod(name: &str, cpu: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"containers": [{
            "name": "app", "image": "app:1", "resources": {"requests": {"cpu": cpu}},
        }]},
    })
}

/// The status, the reason and the message of a condition.
pub(crate) fn condition<'v>(object: &'v Value, kind: &str) -> [&'v str; 3] {
    let conditions = object["status"]["conditions"].as_array().unwrap();
    let condition = conditions.iter().find(|condition| condition["type"] == kind).unwrap();
    ["status", "reason", "message"].map(|field| condition[field].as_str().unwrap_or_default())
}

/// Serves a namespaced kind of the group `example.com` in a version, without a schema of its fields.
pub(crate) async fn serve(cluster: &Cluster, kind: &str, version: &str) -> Value {
    let (singular, plural) = (kind.to_lowercase(), format!("{}s", kind.to_lowercase()));
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.com")},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"kind": kind, "singular": singular, "plural": plural},
            "versions": [{"name": version, "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    });
    cluster.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition).await
}

/// A cluster in which the kind `Cart` is served only in a version that its group doesn't prefer.
pub(crate) async fn with_carts(actor: Actor) -> Cluster {
    let cluster = Cluster::with([actor]);
    serve(&cluster, "Shop", "v1").await;
    serve(&cluster, "Cart", "v1alpha1").await;
    cluster
}

pub(crate) const CARTS: &str = "/apis/example.com/v1alpha1/namespaces/default/carts";

pub(crate) fn cart(name: &str) -> Value {
    json!({"apiVersion": "example.com/v1alpha1", "kind": "Cart", "metadata": {"name": name}})
}
