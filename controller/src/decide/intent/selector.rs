//! The pods of a Workload.

use std::collections::{BTreeMap, BTreeSet};

use baton_crd::{Workload, labels};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::{ResourceExt, core::Selector as Parsed};
use serde::Deserialize;
use serde_json::{Value, json};

use baton_apply::LiveObject;

use crate::decide::child::ChildKind;

/// The label selector of a Workload's pods: the one that its Deployment has, since that can never change, and for a
/// Deployment that is yet to be made Baton's own label. Service and PodDisruptionBudget select the same pods.
#[derive(Clone, Debug, PartialEq)]
pub struct Selector {
    selector: LabelSelector,
    /// The selector of a Service, which knows no expressions.
    labels: BTreeMap<String, String>,
}

impl Selector {
    /// The selector that goes with this Deployment, or with none.
    pub fn of(workload: &Workload, deployment: Option<&LiveObject>) -> Self {
        #[derive(Deserialize)]
        struct Selecting {
            selector: LabelSelector,
        }
        let selector = match deployment.and_then(LiveObject::spec) {
            Some(Selecting { selector }) => selector,
            None => {
                let own = BTreeMap::from([(labels::WORKLOAD.to_owned(), workload.name_any())]);
                LabelSelector { match_labels: Some(own), match_expressions: None }
            }
        };
        let labels = Normal::of(&selector).labels;
        Self { selector, labels }
    }

    /// The labels that every selected pod has, whatever the pod template is. Empty for a selector that names none, such as one by
    /// `Exists` alone: the labels of today's pods may go with the next rollout, so they are no substitute.
    pub fn labels(&self) -> &BTreeMap<String, String> {
        &self.labels
    }

    /// The selector of a child of this kind; none for a kind without one.
    pub(in crate::decide) fn of_child(&self, child: ChildKind) -> Option<LabelSelector> {
        match child {
            ChildKind::Service => Some(by_labels(self.labels.clone())),
            ChildKind::DisruptionBudget => Some(self.selector.clone()),
            ChildKind::Deployment | ChildKind::Autoscaler => None,
        }
    }

    /// As the `selector` of a Deployment or a PodDisruptionBudget.
    pub(super) fn to_json(&self) -> Value {
        let mut selector = json!({});
        if let Some(labels) = self.selector.match_labels.as_ref().filter(|labels| !labels.is_empty()) {
            selector["matchLabels"] = json!(labels);
        }
        if let Some(expressions) = self.selector.match_expressions.as_ref().filter(|all| !all.is_empty()) {
            selector["matchExpressions"] = json!(expressions);
        }
        selector
    }

    /// In the form of `kubectl --selector`; absent where it has an unknown operator.
    pub fn to_text(&self) -> Option<String> {
        text(&self.selector)
    }
}

/// A selector by labels alone.
pub(in crate::decide) fn by_labels(labels: BTreeMap<String, String>) -> LabelSelector {
    LabelSelector { match_labels: Some(labels), match_expressions: None }
}

/// In the form of `kubectl --selector`; absent where it has an unknown operator.
pub(in crate::decide) fn text(selector: &LabelSelector) -> Option<String> {
    Parsed::try_from(selector.clone()).ok().map(|parsed| parsed.to_string())
}

/// A selector in a form in which two that say the same are equal.
#[derive(PartialEq, Eq)]
pub(in crate::decide) struct Normal {
    labels: BTreeMap<String, String>,
    expressions: BTreeSet<(String, String, BTreeSet<String>)>,
}

impl Normal {
    pub(in crate::decide) fn of(selector: &LabelSelector) -> Self {
        let mut labels = selector.match_labels.clone().unwrap_or_default();
        let mut expressions = BTreeSet::new();
        for one in selector.match_expressions.iter().flatten() {
            let values: BTreeSet<String> = one.values.iter().flatten().cloned().collect();
            match values.first().filter(|_| one.operator == "In" && values.len() == 1) {
                Some(value) => drop(labels.insert(one.key.clone(), value.clone())),
                None => drop(expressions.insert((one.key.clone(), one.operator.clone(), values))),
            }
        }
        Self { labels, expressions }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The labels of a Deployment with this selector, whose template has labels that a rollout may change.
    fn labels_of(selector: &Value) -> Value {
        let template = json!({"metadata": {"labels": {"app": "web", "version": "v1"}}});
        let live = json!({"metadata": {}, "spec": {"selector": selector, "template": template}});
        let live = LiveObject::from_json(live).unwrap();
        json!(Selector::of(&Workload::new("web", baton_crd::WorkloadSpec::default()), Some(&live)).labels())
    }

    #[test]
    fn a_service_selects_by_what_a_rollout_cannot_change() {
        let one =
            |operator: &str, values: &[&str]| json!({"key": "app", "operator": operator, "values": values});
        let by = |expressions: &[Value]| labels_of(&json!({"matchExpressions": expressions}));
        assert_eq!(by(&[one("In", &["web"])]), json!({"app": "web"}));
        for other in [one("In", &["web", "shop"]), one("Exists", &[]), one("NotIn", &["shop"])] {
            assert_eq!(by(std::slice::from_ref(&other)), json!({}), "{other}");
            let beside = json!({"matchLabels": {"team": "shop"}, "matchExpressions": [other]});
            assert_eq!(labels_of(&beside), json!({"team": "shop"}));
        }
    }

    #[test]
    fn selectors_that_say_the_same_are_equal() {
        let normal = |selector: Value| Normal::of(&serde_json::from_value(selector).unwrap());
        let one = |values: &[&str]| json!({"key": "app", "operator": "In", "values": values});
        let labels = normal(json!({"matchLabels": {"app": "web"}}));
        assert!(labels == normal(json!({"matchExpressions": [one(&["web"])]})));
        assert!(labels != normal(json!({"matchLabels": {"app": "web", "tier": "a"}})));
        let (two, turned) = (one(&["web", "shop"]), one(&["shop", "web"]));
        assert!(normal(json!({"matchExpressions": [two]})) == normal(json!({"matchExpressions": [turned]})));
    }
}
