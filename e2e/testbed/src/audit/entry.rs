//! One line of the audit log: an `audit.k8s.io/v1` Event, with the fields that tests need.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;

use crate::query;

/// One request. Fields that don't apply to it are absent.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "Event<Value>")]
#[non_exhaustive]
pub struct AuditEntry {
    /// Unique.
    pub id: String,
    /// `ResponseComplete`, or `ResponseStarted` of a watch that still runs, or `Panic`.
    pub stage: String,
    /// When the server got it.
    pub received: Timestamp,
    /// The user who sent the request, such as `system:serviceaccount:ns:name`.
    pub user: String,
    /// The client program, as it names itself.
    pub user_agent: String,
    /// The Kubernetes verb: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`…; for a path without a
    /// resource, the HTTP method in lower case.
    pub verb: String,
    /// The path with its query.
    pub uri: String,
    /// The API group; absent for the core group too.
    pub group: Option<String>,
    /// The plural, such as `deployments`; absent for paths such as `/version`.
    pub resource: Option<String>,
    /// Such as `status` or `scale`.
    pub subresource: Option<String>,
    /// The namespace.
    pub namespace: Option<String>,
    /// The object's name; absent for lists, and for objects that were created with a generated one.
    pub name: Option<String>,
    /// The HTTP status code of the response.
    pub code: Option<u16>,
    /// The machine-readable reason of a failure, such as `Conflict`.
    pub reason: Option<String>,
    /// The server's message about a failure.
    pub message: Option<String>,
    /// The body of a write.
    pub request_object: Option<Value>,
    /// The object in the response, of writes in the groups that `audit-policy.yaml` names for that.
    pub response_object: Option<Value>,
}

/// An entry in the format of the log: an `audit.k8s.io/v1` Event, with bodies that are read or skipped.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event<B> {
    #[serde(rename = "auditID")]
    audit_id: String,
    stage: String,
    request_received_timestamp: Timestamp,
    user: User,
    #[serde(default)]
    user_agent: String,
    verb: String,
    #[serde(rename = "requestURI")]
    request_uri: String,
    #[serde(default)]
    object_ref: ObjectRef,
    #[serde(default)]
    response_status: Status,
    request_object: Option<B>,
    response_object: Option<B>,
}

#[derive(Deserialize)]
struct User {
    #[serde(default)]
    username: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ObjectRef {
    api_group: Option<String>,
    resource: Option<String>,
    subresource: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
}

#[derive(Default, Deserialize)]
struct Status {
    code: Option<u16>,
    reason: Option<String>,
    message: Option<String>,
}

impl<B> Event<B> {
    fn entry(self, body: impl Fn(B) -> Option<Value>) -> AuditEntry {
        let (object, status) = (self.object_ref, self.response_status);
        AuditEntry {
            id: self.audit_id,
            stage: self.stage,
            received: self.request_received_timestamp,
            user: self.user.username,
            user_agent: self.user_agent,
            verb: self.verb,
            uri: self.request_uri,
            group: object.api_group,
            resource: object.resource,
            subresource: object.subresource,
            namespace: object.namespace,
            name: object.name,
            code: status.code,
            reason: status.reason,
            message: status.message,
            request_object: self.request_object.and_then(&body),
            response_object: self.response_object.and_then(body),
        }
    }
}

impl From<Event<Value>> for AuditEntry {
    fn from(event: Event<Value>) -> Self {
        event.entry(Some)
    }
}

impl AuditEntry {
    /// Reads a line of the log without the bodies, which are most of it: the logs of a whole run of tests are large.
    pub fn without_bodies(line: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str::<Event<IgnoredAny>>(line).map(|event| event.entry(|_| None))
    }

    /// The value of a parameter in the query, such as `fieldManager`, with its escapes resolved.
    pub fn query(&self, key: &str) -> Option<String> {
        query::value(&self.uri, key)
    }

    /// Whether it could change something.
    pub fn is_write(&self) -> bool {
        // A review is a read that is sent by POST.
        self.resource.as_deref() != Some("selfsubjectaccessreviews")
            && matches!(self.verb.as_str(), "create" | "update" | "patch" | "delete" | "deletecollection")
    }

    /// Whether it was a forced server-side apply.
    pub fn is_forced(&self) -> bool {
        self.query("force").as_deref() == Some("true")
    }

    /// Whether it was a dry run. A deletion may have that in its body.
    pub fn is_dry_run(&self) -> bool {
        let options = self.request_object.as_ref().filter(|_| self.verb.starts_with("delete"));
        self.query("dryRun").is_some() || options.is_some_and(|options| options.get("dryRun").is_some())
    }
}

/// One line, with what distinguishes requests.
impl fmt::Display for AuditEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { received, verb, uri, user, .. } = self;
        let code = self.code.unwrap_or_default();
        write!(f, "{received:.3} {code} {verb:<6} {uri} by {user}")?;
        self.message.iter().try_for_each(|message| write!(f, ": {message}"))
    }
}
