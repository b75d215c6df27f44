//! Errors of requests to the API server, and their consequences for the program that sent them.

use std::{error::Error, time::Duration};

use kube::{
    ResourceExt,
    core::{ApiResource, Status, response::StatusDetails},
};

use crate::{Change, LiveObject, Request, Target, quoted::without_secrets};

/// A request that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApiError {
    /// The API server responded with a failure; its message is passed on without [secret](crate::Secrecy) values.
    #[error("{}", .0.message)]
    Response(Box<Status>),
    /// No response within the time limit.
    #[error("the API server did not respond within {0:?}")]
    Timeout(Duration),
    /// The request could not be sent, or its response could not be read. [`ApiError::line`] has the cause.
    #[error("the request to the API server failed")]
    Client(#[source] kube::Error),
    /// The request makes no sense, and wasn't sent.
    #[error(transparent)]
    Misuse(#[from] Misuse),
}

/// The error of a request that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Misuse {
    /// The request names no object.
    #[error("the intent of a {0} has no metadata.name")]
    NoName(String),
    /// The intent can't be serialized.
    #[error("the intent can't be serialized: {0}")]
    Intent(String),
    /// The request was decided from another object.
    #[error("the live object is {live}, and {target} is written: read the object that is written")]
    OtherObject {
        /// The namespace and name of the object that was read.
        live: String,
        /// The object that would be written.
        target: String,
    },
    /// The intent names a uid or is of a subresource, which only an object that exists has, and none was read.
    #[error(
        "{0} was not read, and only an object that exists is written by its uid or through a subresource: read it first"
    )]
    NotRead(String),
    /// The object that was read, or the intent, is of another kind or version than the object that is written.
    #[error("the {what} is a {found}, and a {wanted} is written")]
    OtherKind {
        /// `live object` or `intent`.
        what: &'static str,
        /// Its kind and version.
        found: String,
        /// The kind and version of the object that would be written.
        wanted: String,
    },
}

impl Misuse {
    /// Checks a request for the object that was read.
    pub(crate) fn of(request: &Request, live: Option<&LiveObject>) -> Result<(), Self> {
        let target = &request.target;
        if target.name.is_empty() {
            return Err(Self::NoName(target.resource.kind.clone()));
        }
        let ApiResource { kind, api_version, .. } = &target.resource;
        let kinds = [("intent", request.kind()), ("live object", live.and_then(LiveObject::kind))];
        for (what, found) in kinds {
            if let Some(found) =
                found.filter(|found| found.kind != *kind || found.api_version != *api_version)
            {
                let found = format!("{} ({})", found.kind, found.api_version);
                return Err(Self::OtherKind { what, found, wanted: format!("{kind} ({api_version})") });
            }
        }
        match live {
            None if request.requires_absence() && request.needs_an_object() => {
                Err(Self::NotRead(target.to_string()))
            }
            Some(live) if live.name_any() != target.name || live.namespace() != target.namespace => {
                let namespace = live.namespace().map(|namespace| format!("{namespace}/")).unwrap_or_default();
                let live = format!("{namespace}{}", live.name_any());
                Err(Self::OtherObject { live, target: target.to_string() })
            }
            _ => Ok(()),
        }
    }
}

/// The consequence of a failed write for the program that sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The object isn't the one that was read: read it again and decide again.
    Stale,
    /// The request is refused until something changes: the request, the object, a policy or a permission.
    Rejected,
    /// The server, or a webhook, couldn't do it now: send it again after a pause. The write may have been stored.
    Passing,
}

/// The start of the message of a webhook's denial, whatever code, reason and details the webhook chose: `ToStatusErr` in
/// k8s.io/apiserver's `pkg/admission/plugin/webhook/errors`.
const DENIED_BY_A_WEBHOOK: &str = "admission webhook ";

/// Failures without a reason are errors that the server didn't expect. Most pass, such as a changed etcd leader. These don't: the
/// object or the request fits no schema (`pkg/util/managedfields` in k8s.io/apimachinery), a manager owns fields of a custom resource in
/// a version that its CRD doesn't have any more (`pkg/apiserver/conversion` in k8s.io/apiextensions-apiserver), or the object is too
/// large for etcd.
const LASTING: [&str; 7] = [
    "request to convert CR to an invalid group/version",
    "failed to create typed patch object",
    "failed to create typed live object",
    "failed to create manager for existing fields",
    "unable to convert unstructured object to",
    "etcdserver: request is too large",
    "trying to send message larger than max",
];

