//! Reviews of users and their permissions, which aren't stored.

use baton_merge::{Arena, server::Write, value::Value as Object};
use serde_json::{Value, json};

use super::{Actor, Attributes, Decision, User, decide, rules};
use crate::{
    actors::object::{items, text},
    field::{FieldError, FieldPath},
    http::{Request, Response},
    options::WriteOptions,
    read,
    server::{RequestTarget, Server},
    status::Failure,
    store::{Draft, Owners, Record},
    types, write,
};

const GROUP: &str = "authorization.k8s.io";

/// The response to the creation of a review; none for other kinds.
pub(crate) fn review(
    server: &Server,
    request: &Request,
    target: &RequestTarget,
) -> Result<Option<Response>, Failure> {
    let resource = &target.resource;
    let kind = resource.gvk.kind.as_str();
    let is_of = |group: &str, kinds: &[&str]| kinds.iter().any(|kind| resource.is(group, kind));
    let is_access =
        is_of(GROUP, &["SelfSubjectAccessReview", "SubjectAccessReview", "LocalSubjectAccessReview"]);
    let is_rules = is_of(GROUP, &["SelfSubjectRulesReview"]);
    if !is_access && !is_rules && !is_of("authentication.k8s.io", &["SelfSubjectReview"]) {
        return Ok(None);
    }
    let options = WriteOptions::read("CreateOptions", &request.query, false, request.user_agent())?;
    let arena = Arena::new();
    let mut object = write::read_body(server, &arena, request, target)?;
    if !target.namespace.is_empty() && object.at(&["metadata", "namespace"]).is_none() {
        object = object.with(&arena, &["metadata", "namespace"], Some(Object::String(&target.namespace)));
    }
    let json = object.to_json();
    let user = User::of(request);
    if is_access {
        let asked = asked(&json, kind, target, user)?;
        let Decision { allowed, reason } = decide(server, &asked, &Attributes::of_review(&json["spec"]));
        let mut status = json!({"allowed": allowed});
        if !reason.is_empty() {
            status["reason"] = reason.into();
        }
        let object = object.with(&arena, &["status"], Some(of_json(&arena, &status)?));
        let record = owned(server, &arena, target, &options, object)?;
        return read::rendered(server, request, target, &record, 201).map(Some);
    }
    let review = if is_rules {
        let namespace = text(&json, "/spec/namespace");
        if namespace.is_empty() {
            return Err(Failure::bad_request("no namespace on request"));
        }
        json!({
            "kind": kind, "apiVersion": resource.gvk.api_version(), "metadata": {}, "spec": {},
            "status": rules_of(server, &user, namespace),
        })
    } else {
        let mut info = json!({"username": user.name, "groups": user.groups});
        if !user.uid.is_empty() {
            info["uid"] = user.uid.into();
        }
        if !user.extra.is_empty() {
            info["extra"] = json!(user.extra);
        }
        json!({
            "kind": kind, "apiVersion": resource.gvk.api_version(),
            "metadata": {"creationTimestamp": types::second_time(server.now())},
            "status": {"userInfo": info},
        })
    };
    Ok(Some(Response::json(201, &review)))
}

fn of_json<'a>(arena: &'a Arena, json: &Value) -> Result<Object<'a>, Failure> {
    Object::from_text(arena, arena.copy_text(&json.to_string())).map_err(Failure::internal)
}

/// A review as in the response: with field owners, as if it was stored.
fn owned<'a>(
    server: &Server,
    arena: &'a Arena,
    target: &'a RequestTarget,
    options: &WriteOptions,
    review: Object<'a>,
) -> Result<Record, Failure> {
    let merged = target.resource.merged().ok_or_else(|| Failure::internal("the kind can't be merged"))?;
    let asked = review.with(arena, &["status"], None);
    let manager = arena.copy_text(&options.field_manager);
    let write = Write { manager, subresource: "", now: server.now(), release: server.release };
    let stored = merged.update(arena, None, asked, write);
    let stored = stored.map_err(|_| Failure::internal("the review can't be read"))?;
    let draft = Draft {
        object: review,
        owners: Owners::Written(&stored),
        order: stored.order,
        stored_version: &target.resource.storage_version,
    };
    Ok(Record::write(&draft, 0))
}

/// The user that a valid review is about.
fn asked(review: &Value, kind: &str, target: &RequestTarget, user: User) -> Result<User, Failure> {
    let spec = &review["spec"];
    let is_own = kind == "SelfSubjectAccessReview";
    let path = FieldPath::new("spec");
    let has = |name: &str| spec.get(name).is_some_and(|value| !value.is_null());
    let mut errors = Vec::new();
    let invalid =
        |at: &str, shown: &str, detail: &str| FieldError::invalid_json(&path.child(at), shown, detail);
    match (has("resourceAttributes"), has("nonResourceAttributes")) {
        (true, true) => {
            let shown = spec["nonResourceAttributes"].to_string();
            let detail = "cannot be specified in combination with resourceAttributes";
            errors.push(invalid("nonResourceAttributes", &shown, detail));
        }
        (false, false) => {
            let detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            errors.push(invalid("resourceAttributes", "null", detail));
        }
        _ => {}
    }
    let groups: Vec<_> = items(spec, "/groups").iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let name = text(spec, "/user");
    if !is_own && name.is_empty() && groups.is_empty() {
        errors.push(invalid("user", "\"\"", "at least one of user or group must be specified"));
    }
    if kind == "LocalSubjectAccessReview" {
        let namespace = text(spec, "/resourceAttributes/namespace");
        if has("resourceAttributes") && namespace != text(review, "/metadata/namespace") {
            let detail = "must match metadata.namespace";
            errors.push(invalid("resourceAttributes.namespace", &format!("{namespace:?}"), detail));
        }
        if has("nonResourceAttributes") {
            let shown = spec["nonResourceAttributes"].to_string();
            errors.push(invalid("nonResourceAttributes", &shown, "disallowed on this kind of request"));
        }
    }
    if !errors.is_empty() {
        return Err(Failure::invalid(GROUP, kind, "", &errors));
    }
    if kind == "LocalSubjectAccessReview" && text(review, "/metadata/namespace") != target.namespace {
        let namespace = &target.namespace;
        let why = format!("spec.resourceAttributes.namespace must match namespace: {namespace}");
        return Err(Failure::bad_request(why));
    }
    // A review of another user has only the groups that it names.
    Ok(if is_own { user } else { User { name: name.to_owned(), groups, ..User::default() } })
}

fn rules_of(server: &Server, user: &User, namespace: &str) -> Value {
    let (mut resources, mut paths, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    let all: Vec<_> = if server.actors.is_active(Actor::AccessControl) {
        rules::rules_for(server, user, namespace).into_iter().map(|rule| rule.rule).collect()
    } else {
        rules::everything().map(Ok).into()
    };
    for rule in all {
        match rule {
            Ok(rule) => {
                for (list, into) in [("resources", &mut resources), ("nonResourceURLs", &mut paths)] {
                    if rule[list].as_array().is_some_and(|list| !list.is_empty()) {
                        into.push(rule.clone());
                    }
                }
            }
            Err(why) => unknown.push(why),
        }
    }
    let mut status = json!({"resourceRules": resources, "nonResourceRules": paths, "incomplete": false});
    match unknown.as_slice() {
        [] => {}
        [one] => status["evaluationError"] = one.as_str().into(),
        several => status["evaluationError"] = format!("[{}]", several.join(", ")).into(),
    }
    status
}
