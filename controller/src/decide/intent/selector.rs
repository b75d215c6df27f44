//! Which pods are a Workload's.

use std::collections::BTreeMap;

use baton_crd::{Workload, labels};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::{ResourceExt, core::Selector as Parsed};
use serde::Deserialize;
use serde_json::{Value, json};

use baton_apply::LiveObject;

/// The label selector of a Workload's pods: the one that its Deployment has, since that can never change, and for a
/// Deployment that is yet to be made Baton's own label. Service and PodDisruptionBudget select the same pods.
#[derive(Clone, Debug, PartialEq)]
pub struct Selector {
    selector: LabelSelector,
    /// What a Service selects by, which knows no expressions.
    labels: BTreeMap<String, String>,
}

impl Selector {
    /// The selector that goes with this Deployment, or with none.
    pub fn of(workload: &Workload, deployment: Option<&LiveObject>) -> Self {
        #[derive(Deserialize)]
        struct Selecting {
            selector: LabelSelector,
            template: Option<Template>,
        }
        #[derive(Deserialize)]
        struct Template {
            metadata: Option<Labelled>,
        }
        #[derive(Deserialize)]
        struct Labelled {
            labels: Option<BTreeMap<String, String>>,
        }
        let (selector, template) = match deployment.and_then(LiveObject::spec) {
            Some(Selecting { selector, template }) => (selector, template),
            None => {
                let own = BTreeMap::from([(labels::WORKLOAD.to_owned(), workload.name_any())]);
                (LabelSelector { match_labels: Some(own), match_expressions: None }, None)
            }
        };
        let pods = || template?.metadata?.labels;
        let named = selector.match_labels.clone().filter(|labels| !labels.is_empty());
        let labels = named.or_else(pods).unwrap_or_default();
        Self { selector, labels }
    }

    /// The labels that every selected pod has.
    pub fn labels(&self) -> &BTreeMap<String, String> {
        &self.labels
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
        Parsed::try_from(self.selector.clone()).ok().map(|parsed| parsed.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deployment_keeps_its_selector_and_a_new_one_is_selected_by_batons_label() {
        let workload = Workload::new("web", baton_crd::WorkloadSpec::default());
        let new = Selector::of(&workload, None);
        assert_eq!(new.to_text().as_deref(), Some("baton.rs/workload=web"));

        let selector = json!({
            "matchLabels": {"app": "web"},
            "matchExpressions": [{"key": "tier", "operator": "In", "values": ["a", "b"]}],
        });
        let live = LiveObject::from_json(json!({"metadata": {}, "spec": {"selector": selector}})).unwrap();
        let kept = Selector::of(&workload, Some(&live));
        assert_eq!(kept.to_json(), selector);
        assert_eq!(kept.to_text().as_deref(), Some("app=web,tier in (a,b)"));
    }
}
