//! Escalation: users can't grant permissions that they lack. After `pkg/registry/rbac`: `policybased` of each kind, and
//! `validation`.

use std::collections::{BTreeMap, BTreeSet};

use baton_merge::value::Value as Object;
use serde_json::{Value, json};

use super::{Attributes, User, decide, rules};
use crate::{
    actors::{
        Actor,
        object::{items, text},
    },
    http::Request,
    server::{RequestTarget, Server},
    status::Failure,
    store::Key,
};

const GROUP: &str = "rbac.authorization.k8s.io";

/// Refuses a role with rules that exceed the writer's permissions, or a binding to such a role. An apply is judged by its
/// intent, if that has anything new.
pub(crate) fn check_grant(
    server: &Server,
    request: &Request,
    target: &RequestTarget,
    live: Option<Object<'_>>,
    new: Object<'_>,
    is_apply: bool,
) -> Result<(), Failure> {
    let of = |kind: &str| target.resource.is(GROUP, kind);
    let (is_role, is_binding) =
        (of("Role") || of("ClusterRole"), of("RoleBinding") || of("ClusterRoleBinding"));
    if !server.actors.is_active(Actor::AccessControl) || !(is_role || is_binding) {
        return Ok(());
    }
    let user = User::of(request);
    if user.is_in("system:masters") {
        return Ok(());
    }
    let (live, new) = (live.map(|live| live.to_json()), new.to_json());
    if live.as_ref().is_some_and(|live| changes_nothing_relevant(live, &new, is_apply)) {
        return Ok(());
    }
    let writer = Writer { server, target, user };
    if is_role { writer.check_role(&new, live.is_none()) } else { writer.check_binding(&new, live.as_ref()) }
}

/// Whether a write changes only fields that garbage collection uses.
fn changes_nothing_relevant(live: &Value, new: &Value, is_apply: bool) -> bool {
    if is_apply {
        let paths = [
            "/rules",
            "/aggregationRule",
            "/roleRef",
            "/subjects",
            "/metadata/labels",
            "/metadata/annotations",
        ];
        return paths
            .iter()
            .all(|path| new.pointer(path).is_none_or(|value| Some(value) == live.pointer(path)));
    }
    let without = |object: &Value| {
        let mut object = object.clone();
        if let Some(metadata) = object["metadata"].as_object_mut() {
            for name in ["ownerReferences", "finalizers", "managedFields", "resourceVersion"] {
                metadata.remove(name);
            }
        }
        object
    };
    without(live) == without(new)
}

struct Writer<'w> {
    server: &'w Server,
    target: &'w RequestTarget,
    user: User,
}

impl Writer<'_> {
    fn may(&self, verb: &str, resource: &str, name: &str) -> bool {
        let attributes = Attributes {
            verb: verb.to_owned(),
            group: GROUP.to_owned(),
            resource: resource.to_owned(),
            namespace: self.target.namespace.clone(),
            name: name.to_owned(),
            ..Attributes::default()
        };
        decide(self.server, &self.user, &attributes).allowed
    }

    fn check_role(&self, role: &Value, is_new: bool) -> Result<(), Failure> {
        let RequestTarget { resource, name, .. } = self.target;
        // A creation has no name in the path yet.
        if self.may("escalate", &resource.plural, if is_new { "" } else { name }) {
            return Ok(());
        }
        self.check_rules(items(role, "/rules"))?;
        if items(role, "/aggregationRule/clusterRoleSelectors").is_empty()
            || self.check_rules(&rules::everything()).is_ok()
        {
            return Ok(());
        }
        let why = "must have cluster-admin privileges to use the aggregationRule";
        Err(Failure::forbidden(resource, name, why))
    }

    fn check_binding(&self, binding: &Value, live: Option<&Value>) -> Result<(), Failure> {
        // An apply may omit fields that don't change.
        let binding = if binding["roleRef"].is_object() { binding } else { live.unwrap_or(binding) };
        let (kind, role) = (text(binding, "/roleRef/kind"), text(binding, "/roleRef/name"));
        let (plural, namespace) = match kind {
            "ClusterRole" => ("clusterroles", ""),
            "Role" => ("roles", self.target.namespace.as_str()),
            // Validation refuses it later.
            _ => return Ok(()),
        };
        if self.may("bind", plural, role) {
            return Ok(());
        }
        let key = Key { namespace: namespace.to_owned(), name: role.to_owned() };
        let record = self.server.store.get(&format!("{plural}.{GROUP}"), &key);
        // With the message of the binding's own store.
        let record = record.ok_or_else(|| Failure::not_found(&self.target.resource, role))?;
        let role: Value = serde_json::from_str(record.text()).unwrap_or_default();
        self.check_rules(items(&role, "/rules"))
    }

    fn check_rules(&self, granted: &[Value]) -> Result<(), Failure> {
        let (mut own, mut unknown) = (Vec::new(), Vec::new());
        for rule in rules::rules_for(self.server, &self.user, &self.target.namespace) {
            match rule.rule {
                Ok(rule) => own.push(rule),
                Err(why) => unknown.push(why),
            }
        }
        let is_covered = |part: &Value| own.iter().any(|own| covers(own, part));
        let missing: Vec<_> = granted.iter().flat_map(parts).filter(|part| !is_covered(part)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let unknown = match unknown.as_slice() {
            [] => String::new(),
            [one] => format!("; resolution errors: [{one}]"),
            several => format!("; resolution errors: [[{}]]", several.join(", ")),
        };
        let why = format!(
            "user {:?} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}{unknown}",
            self.user.name,
            quoted(self.user.groups.iter().map(String::as_str)),
            compact(&missing).into_iter().collect::<Vec<_>>().join("\n")
        );
        Err(Failure::forbidden(&self.target.resource, &self.target.name, &why))
    }
}

