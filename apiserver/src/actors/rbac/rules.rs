//! The rules that apply to a user, and the decision by them.

use serde_json::{Value, json};

use super::{Attributes, Decision, User};
use crate::{
    actors::object::{items, text},
    server::Server,
    store::{Key, Range},
};

const GROUP: &str = "rbac.authorization.k8s.io";

/// A rule, or the error of a binding whose role is missing.
pub(super) struct Rule {
    /// The binding, as text.
    source: String,
    pub(super) rule: Result<Value, String>,
}

/// All rules that apply to a user in a namespace; without a namespace, the cluster-wide ones.
pub(super) fn rules_for(server: &Server, user: &User, namespace: &str) -> Vec<Rule> {
    let mut found = Vec::new();
    let bindings = |plural: &str, namespace: &str| {
        let range =
            Range { namespace: (!namespace.is_empty()).then(|| namespace.to_owned()), ..Range::default() };
        let all = server.store.list(&format!("{plural}.{GROUP}"), &range);
        all.map(|all| all.objects).unwrap_or_default()
    };
    for (key, record) in bindings("clusterrolebindings", "") {
        collect(server, user, "", &key, record.kept_json(), &mut found);
    }
    if !namespace.is_empty() {
        for (key, record) in bindings("rolebindings", namespace) {
            collect(server, user, namespace, &key, record.kept_json(), &mut found);
        }
    }
    found
}

fn collect(server: &Server, user: &User, namespace: &str, key: &Key, binding: &Value, found: &mut Vec<Rule>) {
    let applies = |subject: &&Value| applies_to(user, subject, namespace);
    let Some(subject) = items(binding, "/subjects").iter().find(applies) else { return };
    let (kind, role) = (text(binding, "/roleRef/kind"), text(binding, "/roleRef/name"));
    let (subject_kind, name) = (text(subject, "/kind"), text(subject, "/name"));
    let own = text(subject, "/namespace");
    let name = match subject_kind {
        "ServiceAccount" => format!("{name}/{}", if own.is_empty() { namespace } else { own }),
        _ => name.to_owned(),
    };
    let binding = match namespace {
        "" => format!("ClusterRoleBinding {:?}", key.name),
        _ => format!("RoleBinding {:?}", format!("{}/{}", key.name, key.namespace)),
    };
    let source = format!("{binding} of {kind} {role:?} to {subject_kind} {name:?}");
    let (plural, namespace) = if kind == "Role" { ("roles", namespace) } else { ("clusterroles", "") };
    let key = Key { namespace: namespace.to_owned(), name: role.to_owned() };
    match server.store.get(&format!("{plural}.{GROUP}"), &key) {
        Some(role) => found.extend(
            items(role.kept_json(), "/rules")
                .iter()
                .map(|rule| Rule { source: source.clone(), rule: Ok(rule.clone()) }),
        ),
        None => {
            let singular = kind.to_ascii_lowercase();
            found.push(Rule { source, rule: Err(format!("{singular}.{GROUP} {role:?} not found")) });
        }
    }
}

fn applies_to(user: &User, subject: &Value, namespace: &str) -> bool {
    let name = text(subject, "/name");
    match text(subject, "/kind") {
        "User" => user.name == name,
        "Group" => user.is_in(name),
        "ServiceAccount" => {
            let own = text(subject, "/namespace");
            user.is_service_account(if own.is_empty() { namespace } else { own }, name)
        }
        _ => false,
    }
}

fn has(rule: &Value, list: &str, wanted: &str) -> bool {
    items(rule, list).iter().any(|own| own == "*" || own == wanted)
}

fn allows(rule: &Value, attributes: &Attributes) -> bool {
    if !has(rule, "/verbs", &attributes.verb) {
        return false;
    }
    if attributes.resource.is_empty() {
        let path = attributes.path.as_str();
        return items(rule, "/nonResourceURLs")
            .iter()
            .filter_map(Value::as_str)
            .any(|own| own == path || own.ends_with('*') && path.starts_with(own.trim_end_matches('*')));
    }
    let anywhere = format!("*/{}", attributes.subresource);
    let names = items(rule, "/resourceNames");
    has(rule, "/apiGroups", &attributes.group)
        && (has(rule, "/resources", &attributes.combined())
            || !attributes.subresource.is_empty() && has(rule, "/resources", &anywhere))
        && (names.is_empty() || names.iter().any(|name| *name == attributes.name))
}

pub(super) fn decide(server: &Server, user: &User, attributes: &Attributes) -> Decision {
    let mut unknown = Vec::new();
    for Rule { source, rule } in rules_for(server, user, &attributes.namespace) {
        match rule {
            Ok(rule) if allows(&rule, attributes) => {
                return Decision { allowed: true, reason: format!("RBAC: allowed by {source}") };
            }
            Ok(_) => {}
            Err(why) if unknown.contains(&why) => {}
            Err(why) => unknown.push(why),
        }
    }
    let reason = match unknown.as_slice() {
        [] => String::new(),
        [one] => format!("RBAC: {one}"),
        several => format!("RBAC: [{}]", several.join(", ")),
    };
    Decision { allowed: false, reason }
}

/// The rules that allow everything.
pub(super) fn everything() -> [Value; 2] {
    [
        json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}),
        json!({"verbs": ["*"], "nonResourceURLs": ["*"]}),
    ]
}
