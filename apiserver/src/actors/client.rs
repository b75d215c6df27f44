//! Requests of controllers, which the server handles as those of any client.

use http::{
    HeaderMap, HeaderValue, Method,
    header::{CONTENT_TYPE, USER_AGENT},
};
use serde_json::{Value, json};

use super::{
    Pass,
    object::{items, name, namespace, text, uid},
};
use crate::{
    http::Request,
    options::Query,
    registry::{Registry, Resource},
};

/// An error response to a controller's request.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) code: u16,
    pub(super) message: String,
    /// Whether the namespace is terminating.
    pub(super) in_terminating: bool,
}

impl Refused {
    /// Another object has the name with this hash.
    pub(super) fn collision(name: &str) -> Self {
        Self { code: 409, message: format!("{name:?} belongs to another owner"), in_terminating: false }
    }
}

/// The path of an object or, without a name, of the collection.
pub(crate) fn path_of(resource: &Resource, namespace: &str, name: &str, subresource: &str) -> String {
    let root = if resource.gvk.group.is_empty() { "api" } else { "apis" };
    let version = resource.gvk.api_version();
    let at = if resource.namespaced && !namespace.is_empty() { ["namespaces", namespace] } else { ["", ""] };
    let parts = [root, &version, at[0], at[1], &resource.plural, name, subresource];
    parts.into_iter().filter(|part| !part.is_empty()).fold(String::new(), |path, part| path + "/" + part)
}

/// The resource of an object.
pub(super) fn resource_of<'r>(
    registry: &'r Registry,
    object: &Value,
) -> Option<&'r std::sync::Arc<Resource>> {
    let api_version = text(object, "/apiVersion");
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    registry.of_kind(group, version, text(object, "/kind"))
}

impl Pass<'_> {
    pub(super) fn request(
        &self,
        method: Method,
        path: String,
        content_type: &'static str,
        body: &Value,
    ) -> Result<Value, Refused> {
        self.send(method, path, Query::default(), content_type, body)
    }

    fn send(
        &self,
        method: Method,
        path: String,
        query: Query,
        content_type: &'static str,
        body: &Value,
    ) -> Result<Value, Refused> {
        self.inputs.asked.set(true);
        let mut headers = HeaderMap::new();
        headers.insert(USER_AGENT, HeaderValue::from_static(self.inputs.user_agent));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        let body = body.to_string().into();
        let response = self.server.handle(&Request { method, path, query, headers, body });
        let body = response.body.as_whole().and_then(|body| serde_json::from_slice::<Value>(body).ok());
        let body = body.unwrap_or_default();
        if response.code < 300 {
            return Ok(body);
        }
        let causes = body.pointer("/details/causes").and_then(Value::as_array);
        let in_terminating =
            causes.is_some_and(|causes| causes.iter().any(|cause| cause["reason"] == "NamespaceTerminating"));
        Err(Refused { code: response.code, message: text(&body, "/message").to_owned(), in_terminating })
    }

    fn path(&self, object: &Value, name: &str, subresource: &str) -> String {
        let registry = self.server.registry();
        let resource = resource_of(&registry, object);
        resource.map_or_else(String::new, |of| path_of(of, namespace(object), name, subresource))
    }

    pub(super) fn create(&self, object: &Value) -> Result<Value, Refused> {
        self.request(Method::POST, self.path(object, "", ""), "application/json", object)
    }

    /// The live object.
    pub(super) fn live(&self, object: &Value) -> Result<Value, Refused> {
        self.request(Method::GET, self.path(object, name(object), ""), "application/json", &Value::Null)
    }

    /// Updates an object or a subresource.
    pub(super) fn update(&self, object: &Value, subresource: &str) -> Result<Value, Refused> {
        let path = self.path(object, name(object), subresource);
        self.request(Method::PUT, path, "application/json", object)
    }

    /// Applies an intent with force.
    pub(super) fn apply(&self, object: &Value, manager: &str) -> Result<Value, Refused> {
        let path = self.path(object, name(object), "");
        let query = Query::of(Some(&format!("fieldManager={manager}&force=true")));
        self.send(Method::PATCH, path, query, "application/apply-patch+yaml", object)
    }

    /// Patches the metadata of an object, with the UID and resourceVersion as preconditions.
    pub(super) fn patch_metadata(&self, object: &Value, mut metadata: Value) -> Result<Value, Refused> {
        metadata["uid"] = uid(object).into();
        metadata["resourceVersion"] = text(object, "/metadata/resourceVersion").into();
        let path = self.path(object, name(object), "");
        let body = json!({"metadata": metadata});
        self.request(Method::PATCH, path, "application/merge-patch+json", &body)
    }

    pub(super) fn remove_finalizer(&self, object: &Value, finalizer: &str) -> Result<Value, Refused> {
        let others = items(object, "/metadata/finalizers").iter().filter(|own| *own != finalizer);
        let others: Vec<_> = others.collect();
        self.patch_metadata(object, json!({"finalizers": others}))
    }

    pub(super) fn patch_status(&self, object: &Value, status: &Value) -> Result<Value, Refused> {
        let path = self.path(object, name(object), "status");
        let body = json!({"metadata": {"uid": uid(object)}, "status": status});
        self.request(Method::PATCH, path, "application/strategic-merge-patch+json", &body)
    }

    /// Binds a pod to a node.
    pub(super) fn bind(&self, pod: &Value, node: &str) -> Result<Value, Refused> {
        let binding = json!({
            "apiVersion": "v1", "kind": "Binding",
            "metadata": {"name": name(pod), "uid": uid(pod)}, "target": {"kind": "Node", "name": node},
        });
        let path = self.path(pod, name(pod), "binding");
        self.request(Method::POST, path, "application/json", &binding)
    }

    /// Deletes an object, with its UID and resourceVersion as preconditions.
    pub(super) fn delete(&self, object: &Value, mut options: Value) -> Result<Value, Refused> {
        options["preconditions"] = json!({"uid": uid(object)});
        let path = self.path(object, name(object), "");
        self.request(Method::DELETE, path, "application/json", &options)
    }
}
