//! The verb and the resource of a request to the API server, read from its method, path, query and content type.
//!
//! Follows the API server (`apiserver/pkg/endpoints/request/requestinfo.go`), so that verbs and resources have the names of RBAC
//! and the audit log.

use std::fmt::{self, Write};

use http::{Method, Request, header::CONTENT_TYPE};
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};

/// The verb and the resource of a request, as labels.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RequestKind {
    /// The verb.
    pub verb: Verb,
    /// The plural, with the subresource if there is one: `deployments/scale`. For a path outside the resources its first
    /// segment: `openapi`.
    pub resource: String,
}

/// The verb of a request, with the names of RBAC and the audit log, except `apply`, which they call `patch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// Read one object, or a path that isn't a resource's.
    Get,
    /// Read a collection.
    List,
    /// Watch for changes.
    Watch,
    /// Create an object.
    Create,
    /// Replace an object.
    Update,
    /// Change an object by any patch but an apply.
    Patch,
    /// Server-side apply.
    Apply,
    /// Delete an object.
    Delete,
    /// Delete a collection.
    DeleteCollection,
    /// Anything else.
    Other,
}

impl Verb {
    /// All verbs.
    pub const ALL: [Self; 10] = [
        Self::Get,
        Self::List,
        Self::Watch,
        Self::Create,
        Self::Update,
        Self::Patch,
        Self::Apply,
        Self::Delete,
        Self::DeleteCollection,
        Self::Other,
    ];
}

/// The labels are the names above in lower case.
impl EncodeLabelValue for Verb {
    fn encode(&self, encoder: &mut LabelValueEncoder) -> fmt::Result {
        encoder.write_str(&format!("{self:?}").to_lowercase())
    }
}

impl RequestKind {
    /// The kind of this request.
    pub fn of<B>(request: &Request<B>) -> Self {
        let content_type = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let uri = request.uri();
        read(request.method(), uri.path(), uri.query().unwrap_or_default(), content_type.unwrap_or_default())
    }
}

fn read(method: &Method, path: &str, query: &str, content_type: &str) -> RequestKind {
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let Some(RequestTarget { resource, named }) = target(&segments) else {
        let verb = if method == Method::GET { Verb::Get } else { Verb::Other };
        return RequestKind { verb, resource: segments.first().unwrap_or(&"/").to_string() };
    };
    let verb = match (method.as_str(), named) {
        ("GET", true) => Verb::Get,
        ("GET", false) if is_watch(query) => Verb::Watch,
        ("GET", false) => Verb::List,
        ("POST", _) => Verb::Create,
        ("PUT", _) => Verb::Update,
        ("PATCH", _) if content_type.starts_with("application/apply-patch") => Verb::Apply,
        ("PATCH", _) => Verb::Patch,
        ("DELETE", true) => Verb::Delete,
        ("DELETE", false) => Verb::DeleteCollection,
        _ => Verb::Other,
    };
    RequestKind { verb, resource }
}

struct RequestTarget {
    resource: String,
    /// Whether it is a single object.
    named: bool,
}

/// The target of a path; absent if it isn't a resource, as with discovery and `/version`.
fn target(segments: &[&str]) -> Option<RequestTarget> {
    let (["api", _, in_group @ ..] | ["apis", _, _, in_group @ ..]) = segments else {
        return None;
    };
    let in_namespace = match in_group {
        // A namespace is an object too, and these are its subresources.
        ["namespaces", _, "status" | "finalize"] => in_group,
        ["namespaces", _, rest @ ..] if !rest.is_empty() => rest,
        _ => in_group,
    };
    match in_namespace {
        [] => None,
        [plural] => Some(RequestTarget { resource: (*plural).to_owned(), named: false }),
        [plural, _name] => Some(RequestTarget { resource: (*plural).to_owned(), named: true }),
        [plural, _name, subresource, ..] => {
            Some(RequestTarget { resource: format!("{plural}/{subresource}"), named: true })
        }
    }
}

fn is_watch(query: &str) -> bool {
    query.split('&').any(|parameter| matches!(parameter, "watch" | "watch=true" | "watch=1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const APPLY: &str = "application/apply-patch+yaml";
    const MERGE: &str = "application/merge-patch+json";

    #[test]
    fn requests_are_named_as_the_api_server_names_them() {
        let web = "/apis/apps/v1/namespaces/shop/deployments/web";
        let workload = "/apis/baton.rs/v1alpha1/namespaces/shop/workloads/web";
        #[rustfmt::skip]
        let table = [
            ("GET", web, "", "", Verb::Get, "deployments"),
            ("GET", "/api/v1/namespaces/shop/services/web", "", "", Verb::Get, "services"),
            ("GET", "/apis/baton.rs/v1alpha1/workloads", "limit=500", "", Verb::List, "workloads"),
            ("GET", "/apis/baton.rs/v1alpha1/namespaces/shop/workloads", "", "", Verb::List, "workloads"),
            ("GET", "/api/v1/services", "&watch=true&timeoutSeconds=290", "", Verb::Watch, "services"),
            ("GET", "/api/v1/services", "labelSelector=watch%3Dtrue", "", Verb::List, "services"),
            ("GET", "/api/v1/services", "watch=false", "", Verb::List, "services"),
            ("POST", "/apis/events.k8s.io/v1/namespaces/shop/events", "", "application/json", Verb::Create, "events"),
            ("PUT", web, "", "application/json", Verb::Update, "deployments"),
            ("PATCH", web, "force=true&fieldManager=baton", APPLY, Verb::Apply, "deployments"),
            ("PATCH", &format!("{workload}/status"), "force=true", APPLY, Verb::Apply, "workloads/status"),
            ("PATCH", &format!("{web}/scale"), "", MERGE, Verb::Patch, "deployments/scale"),
            ("DELETE", web, "", "", Verb::Delete, "deployments"),
            ("DELETE", "/apis/apps/v1/namespaces/shop/deployments", "", "", Verb::DeleteCollection, "deployments"),
            ("GET", "/api/v1/namespaces", "", "", Verb::List, "namespaces"),
            ("GET", "/api/v1/namespaces/shop", "", "", Verb::Get, "namespaces"),
            ("PUT", "/api/v1/namespaces/shop/finalize", "", "", Verb::Update, "namespaces/finalize"),
            ("OPTIONS", web, "", "", Verb::Other, "deployments"),
            ("GET", "/version", "", "", Verb::Get, "version"),
            ("GET", "/openapi/v3/apis/apps/v1", "hash=0123", "", Verb::Get, "openapi"),
            ("GET", "/apis", "", "", Verb::Get, "apis"),
            ("GET", "/apis/apps/v1", "", "", Verb::Get, "apis"),
            ("GET", "/api/v1", "", "", Verb::Get, "api"),
            ("GET", "/", "", "", Verb::Get, "/"),
            ("POST", "/version", "", "", Verb::Other, "version"),
        ];
        for (method, path, query, content_type, verb, resource) in table {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let expected = RequestKind { verb, resource: resource.to_owned() };
            assert_eq!(read(&method, path, query, content_type), expected, "{method} {path}?{query}");
        }
    }

    #[test]
    fn a_request_is_read_from_all_its_parts() {
        let request = Request::patch("/apis/apps/v1/namespaces/shop/deployments/web?force=true")
            .header(CONTENT_TYPE, APPLY)
            .body(())
            .unwrap();
        let expected = RequestKind { verb: Verb::Apply, resource: "deployments".to_owned() };
        assert_eq!(RequestKind::of(&request), expected);
    }
}