impl ApiError {
    /// The consequence for a program that sent this write. After `pkg/api/errors` in k8s.io/apimachinery, and what k8s.io/apiserver
    /// makes of errors of its storage, its field manager and its webhooks:
    ///
    /// | code | what | means |
    /// | --- | --- | --- |
    /// | 409 | conflict of field owners, another `resourceVersion`, the guarded object is gone, or there is one already | stale |
    /// | 404 | the object itself isn't there, for a JSON patch or a subresource | stale |
    /// | 422 | another `metadata.uid`; for a JSON patch, its `test` failed, without details | stale |
    /// | 409 | of another object, such as a quota's | passing |
    /// | 401, 408, 425, 429 | credentials that have just run out, or too many requests | passing |
    /// | 5xx | timeouts, storage, a webhook that can't be called, or one that denies with such a code | passing |
    /// | 500 | without a reason, and of a lasting kind: a field that no schema has, an owner in a version that is gone, or an object too large for etcd | rejected |
    /// | other 4xx | validation, permissions, policies, and webhooks that deny, with whatever code | rejected |
    pub fn of_write(&self, request: &Request) -> Failure {
        match self {
            Self::Response(status) if is_stale(status, request) => Failure::Stale,
            _ if self.is_rejection() => Failure::Rejected,
            _ => Failure::Passing,
        }
    }

    /// The error with its causes, on one line, for a log.
    pub fn line(&self) -> String {
        let causes = std::iter::successors(self.source(), |error| (*error).source());
        let mut line = self.to_string();
        for cause in causes.map(ToString::to_string) {
            if !line.contains(&cause) {
                line = format!("{line}: {cause}");
            }
        }
        line
    }

    /// The error with what to do about it, where the server's message leaves that out.
    pub(crate) fn explained(mut self, request: &Request) -> Self {
        let is_of_version = !self.is_ownership_conflict();
        if let Self::Response(status) = &mut self {
            let target = &request.target;
            let is_of_path = status.details.as_ref().is_none_or(|details| details.kind.is_empty());
            if status.code == 404 && is_of_path {
                let ApiResource { kind, api_version, .. } = &target.resource;
                let place = match target.namespace {
                    None => "if its objects are in namespaces, the intent needs metadata.namespace",
                    Some(_) => {
                        "if its objects aren't in namespaces, the intent can't have metadata.namespace"
                    }
                };
                status.message = format!("{}: no path of {kind} ({api_version}); {place}", status.message);
            }
            if status.code == 409 && is_of_version && request.requires_absence() {
                status.message = format!("it exists, though none was read: {}", status.message);
            }
        }
        self
    }

    /// Whether other managers own what an apply sets.
    pub fn is_ownership_conflict(&self) -> bool {
        let Self::Response(status) = self else { return false };
        let causes = status.details.iter().flat_map(|details| &details.causes);
        status.code == 409 && causes.into_iter().any(|cause| cause.reason == "FieldManagerConflict")
    }

    /// Whether there is no such object.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Response(status) if status.is_not_found())
    }

    /// Whether the API server doesn't serve this, or not to this client, now and later; every other failure of a read may be over at the
    /// next attempt. The code alone says so: for what isn't served, the response is a page and not a Status.
    pub fn is_withheld(&self) -> bool {
        matches!(self, Self::Response(status) if matches!(status.code, 401 | 403 | 404 | 406))
    }

    /// Whether the request will be refused again until something changes. Of a write, ask [what the failure
    /// means](Self::of_write): it may only be stale.
    pub fn is_rejection(&self) -> bool {
        match self {
            Self::Response(status) => match status.code {
                401 | 408 | 409 | 425 => is_denied_by_a_webhook(status),
                429 => false,
                500 => status.reason.is_empty() && LASTING.iter().any(|text| status.message.contains(text)),
                code => code < 500,
            },
            // For example, for an object without a name.
            Self::Client(error) => matches!(error, kube::Error::BuildRequest(_)),
            Self::Timeout(_) => false,
            Self::Misuse(_) => true,
        }
    }
}

/// Whether the object isn't what the writer read.
fn is_stale(status: &Status, request: &Request) -> bool {
    if is_denied_by_a_webhook(status) {
        return false;
    }
    let details = status.details.as_ref();
    let is_patch = matches!(request.change, Change::Patch { .. });
    match status.code {
        404 => details.is_some_and(|details| names(details, &request.target)),
        409 => details.is_none_or(|details| details.kind.is_empty() || names(details, &request.target)),
        422 => match details {
            // The server doesn't name the operation of a JSON patch that failed.
            Some(details) if details.kind.is_empty() && details.causes.is_empty() => is_patch,
            // The guard names the uid of an object that was replaced by another.
            Some(details) => details.causes.iter().any(|cause| cause.field == "metadata.uid"),
            None => is_patch,
        },
        _ => false,
    }
}

