//! What Baton has to be allowed, as questions to the API server, and what to say of those that it answers with no.

use std::collections::BTreeMap;

use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};

use super::{CheckResult, LeaseName};
use crate::process::permissions::{PERMISSIONS, Permission, PermissionScope};

/// Whether Baton may do one thing in one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Question {
    rule: &'static Permission,
    verb: &'static str,
    /// Absent for all namespaces.
    namespace: Option<String>,
    name: Option<String>,
}

impl Question {
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

/// All that is to be asked, for these namespaces (`None` for all), with an election for this Lease, and with secure metrics
/// for the reviews of those who read them.
pub(super) fn questions(
    namespaces: &[Option<&str>],
    lease: Option<&LeaseName>,
    has_secure_metrics: bool,
) -> Vec<Question> {
    let mut questions = Vec::new();
    for rule in PERMISSIONS {
        let places: Vec<Option<&str>> = match rule.scope {
            PermissionScope::Watched => namespaces.to_vec(),
            PermissionScope::Lease => lease.iter().map(|lease| Some(&*lease.namespace)).collect(),
            PermissionScope::SecureMetrics => has_secure_metrics.then_some(None).into_iter().collect(),
        };
        let name = rule.name.and(lease).map(|lease| lease.name.clone());
        for namespace in places {
            questions.extend(rule.verbs.iter().map(|verb| Question {
                rule,
                verb,
                namespace: namespace.map(str::to_owned),
                name: name.clone(),
            }));
        }
    }
    questions
}

/// Judges by the questions that were answered with no.
pub(super) fn judge(missing: &[Question]) -> CheckResult {
    if missing.is_empty() {
        return CheckResult::Fine("Baton has all permissions that it needs".to_owned());
    }
    // By place and rule, as they would be granted.
    let mut places: BTreeMap<Option<&str>, Vec<(&Question, Vec<&str>)>> = BTreeMap::new();
    for question in missing {
        let rules = places.entry(question.namespace.as_deref()).or_default();
        match rules.iter_mut().find(|(known, _)| known.rule == question.rule) {
            Some((_, verbs)) => verbs.push(question.verb),
            None => rules.push((question, vec![question.verb])),
        }
    }
    let places: Vec<_> = places.into_iter().map(|(namespace, rules)| in_place(namespace, &rules)).collect();
    CheckResult::Wrong(format!("Baton lacks permissions. {}", places.join(" ")))
}

fn in_place(namespace: Option<&str>, rules: &[(&Question, Vec<&str>)]) -> String {
    let place = namespace.map_or_else(
        || "To the ClusterRole that is bound for all namespaces".to_owned(),
        |namespace| format!("To its Role in the namespace {namespace}"),
    );
    let rules: Vec<_> = rules.iter().map(|(question, verbs)| rule(question, verbs)).collect();
    format!("{place}, add: {}.", rules.join(", "))
}

/// A rule as it stands in a role.
fn rule(question: &Question, verbs: &[&str]) -> String {
    let group = if question.rule.group.is_empty() { "\"\"" } else { question.rule.group };
    let names = question.name.as_ref().map(|name| format!(", resourceNames: [{name}]")).unwrap_or_default();
    format!(
        "`{{apiGroups: [{group}], resources: [{}]{names}, verbs: [{}]}}`",
        question.rule.resource,
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
    fn every_verb_of_every_rule_is_asked_for_in_every_namespace() {
        let watched: usize = PERMISSIONS
            .iter()
            .filter(|rule| rule.scope == PermissionScope::Watched)
            .map(|rule| rule.verbs.len())
            .sum();
        assert_eq!(questions(&[None], None, false).len(), watched);
        assert_eq!(questions(&[Some("a"), Some("b")], Some(&lease()), false).len(), 2 * watched + 3);
    }

    #[test]
    fn the_reviews_are_the_clusters_whatever_is_watched_and_asked_for_only_where_metrics_are_secure() {
        let all = questions(&[Some("a"), Some("b")], None, true);
        let reviews: Vec<_> = all
            .iter()
            .filter(|one| one.rule.scope == PermissionScope::SecureMetrics)
            .map(|one| (one.verb, one.rule.resource, one.namespace.as_deref()))
            .collect();
        assert_eq!(reviews, [("create", "tokenreviews", None), ("create", "subjectaccessreviews", None)]);
        assert_eq!(all.len(), questions(&[Some("a"), Some("b")], None, false).len() + 2);
    }

    #[test]
    fn a_question_names_what_the_api_server_would_check() {
        let all = questions(&[Some("a")], Some(&lease()), false);
        let attributes = |resource: &str, verb: &str| {
            let asked = all.iter().find(|one| one.rule.resource == resource && one.verb == verb).unwrap();
            asked.review().spec.resource_attributes.unwrap()
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
    fn all_that_is_missing_is_told_as_the_rules_to_add() {
        let missing: Vec<_> = questions(&[Some("a")], Some(&lease()), false)
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
