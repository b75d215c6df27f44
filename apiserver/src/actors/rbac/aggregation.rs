//! Aggregated `ClusterRoles`. After `pkg/controller/clusterroleaggregation`.

use serde_json::{Value, json};

use crate::actors::{
    Controller, Pass,
    object::{items, name, selects},
    view::Object,
};

const MANAGER: &str = "clusterrole-aggregation-controller";

pub(in crate::actors) struct Aggregation;

impl Controller for Aggregation {
    fn act(&mut self, pass: &mut Pass<'_>) {
        let mut all = pass.list("rbac.authorization.k8s.io", "clusterroles");
        all.sort_by(|one, other| name(one).cmp(name(other)));
        for role in all.iter().filter(|role| role["aggregationRule"].is_object()) {
            let rules = aggregated(role, &all);
            if items(role, "/rules") == rules {
                continue;
            }
            let applied = json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                "metadata": {"name": name(role)}, "rules": rules,
            });
            if pass.apply(&applied, MANAGER).is_err() {
                pass.retry();
            }
        }
    }
}

/// The rules of all selected roles, without duplicates.
fn aggregated(role: &Value, all: &[Object]) -> Vec<Value> {
    let mut rules: Vec<Value> = Vec::new();
    for selector in items(role, "/aggregationRule/clusterRoleSelectors") {
        let selected = all.iter().filter(|other| {
            name(other) != name(role) && selects(Some(selector), other.pointer("/metadata/labels"))
        });
        for rule in selected.flat_map(|other| items(other, "/rules")) {
            if !rules.contains(rule) {
                rules.push(rule.clone());
            }
        }
    }
    rules
}
