//! The permissions that Baton needs: the rules of its roles in the manifests, which say why each is needed.
//!
//! `/version`, `/openapi/v3` and the review of the client's own access aren't among them: the default roles `system:discovery` and
//! `system:basic-user` allow them to every ServiceAccount.

use baton_merge::yaml;
use baton_runtime::access::Access;
use k8s_openapi::api::rbac::v1::PolicyRule;
use serde::Deserialize;

use super::LeaseName;

/// The permissions in the namespaces that are watched.
const WATCHED: &str = include_str!("../../../../manifests/rbac/clusterrole.yaml");
/// Those in the namespace of the Lease, with `--leader-elect`.
const LEASE: &str = include_str!("../../../../manifests/deploy/role.yaml");
/// Those in the whole cluster, with `--secure-metrics-addr`.
const SECURE_METRICS: &str =
    include_str!("../../../../manifests/components/secure-metrics/clusterrole-metrics-auth.yaml");

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

/// All permissions that Baton needs, for these namespaces (`None` for all), with an election for this Lease, and with secure
/// metrics for the reviews of their clients.
pub(super) fn accesses(
    namespaces: &[Option<&str>],
    lease: Option<&LeaseName>,
    has_secure_metrics: bool,
) -> Vec<Access> {
    let watched = rules(WATCHED);
    let mut all: Vec<_> =
        namespaces.iter().flat_map(|namespace| Access::of_rules(&watched, *namespace, None)).collect();
    if let Some(LeaseName { namespace, name }) = lease {
        all.extend(Access::of_rules(&rules(LEASE), Some(namespace), Some(name)));
    }
    if has_secure_metrics {
        all.extend(Access::of_rules(&rules(SECURE_METRICS), None, None));
    }
    all
}

#[cfg(test)]
mod tests {
    use kube::{Resource, core::ApiResource};

    use super::*;
    use crate::decide::child::ChildKind;

    #[test]
    fn every_watched_and_written_kind_has_its_verbs() {
        let granted = accesses(&[None], None, false);
        let is_granted = |group: &str, resource: &str, verb: &str| {
            granted.iter().any(|one| (&*one.group, &*one.resource, &*one.verb) == (group, resource, verb))
        };
        for kind in ChildKind::ALL {
            let ApiResource { group, plural, .. } = kind.api_resource();
            for verb in ["get", "list", "watch", "create", "patch"] {
                assert!(is_granted(&group, &plural, verb), "{verb} {plural}");
            }
        }
        assert!(is_granted(baton_crd::GROUP, &baton_crd::Workload::plural(&()), "watch"));
    }

    #[test]
    fn every_rule_is_reviewed_in_its_places_and_none_is_a_wildcard() {
        let watched = accesses(&[None], None, false).len();
        assert!(watched > 20 && watched == rules(WATCHED).iter().map(|rule| rule.verbs.len()).sum::<usize>());
        let lease = LeaseName { namespace: "baton-system".to_owned(), name: "mine".to_owned() };
        let all = accesses(&[Some("a"), Some("b")], Some(&lease), true);
        let rest = all[2 * watched..].iter();
        let rest: Vec<_> = rest
            .map(|one| {
                format!(
                    "{} {} {:?} {:?}",
                    one.verb,
                    one.resource,
                    one.namespace.as_deref(),
                    one.name.as_deref()
                )
            })
            .collect();
        let expected = [
            r#"create leases Some("baton-system") None"#,
            r#"get leases Some("baton-system") Some("mine")"#,
            r#"patch leases Some("baton-system") Some("mine")"#,
            "create tokenreviews None None",
            "create subjectaccessreviews None None",
        ];
        assert_eq!(rest, expected);
        for Access { group, resource, verb, .. } in all {
            assert!(!format!("{group} {resource} {verb}").contains('*'), "{verb} {resource} of {group}");
        }
    }
}
