//! The roles in the manifests grant what the operator's `PERMISSIONS` list. The tests of the chart show that it grants the same.

use std::collections::BTreeSet;

use baton_controller::process::permissions::{PERMISSIONS, PermissionScope};
use baton_e2e::permissions::{ELECTION, Permission, SECURE_METRICS, WORKLOADS, granted};

fn needed(scope: PermissionScope) -> BTreeSet<Permission> {
    let rules = PERMISSIONS.iter().filter(|rule| rule.scope == scope);
    let all = rules.flat_map(|rule| {
        rule.verbs.iter().map(|verb| Permission {
            group: rule.group.to_owned(),
            resource: rule.resource.to_owned(),
            name: rule.name.map(str::to_owned),
            verb: (*verb).to_owned(),
        })
    });
    all.collect()
}

#[test]
fn the_manifests_grant_what_the_operator_needs_and_nothing_else() {
    for (scope, manifest) in [
        (PermissionScope::Watched, WORKLOADS),
        (PermissionScope::Lease, ELECTION),
        (PermissionScope::SecureMetrics, SECURE_METRICS),
    ] {
        let granted: BTreeSet<Permission> = granted(manifest).unwrap().into_iter().collect();
        assert_eq!(granted, needed(scope), "manifests/{manifest}");
    }
}