fn texts<'r>(rule: &'r Value, list: &str) -> impl Iterator<Item = &'r str> {
    items(rule, list).iter().filter_map(Value::as_str)
}

/// A rule, split into rules of one verb and one resource each.
fn parts(rule: &Value) -> Vec<Value> {
    let mut parts = Vec::new();
    for group in texts(rule, "/apiGroups") {
        for resource in texts(rule, "/resources") {
            for verb in texts(rule, "/verbs") {
                let part = json!({"apiGroups": [group], "resources": [resource], "verbs": [verb]});
                let names = texts(rule, "/resourceNames").map(|name| {
                    let mut part = part.clone();
                    part["resourceNames"] = json!([name]);
                    part
                });
                let before = parts.len();
                parts.extend(names);
                if parts.len() == before {
                    parts.push(part);
                }
            }
        }
    }
    for path in texts(rule, "/nonResourceURLs") {
        parts.extend(texts(rule, "/verbs").map(|verb| json!({"nonResourceURLs": [path], "verbs": [verb]})));
    }
    parts
}

/// Whether a rule covers a part of another one.
fn covers(rule: &Value, part: &Value) -> bool {
    let has = |list: &str, wanted: &str| texts(rule, list).any(|own| own == wanted);
    let has_all = |list: &str| texts(part, list).all(|wanted| has(list, wanted));
    let is_resource = |wanted: &str| {
        has("/resources", wanted)
            || wanted.split_once('/').is_some_and(|(_, below)| has("/resources", &format!("*/{below}")))
    };
    let is_path = |wanted: &str| {
        texts(rule, "/nonResourceURLs")
            .any(|own| own == wanted || own.ends_with('*') && wanted.starts_with(own.trim_end_matches('*')))
    };
    let is_anything = items(rule, "/resourceNames").is_empty();
    (has("/verbs", "*") || has_all("/verbs"))
        && (has("/apiGroups", "*") || has_all("/apiGroups"))
        && (has("/resources", "*") || texts(part, "/resources").all(is_resource))
        && texts(part, "/nonResourceURLs").all(is_path)
        && (is_anything || !items(part, "/resourceNames").is_empty() && has_all("/resourceNames"))
}

/// Parts as text, joined by resource.
fn compact(parts: &[Value]) -> BTreeSet<String> {
    const LISTS: [(&str, &str); 4] = [
        ("APIGroups", "/apiGroups"),
        ("Resources", "/resources"),
        ("NonResourceURLs", "/nonResourceURLs"),
        ("ResourceNames", "/resourceNames"),
    ];
    let mut verbs: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut shown = BTreeSet::new();
    for part in parts {
        let lists = LISTS.iter().filter(|(_, list)| !items(part, list).is_empty());
        let words = lists.map(|(name, list)| format!("{name}:{}", quoted(texts(part, list))));
        let words = words.collect::<Vec<_>>().join(", ");
        if items(part, "/nonResourceURLs").is_empty() {
            verbs.entry(words).or_default().extend(texts(part, "/verbs"));
        } else {
            shown.insert(format!("{{{words}, Verbs:{}}}", quoted(texts(part, "/verbs"))));
        }
    }
    shown.extend(verbs.into_iter().map(|(words, verbs)| format!("{{{words}, Verbs:{}}}", quoted(verbs))));
    shown
}

/// A list of quoted texts, as Go prints it.
fn quoted<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    let texts: Vec<_> = texts.into_iter().map(|text| format!("{text:?}")).collect();
    format!("[{}]", texts.join(" "))
}
