//! The permissions that Baton needs, as reviews for the API server, and the message about those that are missing.

use std::collections::BTreeMap;

use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};

use super::{CheckResult, LeaseName};
use crate::process::permissions::{PERMISSIONS, Permission, PermissionScope};

/// One permission in one place, to be reviewed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Access {
    rule: &'static Permission,
    verb: &'static str,
    /// Absent for all namespaces.
    namespace: Option<String>,
    name: Option<String>,
}

impl Access {
    pub(super) fn review(&self) -> SelfSubjectAccessReview {
        let (resource, subresource) = match self.rule.resource.split_once('/') {
            Some((resource, subresource)) => (resource, Some(subresource.to_owned())),
            None => (self.rule.resource, None),
        };
        let attributes = ResourceAttributes {
            group: Some(self.rule.group.to_owned()),
            resource: Some(resource.to_owned()),
            subresource,
            verb: Some(self.verb.to_owned()),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            ..ResourceAttributes::default()
        };
        let spec =
            SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes), ..Default::default() };
        SelfSubjectAccessReview { spec, ..SelfSubjectAccessReview::default() }
    }
}

/// All permissions that Baton needs, for these namespaces (`None` for all), with an election for this Lease, and with secure
/// metrics for the reviews of their clients.
pub(super) fn accesses(
    namespaces: &[Option<&str>],
    lease: Option<&LeaseName>,
    has_secure_metrics: bool,
) -> Vec<Access> {
    let mut accesses = Vec::new();
    for rule in PERMISSIONS {
        let places: Vec<Option<&str>> = match rule.scope {
            PermissionScope::Watched => namespaces.to_vec(),
            PermissionScope::Lease => lease.iter().map(|lease| Some(&*lease.namespace)).collect(),
            PermissionScope::SecureMetrics => has_secure_metrics.then_some(None).into_iter().collect(),
        };
        let name = rule.name.and(lease).map(|lease| lease.name.clone());
        for namespace in places {
            accesses.extend(rule.verbs.iter().map(|verb| Access {
                rule,
                verb,
                namespace: namespace.map(str::to_owned),
                name: name.clone(),
            }));
        }
    }
    accesses
}

/// The result, by what is missing.
pub(super) fn judge(missing: &[Access]) -> CheckResult {
    if missing.is_empty() {
        return CheckResult::Fine("Baton has all permissions that it needs".to_owned());
    }
    // By place and rule, as they are granted.
    let mut places: BTreeMap<Option<&str>, Vec<(&Access, Vec<&str>)>> = BTreeMap::new();
    for access in missing {
        let rules = places.entry(access.namespace.as_deref()).or_default();
        match rules.iter_mut().find(|(known, _)| known.rule == access.rule) {
            Some((_, verbs)) => verbs.push(access.verb),
            None => rules.push((access, vec![access.verb])),
        }
    }
    let places: Vec<_> = places.into_iter().map(|(namespace, rules)| in_place(namespace, &rules)).collect();
    CheckResult::Wrong(format!("Baton lacks permissions. {}", places.join(" ")))
}

fn in_place(namespace: Option<&str>, rules: &[(&Access, Vec<&str>)]) -> String {
    let place = namespace.map_or_else(
        || "To the ClusterRole that is bound for all namespaces".to_owned(),
        |namespace| format!("To its Role in the namespace {namespace}"),
    );
    let rules: Vec<_> = rules.iter().map(|(access, verbs)| rule(access, verbs)).collect();
    format!("{place}, add: {}.", rules.join(", "))
}

/// A rule as it is written in a role.
fn rule(access: &Access, verbs: &[&str]) -> String {
    let group = if access.rule.group.is_empty() { "\"\"" } else { access.rule.group };
    let names = access.name.as_ref().map(|name| format!(", resourceNames: [{name}]")).unwrap_or_default();
    format!(
        "`{{apiGroups: [{group}], resources: [{}]{names}, verbs: [{}]}}`",
        access.rule.resource,
        verbs.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease() -> LeaseName {
        LeaseName { namespace: "baton-system".to_owned(), name: "mine".to_owned() }
    }

    #[test]
    fn every_verb_of_every_rule_is_reviewed_in_every_namespace() {
        let watched: usize = PERMISSIONS
            .iter()
            .filter(|rule| rule.scope == PermissionScope::Watched)
            .map(|rule| rule.verbs.len())
            .sum();
        assert_eq!(accesses(&[None], None, false).len(), watched);
        assert_eq!(accesses(&[Some("a"), Some("b")], Some(&lease()), false).len(), 2 * watched + 3);
    }

    #[test]
    fn reviews_need_permissions_in_the_whole_cluster_and_only_with_secure_metrics() {
        let all = accesses(&[Some("a"), Some("b")], None, true);
        let reviews: Vec<_> = all
            .iter()
            .filter(|one| one.rule.scope == PermissionScope::SecureMetrics)
            .map(|one| (one.verb, one.rule.resource, one.namespace.as_deref()))
            .collect();
        assert_eq!(reviews, [("create", "tokenreviews", None), ("create", "subjectaccessreviews", None)]);
        assert_eq!(all.len(), accesses(&[Some("a"), Some("b")], None, false).len() + 2);
    }

    #[test]
    fn a_review_names_what_the_api_server_checks() {
        let all = accesses(&[Some("a")], Some(&lease()), false);
        let attributes = |resource: &str, verb: &str| {
            let access = all.iter().find(|one| one.rule.resource == resource && one.verb == verb).unwrap();
            access.review().spec.resource_attributes.unwrap()
        };
        let status = attributes("workloads/status", "patch");
        assert_eq!(
            (status.resource.as_deref(), status.subresource.as_deref()),
            (Some("workloads"), Some("status"))
        );
        assert_eq!(status.namespace.as_deref(), Some("a"));
        let renewal = attributes("leases", "patch");
        assert_eq!(
            (renewal.name.as_deref(), renewal.namespace.as_deref()),
            (Some("mine"), Some("baton-system"))
        );
        assert_eq!(attributes("leases", "create").name, None);
    }

    #[test]
    fn missing_permissions_are_reported_as_the_rules_to_add() {
        let missing: Vec<_> = accesses(&[Some("a")], Some(&lease()), false)
            .into_iter()
            .filter(|one| one.rule.resource == "services" && one.verb.ends_with('t') || one.name.is_some())
            .collect();
        let CheckResult::Wrong(message) = judge(&missing) else { panic!("permissions are missing") };
        assert_eq!(
            message,
            "Baton lacks permissions. To its Role in the namespace a, add: \
             `{apiGroups: [\"\"], resources: [services], verbs: [get, list]}`. To its Role in the namespace baton-system, \
             add: `{apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [mine], verbs: [get, patch]}`."
        );
        assert!(matches!(judge(&[]), CheckResult::Fine(_)));
    }
}
