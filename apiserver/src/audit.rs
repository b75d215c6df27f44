//! The audit log: requests and their responses, as `audit.k8s.io/v1` Events in JSON.

use baton_merge::yaml;
use http::Method;
use serde_json::{Map, Value, json};

use crate::{
    actors::rbac::{Attributes, User},
    http::{Request, Response},
    metadata::new_uid,
    server::Server,
};

/// Receives the lines of the audit log.
pub(crate) type Audit = Box<dyn Fn(&str) + Send + Sync>;

/// Resources whose bodies are never logged.
const SECRET: [&str; 2] = ["secrets", "tokenreviews"];

/// The event of a finished request or a started watch.
pub(crate) fn event(server: &Server, request: &Request, response: &Response) -> Value {
    let (user, about) = (User::of(request), Attributes::of(request));
    let time = server.now();
    let is_watch = response.body.as_whole().is_none() && about.verb == "watch";
    let is_write = !matches!(request.method, Method::GET | Method::HEAD);
    let has_bodies = is_write && !SECRET.contains(&about.resource.as_str()) && about.subresource != "token";
    let body =
        response.body.as_whole().filter(|_| has_bodies || response.code >= 400).and_then(|body| read(body));
    let mut event = json!({
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": if has_bodies { "RequestResponse" } else { "Metadata" },
        "auditID": new_uid(),
        "stage": if is_watch { "ResponseStarted" } else { "ResponseComplete" },
        "requestURI": format!("{}{}", request.path, request.query),
        "verb": about.verb,
        "user": {"username": user.name, "groups": user.groups},
        "userAgent": request.user_agent(),
        "responseStatus": status(response, body.as_ref()),
        "requestReceivedTimestamp": time,
        "stageTimestamp": time,
    });
    if !about.resource.is_empty() {
        event["objectRef"] = reference(&about, request);
    }
    if has_bodies {
        for (member, object) in [("requestObject", read(&request.body)), ("responseObject", body)] {
            if let Some(object) = object {
                event[member] = object;
            }
        }
    }
    event
}

/// A body in JSON or YAML.
fn read(body: &[u8]) -> Option<Value> {
    let yaml = || yaml::from_str(str::from_utf8(body).ok()?).ok();
    serde_json::from_slice(body).ok().or_else(yaml).filter(Value::is_object)
}

fn status(response: &Response, body: Option<&Value>) -> Value {
    let mut status = json!({"metadata": {}, "code": response.code});
    if response.code >= 400 {
        for member in ["status", "reason", "message"] {
            if let Some(value) = body.and_then(|body| body.get(member)) {
                status[member] = value.clone();
            }
        }
    }
    status
}

fn reference(about: &Attributes, request: &Request) -> Value {
    let version = request.path.split('/').nth(if about.group.is_empty() { 2 } else { 3 });
    let members = [
        ("resource", about.resource.as_str()),
        ("namespace", &about.namespace),
        ("name", &about.name),
        ("apiGroup", &about.group),
        ("apiVersion", version.unwrap_or_default()),
        ("subresource", &about.subresource),
    ];
    let set = members.into_iter().filter(|(_, value)| !value.is_empty());
    Value::Object(set.map(|(name, value)| (name.to_owned(), value.into())).collect::<Map<_, _>>())
}
