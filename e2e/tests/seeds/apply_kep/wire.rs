//! Requests that steps can't send: with any method, content type and body.

use baton_e2e::scenario::Subject;
use hyper::Request;

/// The content type that makes a PATCH an apply.
pub const APPLY: &str = "application/apply-patch+yaml";

/// Sends a request. Returns the text of a success, or the code and the message of a refusal.
pub async fn send(
    s: &Subject,
    method: &str,
    uri: &str,
    content_type: &str,
    body: &str,
) -> Result<String, (u16, String)> {
    let request =
        Request::builder().method(method).uri(uri).header("content-type", content_type).body(body.into());
    match s.server().client().request_text(request.unwrap()).await {
        Ok(text) => Ok(text),
        Err(kube::Error::Api(status)) => Err((status.code, status.message.clone())),
        Err(error) => panic!("{method} {uri}: {error}"),
    }
}

/// The path of the scenario's `ConfigMap`s.
pub fn config_maps(s: &Subject) -> String {
    format!("/api/v1/namespaces/{}/configmaps", s.namespace())
}
