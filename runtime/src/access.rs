//! Permissions as reviews for the API server, and those that are missing as the rules to add.
//!
//! A program that knows the rules of its own roles, such as by `include_str!` of its manifests, can check at its start that they are
//! granted, and say exactly what is missing.
//!
//! ```
//! use baton_runtime::access::{Access, rules_to_add};
//! use k8s_openapi::api::rbac::v1::PolicyRule;
//!
//! let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
//! let rule = PolicyRule {
//!     api_groups: Some(texts(&["apps"])),
//!     resources: Some(texts(&["deployments"])),
//!     verbs: texts(&["get", "patch"]),
//!     ..PolicyRule::default()
//! };
//! let needed = Access::of_rules(&[rule], Some("shop"), None);
//! // Create `needed[0].review()`, and the others; a review's status says whether it is allowed.
//! assert_eq!(
//!     rules_to_add(&needed),
//!     "To its Role in the namespace shop, add: `{apiGroups: [apps], resources: [deployments], verbs: [get, patch]}`."
//! );
//! ```

use std::collections::BTreeMap;

use k8s_openapi::api::{
    authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec},
    rbac::v1::PolicyRule,
};

/// One permission in one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The namespace; absent for all.
    pub namespace: Option<String>,
    /// The API group.
    pub group: String,
    /// The plural, with its subresource as in `deployments/scale`.
    pub resource: String,
    /// The only object that it is needed for.
    pub name: Option<String>,
    /// The verb.
    pub verb: String,
}

impl Access {
    /// The permissions of a role's rules in a namespace, or in all. A rule with names of objects is for the one of this name, or for
    /// its own where this is absent. Rules about URLs are left out.
    pub fn of_rules(rules: &[PolicyRule], namespace: Option<&str>, name: Option<&str>) -> Vec<Self> {
        let mut all = Vec::new();
        for PolicyRule { api_groups, resources, resource_names, verbs, .. } in rules {
            let names: Vec<Option<&str>> = match resource_names {
                None => vec![None],
                Some(names) if name.is_none() && !names.is_empty() => {
                    names.iter().map(|name| Some(name.as_str())).collect()
                }
                Some(_) => vec![name],
            };
            for group in api_groups.iter().flatten() {
                for resource in resources.iter().flatten() {
                    for name in &names {
                        all.extend(verbs.iter().map(|verb| Self {
                            namespace: namespace.map(str::to_owned),
                            group: group.clone(),
                            resource: resource.clone(),
                            name: name.map(str::to_owned),
                            verb: verb.clone(),
                        }));
                    }
                }
            }
        }
        all
    }

    /// The review that shows whether this process has it.
    pub fn review(&self) -> SelfSubjectAccessReview {
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

/// The rules that grant the permissions that are missing, as text, by the role to add them to.
pub fn rules_to_add(missing: &[Access]) -> String {
    let mut places: BTreeMap<Option<&str>, Vec<(&Access, Vec<&str>)>> = BTreeMap::new();
    for access in missing {
        let rules = places.entry(access.namespace.as_deref()).or_default();
        match rules.iter_mut().find(|(known, _)| known.rule() == access.rule()) {
            Some((_, verbs)) => verbs.push(&access.verb),
            None => rules.push((access, vec![&access.verb])),
        }
    }
    let in_place = |(namespace, rules): (Option<&str>, Vec<(&Access, Vec<&str>)>)| {
        let place = namespace.map_or_else(
            || "To the ClusterRole that is bound for all namespaces".to_owned(),
            |namespace| format!("To its Role in the namespace {namespace}"),
        );
        let rules: Vec<_> = rules.iter().map(|(access, verbs)| as_rule(access, verbs)).collect();
        format!("{place}, add: {}.", rules.join(", "))
    };
    places.into_iter().map(in_place).collect::<Vec<_>>().join(" ")
}

/// A rule as it is written in a role.
fn as_rule(access: &Access, verbs: &[&str]) -> String {
    let (group, resource, name) = access.rule();
    // Neither nothing nor an asterisk is a text in YAML.
    let text = |text: &str| {
        if text.is_empty() || text.starts_with('*') { format!("{text:?}") } else { text.to_owned() }
    };
    let (group, resource) = (text(group), text(resource));
    let verbs: Vec<String> = verbs.iter().map(|verb| text(verb)).collect();
    let names = name.map(|name| format!(", resourceNames: [{name}]")).unwrap_or_default();
    format!("`{{apiGroups: [{group}], resources: [{resource}]{names}, verbs: [{}]}}`", verbs.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The permissions of a rule for some objects, or for one.
    fn accesses(group: &str, resource: &str, is_of_one: bool, verbs: &[&str]) -> Vec<Access> {
        let rule = PolicyRule {
            api_groups: Some(vec![group.to_owned()]),
            resources: Some(vec![resource.to_owned()]),
            resource_names: is_of_one.then(Vec::new),
            verbs: verbs.iter().map(|verb| (*verb).to_owned()).collect(),
            ..PolicyRule::default()
        };
        Access::of_rules(&[rule], Some("a"), Some("mine"))
    }

    #[test]
    fn a_review_names_what_the_api_server_checks() {
        for (resource, is_of_one, expected) in [
            ("workloads/status", false, ("workloads", Some("status"), None)),
            ("leases", true, ("leases", None, Some("mine"))),
            ("leases", false, ("leases", None, None)),
        ] {
            let review = accesses("example.com", resource, is_of_one, &["patch"])[0].review();
            let ResourceAttributes { resource, subresource, name, namespace, group, verb, .. } =
                review.spec.resource_attributes.unwrap();
            let found = (resource.as_deref().unwrap(), subresource.as_deref(), name.as_deref());
            assert_eq!(found, expected);
            assert_eq!([namespace, group, verb].map(Option::unwrap), ["a", "example.com", "patch"]);
        }
    }

    #[test]
    fn a_rule_for_named_objects_stays_one_and_asterisks_are_quoted() {
        let names = ["one", "two"].map(str::to_owned).to_vec();
        let all = || Some(vec!["*".to_owned()]);
        let verbs = vec!["get".to_owned(), "*".to_owned()];
        let rule = PolicyRule {
            api_groups: all(),
            resources: all(),
            resource_names: Some(names),
            verbs,
            ..Default::default()
        };
        assert_eq!(
            rules_to_add(&Access::of_rules(&[rule], Some("a"), None)),
            "To its Role in the namespace a, add: `{apiGroups: [\"*\"], resources: [\"*\"], resourceNames: [one], verbs: [get, \"*\"]}`, \
             `{apiGroups: [\"*\"], resources: [\"*\"], resourceNames: [two], verbs: [get, \"*\"]}`."
        );
    }

    #[test]
    fn missing_permissions_are_the_rules_to_add_by_their_place() {
        let mut missing = accesses("", "services", false, &["get", "list"]);
        missing.extend(accesses("coordination.k8s.io", "leases", true, &["get", "patch"]));
        missing.push(Access { namespace: None, ..missing[0].clone() });
        assert_eq!(
            rules_to_add(&missing),
            "To the ClusterRole that is bound for all namespaces, add: \
             `{apiGroups: [\"\"], resources: [services], verbs: [get]}`. To its Role in the namespace a, add: \
             `{apiGroups: [\"\"], resources: [services], verbs: [get, list]}`, \
             `{apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [mine], verbs: [get, patch]}`."
        );
    }
}
