//! Errors as `Status` objects, with the server's reasons and messages, after `k8s.io/apimachinery/pkg/api/errors`.

use serde_json::{Value, json};

use crate::{field::FieldError, registry::Resource};

/// The error of a refused request.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Failure {
    pub(crate) code: u16,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    /// The object and the causes.
    pub(crate) details: Option<Box<Value>>,
    /// Seconds until a retry.
    pub(crate) retry_after: Option<u32>,
    /// The continue token of an expired list.
    pub(crate) continue_at: Option<String>,
}

impl Failure {
    pub(crate) fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: None, retry_after: None, continue_at: None }
    }

    fn with_details(mut self, details: Value) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    /// The object doesn't exist.
    pub(crate) fn not_found(resource: &Resource, name: &str) -> Self {
        let message = format!("{} {name:?} not found", resource.qualified());
        Self::new(404, "NotFound", message).with_details(resource.details(name))
    }

    /// The path doesn't exist.
    pub(crate) fn no_such_path() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource").with_details(json!({}))
    }

    /// An object with this name exists.
    pub(crate) fn already_exists(resource: &Resource, name: &str) -> Self {
        let message = format!("{} {name:?} already exists", resource.qualified());
        Self::new(409, "AlreadyExists", message).with_details(resource.details(name))
    }

    /// The object isn't in the expected state.
    pub(crate) fn conflict(resource: &Resource, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} {name:?}: {why}", resource.qualified());
        Self::new(409, "Conflict", message).with_details(resource.details(name))
    }

    /// The object was modified since it was read.
    pub(crate) fn modified(resource: &Resource, name: &str) -> Self {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(resource, name, why)
    }

    /// Other managers own fields that an apply would change.
    pub(crate) fn apply_conflict(message: String, causes: impl Iterator<Item = (String, String)>) -> Self {
        let cause =
            |(field, message)| json!({"reason": "FieldManagerConflict", "message": message, "field": field});
        let causes: Vec<_> = causes.map(cause).collect();
        Self::new(409, "Conflict", message).with_details(json!({"causes": causes}))
    }

    /// Fields are invalid.
    pub(crate) fn invalid(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Self {
        let qualified = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
        let mut texts: Vec<String> = Vec::new();
        for error in errors {
            let text = error.to_string();
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        let all = match texts.as_slice() {
            [one] => one.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        let cause = |error: &FieldError| json!({"reason": error.reason, "message": error.message, "field": error.field});
        let mut details = json!({"causes": errors.iter().map(cause).collect::<Vec<_>>()});
        for (key, value) in [("kind", kind), ("group", group), ("name", name)] {
            if !value.is_empty() {
                details[key] = value.into();
            }
        }
        Self::new(422, "Invalid", format!("{qualified} {name:?} is invalid: {all}")).with_details(details)
    }

    /// The options of a request are invalid.
    pub(crate) fn invalid_options(kind: &str, errors: &[FieldError]) -> Self {
        Self::invalid("meta.k8s.io", kind, "", errors)
    }

    /// The request is invalid.
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// The user may not do this.
    pub(crate) fn forbidden(resource: &Resource, name: &str, why: &str) -> Self {
        let qualified = resource.qualified();
        let message = if name.is_empty() {
            format!("{qualified} is forbidden: {why}")
        } else {
            format!("{qualified} {name:?} is forbidden: {why}")
        };
        Self::new(403, "Forbidden", message).with_details(resource.details(name))
    }

    /// The path doesn't allow the method.
    pub(crate) fn method_not_allowed() -> Self {
        Self::new(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
            .with_details(json!({}))
    }

    /// The resource doesn't have the verb, with the message of custom resources.
    pub(crate) fn unsupported_method(resource: &Resource, verb: &str) -> Self {
        let message = format!("{verb} is not supported on resources of kind {:?}", resource.qualified());
        Self::new(405, "MethodNotAllowed", message).with_details(resource.details(""))
    }

    /// The body is in an unsupported format.
    pub(crate) fn unsupported_media_type(supported: &str) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {supported}"
        );
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// The body is too large.
    pub(crate) fn too_large(limit: usize) -> Self {
        Self::new(413, "RequestEntityTooLarge", format!("Request entity too large: limit is {limit}"))
    }

    /// The client accepts no supported format.
    pub(crate) fn not_acceptable(supported: &str) -> Self {
        let message = format!("only the following media types are accepted: {supported}");
        Self::new(406, "NotAcceptable", message)
    }

    /// As [`not_acceptable`](Self::not_acceptable), from the router.
    pub(crate) fn no_representation(available: &str) -> Self {
        let message = format!("406: Not Acceptable\n\nAvailable representations: {available}");
        Self::new(406, "NotAcceptable", message).with_details(json!({}))
    }

    /// The requested version is no longer kept.
    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// The server fails.
    pub(crate) fn internal(message: impl std::fmt::Display) -> Self {
        Self::new(500, "InternalError", format!("Internal error occurred: {message}"))
            .with_details(json!({"causes": [{"message": message.to_string()}]}))
    }

    /// An error without a reason: 500, and the text alone.
    pub(crate) fn without_reason(message: impl Into<String>) -> Self {
        Self::new(500, "", message)
    }

    /// The `Status` object.
    pub(crate) fn to_json(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "code": self.code,
        });
        if !self.reason.is_empty() {
            status["reason"] = self.reason.into();
        }
        if let Some(details) = &self.details {
            status["details"] = (**details).clone();
        }
        if let Some(token) = &self.continue_at {
            status["metadata"]["continue"] = token.as_str().into();
        }
        if let Some(seconds) = self.retry_after {
            status["details"]["retryAfterSeconds"] = seconds.into();
        }
        status
    }
}

/// The `Status` of a successful deletion.
pub(crate) fn success(resource: &Resource, name: &str, uid: &str) -> Value {
    let mut details = resource.details(name);
    if !uid.is_empty() {
        details["uid"] = uid.into();
    }
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}
