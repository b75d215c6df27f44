//! The permissions that Baton needs: the rules of its roles in the manifests, as reviews for the API server, and the message about those
//! that are missing. The manifests say why each is needed.
//!
//! `/version`, `/openapi/v3` and the review of the client's own access aren't among them: the default roles `system:discovery` and
//! `system:basic-user` allow them to every ServiceAccount.

use std::collections::BTreeMap;

use baton_merge::yaml;
use k8s_openapi::api::{
    authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec},
    rbac::v1::PolicyRule,
};
use serde::Deserialize;

use super::{CheckResult, LeaseName};

/// The permissions in the namespaces that are watched.
const WATCHED: &str = include_str!("../../../../manifests/rbac/clusterrole.yaml");
/// Those in the namespace of the Lease, with `--leader-elect`.
const LEASE: &str = include_str!("../../../../manifests/deploy/role.yaml");
/// Those in the whole cluster, with `--secure-metrics-addr`.
const SECURE_METRICS: &str =
    include_str!("../../../../manifests/components/secure-metrics/clusterrole-metrics-auth.yaml");

/// One permission in one place, to be reviewed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Access {
    /// Absent for all namespaces.
    namespace: Option<String>,
    group: String,
    /// The plural, with its subresource as in `workloads/status`.
    resource: String,
    /// The only object that it is needed for.
    name: Option<String>,
    verb: String,
}

/// A role of the manifests.
#[derive(Deserialize)]
struct Role {
    rules: Vec<PolicyRule>,
}

/// The rules of a role.
fn rules(role: &str) -> Vec<PolicyRule> {
    // A test reads each.
    yaml::from_str(role).map(|role: Role| role.rules).unwrap_or_default()
}

impl Access {
    /// The permissions of a role in a namespace, or in all. A rule for one object is for the one of this name.
    fn of_role(role: &str, namespace: Option<&str>, name: Option<&str>) -> Vec<Self> {
        let mut all = Vec::new();
        for PolicyRule { api_groups, resources, resource_names, verbs, .. } in rules(role) {
            for group in api_groups.iter().flatten() {
                for resource in resources.iter().flatten() {
                    all.extend(verbs.iter().map(|verb| Self {
                        namespace: namespace.map(str::to_owned),
                        group: group.clone(),
                        resource: resource.clone(),
                        name: resource_names.as_ref().and(name).map(str::to_owned),
                        verb: verb.clone(),
                    }));
                }
            }
        }
        all
    }

    pub(super) fn review(&self) -> SelfSubjectAccessReview {
        let (resource, subresource) = match self.resource.split_once('/') {
            Some((resource, subresource)) => (resource, Some(subresource.to_owned())),
            None => (&*self.resource, None),
        };
        let attributes = ResourceAttributes {
            group: Some(self.group.clone()),
            resource: Some(resource.to_owned()),
            subresource,
            verb: Some(self.verb.clone()),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            ..ResourceAttributes::default()
        };
        let spec =
            SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes), ..Default::default() };
        SelfSubjectAccessReview { spec, ..SelfSubjectAccessReview::default() }
    }

    /// Without its verb.
    fn rule(&self) -> (&str, &str, Option<&str>) {
        (&self.group, &self.resource, self.name.as_deref())
    }
}

/// All permissions that Baton needs, for these namespaces (`None` for all), with an election for this Lease, and with secure
/// metrics for the reviews of their clients.
pub(super) fn accesses(
    namespaces: &[Option<&str>],
    lease: Option<&LeaseName>,
    has_secure_metrics: bool,
) -> Vec<Access> {
    let watched = namespaces.iter().flat_map(|namespace| Access::of_role(WATCHED, *namespace, None));
    let election = lease.map(|lease| Access::of_role(LEASE, Some(&lease.namespace), Some(&lease.name)));
    let reviews = has_secure_metrics.then(|| Access::of_role(SECURE_METRICS, None, None));
    watched.chain(election.into_iter().flatten()).chain(reviews.into_iter().flatten()).collect()
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
        match rules.iter_mut().find(|(known, _)| known.rule() == access.rule()) {
            Some((_, verbs)) => verbs.push(&access.verb),
            None => rules.push((access, vec![&access.verb])),
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
    let rules: Vec<_> = rules.iter().map(|(access, verbs)| as_rule(access, verbs)).collect();
    format!("{place}, add: {}.", rules.join(", "))
}

/// A rule as it is written in a role.
fn as_rule(access: &Access, verbs: &[&str]) -> String {
    let (group, resource, name) = access.rule();
    let group = if group.is_empty() { "\"\"" } else { group };
    let names = name.map(|name| format!(", resourceNames: [{name}]")).unwrap_or_default();
    format!("`{{apiGroups: [{group}], resources: [{resource}]{names}, verbs: [{}]}}`", verbs.join(", "))
}

#[cfg(test)]
mod tests {
    use kube::{Resource, core::ApiResource};

    use super::*;
    use crate::decide::child::ChildKind;

    fn lease() -> LeaseName {
        LeaseName { namespace: "baton-system".to_owned(), name: "mine".to_owned() }
    }

    #[test]
    fn every_watched_and_written_kind_has_its_verbs() {
        let granted = accesses(&[None], None, false);
        for kind in ChildKind::ALL {
            let ApiResource { group, plural, .. } = kind.api_resource();
            for verb in ["get", "list", "watch", "create", "patch"] {
                let is_it = |one: &Access| (&one.group, &one.resource, &*one.verb) == (&group, &plural, verb);
                assert!(granted.iter().any(is_it), "{verb} {plural}");
            }
        }
        let workloads = baton_crd::Workload::plural(&());
        assert!(granted.iter().any(|one| one.resource == workloads && one.verb == "watch"));
    }

    #[test]
    fn every_verb_of_every_rule_is_reviewed_in_every_namespace_and_none_is_a_wildcard() {
        let watched: usize = rules(WATCHED).iter().map(|rule| rule.verbs.len()).sum();
        assert!(watched > 20, "{watched}");
        assert_eq!(accesses(&[None], None, false).len(), watched);
        let all = accesses(&[Some("a"), Some("b")], Some(&lease()), true);
        assert_eq!(all.len(), 2 * watched + 3 + 2);
        for one in all {
            assert!(!one.group.contains('*') && !one.resource.contains('*') && one.verb != "*", "{one:?}");
        }
    }

    #[test]
    fn reviews_need_permissions_in_the_whole_cluster_and_only_with_secure_metrics() {
        let namespaces = [Some("a"), Some("b")];
        let (all, without) = (accesses(&namespaces, None, true), accesses(&namespaces, None, false));
        assert_eq!(all[..without.len()], without);
        let reviews = all[without.len()..].iter();
        let reviews: Vec<_> =
            reviews.map(|one| (&*one.verb, &*one.resource, one.namespace.as_deref())).collect();
        assert_eq!(reviews, [("create", "tokenreviews", None), ("create", "subjectaccessreviews", None)]);
    }

    #[test]
    fn a_review_names_what_the_api_server_checks() {
        let all = accesses(&[Some("a")], Some(&lease()), false);
        let attributes = |resource: &str, verb: &str| {
            let access = all.iter().find(|one| one.resource == resource && one.verb == verb).unwrap();
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
            .filter(|one| one.resource == "services" && one.verb.ends_with('t') || one.name.is_some())
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