fn is_denied_by_a_webhook(status: &Status) -> bool {
    status.message.starts_with(DENIED_BY_A_WEBHOOK)
}

/// Whether a failure is about the object itself. It names its resource, with a subresource or without, or its kind.
fn names(details: &StatusDetails, target: &Target) -> bool {
    let ApiResource { plural, kind, .. } = &target.resource;
    let named = details.kind.split('/').next().unwrap_or_default();
    let is_kind = named == plural || named == kind;
    is_kind && (details.name.is_empty() || details.name == target.name)
}

/// Waits for the response to a request, up to a time limit.
///
/// # Errors
/// When the request fails or gets no response within the limit.
pub async fn with_timeout<T>(
    limit: Duration,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, ApiError> {
    match tokio::time::timeout(limit, request).await {
        Err(_) => Err(ApiError::Timeout(limit)),
        Ok(Err(kube::Error::Api(status))) => Err(ApiError::Response(without_secrets(status))),
        Ok(Err(error)) => Err(ApiError::Client(error)),
        Ok(Ok(response)) => Ok(response),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::Deployment;
    use serde_json::{Value, json};

    use super::*;
    use crate::Revision;

    /// One of the Deployment `shop/web`.
    fn request(subresource: Option<&'static str>, change: Change) -> Request {
        let target = Target::new(ApiResource::erase::<Deployment>(&()), Some("shop".to_owned()), "web");
        Request { target: Target { subresource, ..target }, change }
    }

    fn apply() -> Request {
        request(None, Change::Apply { body: json!({}), manager: "me".into(), force: true })
    }

    fn json_patch() -> Request {
        let test = json!([{"op": "test", "path": "/metadata/resourceVersion", "value": "7"}]);
        let operations = serde_json::from_value(test).unwrap();
        request(None, Change::Patch { operations, manager: "me".into() })
    }

    fn deletion() -> Request {
        request(None, Change::Delete(Revision { uid: "u".to_owned(), resource_version: "7".to_owned() }))
    }

    fn refused(code: u16, reason: &str, message: &str, details: &Value) -> ApiError {
        let status = json!({
            "status": "Failure", "code": code, "reason": reason, "message": message, "details": details,
        });
        ApiError::Response(serde_json::from_value(status).unwrap())
    }

    /// The details of a failure about the Deployment, as the server's registry gives them.
    fn itself() -> Value {
        json!({"group": "apps", "kind": "deployments", "name": "web"})
    }

    fn invalid(field: &str) -> Value {
        json!({"group": "apps", "kind": "Deployment", "name": "web", "causes": [{"reason": "FieldValueInvalid", "field": field}]})
    }

    #[test]
    fn each_failure_of_an_api_server_and_its_webhooks_means_one_thing_for_each_write() {
        use Failure::{Passing, Rejected, Stale};
        let [apply, json_patch, deletion] = [apply(), json_patch(), deletion()];
        let status =
            Request { target: apply.target.clone().subresource("status"), change: apply.change.clone() };
        let denied = "admission webhook \"x.y\" denied the request: no";
        let modified = "the object has been modified; please apply your changes to the latest version";
        let unprocessable = "the server rejected our request due to an error in our request";
        let quota = || json!({"kind": "resourcequotas", "name": "small"});
        let by_kind = || json!({"group": "apps", "kind": "Deployment", "name": "web"});
        let owners = || json!({"causes": [{"reason": "FieldManagerConflict", "field": ".spec.replicas"}]});
        let webhook_down =
            "Internal error occurred: failed calling webhook \"x.y\": context deadline exceeded";
        let untyped = "failed to create typed patch object (shop/web; apps/v1, Kind=Deployment): .spec.x: field not declared";
        let unowned = "failed to create manager for existing fields: failed to convert new object (shop/web; apps/v1, Kind=Deployment) to \
                       smd typed: .spec.x: field not declared";
        let undecoded = "failed to convert new object (shop/x; /v1, Kind=Secret) to proper version: unable to convert unstructured \
                         object to /v1, Kind=Secret: error decoding from json: illegal base64 data at input byte 6";
        #[rustfmt::skip]
        let table = [
            // Another version, other owners, gone, or there already.
            (&apply, 409, "Conflict", modified, itself(), Stale),
            (&apply, 409, "Conflict", "Apply failed with 1 conflict", owners(), Stale),
            (&apply, 409, "AlreadyExists", "already exists", itself(), Stale),
            (&apply, 409, "", "StorageError: resource version conflicts", Value::Null, Stale),
            (&json_patch, 409, "Conflict", modified, itself(), Stale),
            (&json_patch, 422, "Invalid", unprocessable, json!({}), Stale),
            (&json_patch, 404, "NotFound", "not found", itself(), Stale),
            (&status, 404, "NotFound", "not found", itself(), Stale),
            (&deletion, 409, "Conflict", "the UID in the precondition", by_kind(), Stale),
            (&apply, 422, "Invalid", "field is immutable", invalid("metadata.uid"), Stale),
            // Another object than the one that is written.
            (&apply, 409, "Conflict", modified, quota(), Passing),
            (&apply, 404, "NotFound", "namespaces \"shop\" not found", json!({"kind": "namespaces", "name": "shop"}), Rejected),
            (&apply, 404, "NotFound", "the server could not find the requested resource", json!({}), Rejected),
            // Validation.
            (&apply, 422, "Invalid", "Invalid value", invalid("spec.replicas"), Rejected),
            (&apply, 422, "Invalid", unprocessable, json!({}), Rejected),
            (&json_patch, 422, "Invalid", "Invalid value", invalid("spec.replicas"), Rejected),
            (&json_patch, 422, "Invalid", "Invalid value", json!({"causes": [{"field": "patch"}]}), Rejected),
            (&apply, 400, "BadRequest", "metadata.managedFields must be nil", Value::Null, Rejected),
            (&apply, 413, "RequestEntityTooLarge", "limit is 3145728", Value::Null, Rejected),
            (&apply, 500, "", untyped, Value::Null, Rejected),
            (&apply, 500, "", unowned, Value::Null, Rejected),
            (&apply, 500, "", "request to convert CR to an invalid group/version: a.b/v1beta1", Value::Null, Rejected),
            (&apply, 500, "", undecoded, Value::Null, Rejected),
            (&apply, 500, "", "etcdserver: request is too large", Value::Null, Rejected),
            // Permissions, quotas and policies.
            (&apply, 403, "Forbidden", "exceeded quota: small", itself(), Rejected),
            (&deletion, 403, "Forbidden", "cannot delete resource", itself(), Rejected),
            (&apply, 422, "Invalid", "ValidatingAdmissionPolicy 'p' denied request: no", itself(), Rejected),
            // A webhook denies, with the code, the reason and the details that it chooses.
            (&apply, 400, "", denied, Value::Null, Rejected),
            (&apply, 403, "Forbidden", denied, Value::Null, Rejected),
            (&apply, 409, "", denied, Value::Null, Rejected),
            (&apply, 409, "Conflict", denied, itself(), Rejected),
            (&apply, 422, "", denied, Value::Null, Rejected),
            (&json_patch, 422, "Invalid", denied, Value::Null, Rejected),
            (&json_patch, 404, "NotFound", denied, itself(), Rejected),
            (&apply, 429, "TooManyRequests", denied, Value::Null, Passing),
            (&apply, 500, "", denied, Value::Null, Passing),
            // It passes.
            (&apply, 500, "ServerTimeout", "please try again", itself(), Passing),
            (&apply, 500, "", "etcdserver: leader changed", Value::Null, Passing),
            (&apply, 500, "", "context deadline exceeded", Value::Null, Passing),
            (&apply, 500, "InternalError", webhook_down, json!({"causes": [{"message": "failed calling webhook"}]}), Passing),
            (&apply, 401, "Unauthorized", "Unauthorized", Value::Null, Passing),
            (&apply, 429, "TooManyRequests", "try again later", Value::Null, Passing),
            (&apply, 502, "", "bad gateway", Value::Null, Passing),
            (&apply, 503, "ServiceUnavailable", "apiserver is shutting down", Value::Null, Passing),
            (&deletion, 504, "Timeout", "request did not complete", Value::Null, Passing),
        ];
        for (request, code, reason, message, details, expected) in table {
            let error = refused(code, reason, message, &details);
            let what = format!("{:?}\n{code} {reason}: {message} {details}", request.change);
            assert_eq!(error.of_write(request), expected, "{what}");
        }
    }

    #[test]
    fn a_request_that_has_no_response_passes_and_one_that_cannot_be_built_is_rejected() {
        assert_eq!(ApiError::Timeout(Duration::from_secs(1)).of_write(&apply()), Failure::Passing);
        let nameless = kube::core::request::Error::Validation("a name".to_owned());
        let error = ApiError::Client(kube::Error::BuildRequest(nameless));
        assert_eq!(error.of_write(&apply()), Failure::Rejected);
    }
}
