//! A HorizontalPodAutoscaler, as far as it scales a Deployment.

use std::borrow::Cow;

use baton_apply::LiveObject;
use baton_crd::Workload;
use kube::{Resource as _, ResourceExt as _};
use serde::Deserialize;

use super::child::ChildKind;

/// A HorizontalPodAutoscaler that scales a Deployment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Autoscaler {
    /// Its name.
    pub name: String,
    /// The smallest count that it may choose.
    pub min_replicas: i32,
    /// The kind and the uid of its controller, such as KEDA's `ScaledObject`.
    pub controller: Option<(String, String)>,
    /// Its target.
    pub scales: Scales,
    /// Whether its controller has stopped it, because another autoscaler's target selects the same pods.
    pub is_ambiguous: bool,
}

/// The target of an autoscaler, where it has a Deployment's name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scales {
    /// The Deployment.
    Deployment,
    /// The Workload in the place of the Deployment.
    Workload,
    /// Nothing: it means the Deployment or the Workload, by a kind that the autoscaler's controller can't resolve.
    Nothing {
        /// The kind and the API version, as text.
        target: String,
    },
}

impl Scales {
    /// The meaning of a reference to this kind, as the autoscaler's controller resolves it: by the group and the kind, which may be
    /// in lower case, and by no version (`reconcileAutoscaler` in `pkg/controller/podautoscaler/horizontal.go`, and
    /// `NewDiscoveryRESTMapper` of client-go). None if it means something else.
    fn of(api_version: &str, kind: &str) -> Option<Self> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let is_resolved = |name: &str| kind == name || kind == name.to_lowercase();
        let means = |name: &str, short_name: &str| {
            let kind = kind.to_lowercase();
            kind == short_name || kind.strip_suffix('s').unwrap_or(&kind) == name.to_lowercase()
        };
        let (deployment, workload) = (ChildKind::Deployment.name(), Workload::kind(&()));
        let target = format!("{kind} of {api_version:?}");
        let is_meant = match group.to_lowercase().as_str() {
            // There is no such API version.
            _ if version.contains('/') => means(deployment, "deploy"),
            _ if group == "apps" && is_resolved(deployment) => return Some(Self::Deployment),
            of_workloads if of_workloads == Workload::group(&()) => {
                if group == of_workloads && is_resolved(&workload) {
                    return Some(Self::Workload);
                }
                means(&workload, "bwl")
            }
            // The groups of Deployments once, and without a group; another group may have a Deployment of its own.
            "apps" | "extensions" | "" => means(deployment, "deploy"),
            _ => false,
        };
        is_meant.then_some(Self::Nothing { target })
    }
}

impl Autoscaler {
    /// Whether the object with this uid is its controller.
    pub fn is_controlled_by(&self, uid: &str) -> bool {
        self.controller.as_ref().is_some_and(|(_, controller)| controller == uid)
    }

    /// Whether it does nothing while the count is zero. To an autoscaler that may not choose zero itself, zero means that it is
    /// turned off; a controller of the autoscaler, such as KEDA, may still raise the count.
    pub fn rests_at_zero(&self) -> bool {
        self.min_replicas > 0 && self.controller.is_none()
    }

    /// Reads it off a live HorizontalPodAutoscaler, with the Deployment that it scales, or whose Workload; none where it scales
    /// something else.
    pub fn of(live: &LiveObject) -> Option<(ScaleTarget, Self)> {
        let Spec { scale_target_ref: target, min_replicas } = live.spec()?;
        let scales = Scales::of(&target.api_version, &target.kind)?;
        let controller = live.owner_references().iter().find(|owner| owner.controller == Some(true));
        let autoscaler = Self {
            name: live.name_any(),
            // The API server fills it in; 1 is its default.
            min_replicas: min_replicas.unwrap_or(1),
            controller: controller.map(|owner| (owner.kind.clone(), owner.uid.clone())),
            scales,
            is_ambiguous: live.status::<Status<'_>>().is_some_and(|status| status.is_ambiguous()),
        };
        let namespace = live.namespace().unwrap_or_default();
        Some((ScaleTarget { namespace, deployment: target.name.into_owned() }, autoscaler))
    }
}

/// The fields of a HorizontalPodAutoscaler's spec that Baton reads.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec<'a> {
    #[serde(borrow)]
    scale_target_ref: Target<'a>,
    min_replicas: Option<i32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Target<'a> {
    #[serde(borrow, default)]
    api_version: Cow<'a, str>,
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    name: Cow<'a, str>,
}

/// Those of its status.
#[derive(Deserialize)]
struct Status<'a> {
    #[serde(borrow, default)]
    conditions: Vec<Condition<'a>>,
}

#[derive(Deserialize)]
struct Condition<'a> {
    #[serde(borrow, rename = "type")]
    type_: Cow<'a, str>,
    #[serde(borrow)]
    status: Cow<'a, str>,
    #[serde(borrow, default)]
    reason: Cow<'a, str>,
}

impl Status<'_> {
    fn is_ambiguous(&self) -> bool {
        let is_it = |one: &Condition<'_>| {
            one.type_ == "ScalingActive" && one.status == "False" && one.reason == "AmbiguousSelector"
        };
        self.conditions.iter().any(is_it)
    }
}

/// A Deployment that is scaled.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScaleTarget {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub deployment: String,
}

impl ScaleTarget {
    /// The Deployment of a Workload.
    pub fn of(workload: &Workload) -> Self {
        Self { namespace: workload.namespace().unwrap_or_default(), deployment: workload.name_any() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn of(spec: &Value, status: &Value) -> Option<Autoscaler> {
        let object = json!({"metadata": {"name": "web", "namespace": "ns"}, "spec": spec, "status": status});
        Autoscaler::of(&LiveObject::from_json(object).unwrap()).map(|(_, autoscaler)| autoscaler)
    }

    #[test]
    fn a_target_is_resolved_as_by_the_autoscalers_controller() {
        for (expected, api_version, kinds) in [
            ("Deployment", "apps/v1", &["Deployment", "deployment"][..]),
            ("Deployment", "apps/v1beta1", &["Deployment"]),
            ("Deployment", "apps/v9", &["deployment"]),
            ("Deployment", "apps/", &["Deployment"]),
            ("Workload", "baton.rs/v1alpha1", &["Workload", "workload"]),
            ("Nothing", "apps/v1", &["DEPLOYMENT", "deployments", "deploy"]),
            ("Nothing", "extensions/v1beta1", &["Deployment"]),
            ("Nothing", "", &["Deployment"]),
            ("Nothing", "v1", &["Deployment"]),
            ("Nothing", "apps/v1/x", &["Deployment"]),
            ("Nothing", "Apps/v1", &["Deployment"]),
            ("Nothing", "baton.rs/v1alpha1", &["workloads", "Workloads", "bwl"]),
            ("Nothing", "Baton.rs/v1alpha1", &["Workload"]),
            ("something else", "apps/v1", &["StatefulSet"]),
            ("something else", "argoproj.io/v1alpha1", &["Rollout"]),
            ("something else", "example.com/v1", &["Deployment"]),
        ] {
            for kind in kinds {
                let spec =
                    json!({"scaleTargetRef": {"apiVersion": api_version, "kind": kind, "name": "web"}});
                let found = match of(&spec, &Value::Null).map(|autoscaler| autoscaler.scales) {
                    Some(Scales::Deployment) => "Deployment",
                    Some(Scales::Workload) => "Workload",
                    Some(Scales::Nothing { .. }) => "Nothing",
                    None => "something else",
                };
                assert_eq!(found, expected, "{kind} of {api_version}");
            }
        }
        let without_version = json!({"scaleTargetRef": {"kind": "Deployment", "name": "web"}});
        assert!(matches!(of(&without_version, &Value::Null).unwrap().scales, Scales::Nothing { .. }));
    }

    #[test]
    fn an_autoscaler_is_ambiguous_while_its_controller_says_that_it_is() {
        let spec = json!({"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}});
        let is_ambiguous = |status: &str, reason: &str| {
            let able = json!({"type": "AbleToScale", "status": "True", "reason": "SucceededGetScale"});
            let active = json!({"type": "ScalingActive", "status": status, "reason": reason});
            of(&spec, &json!({"conditions": [able, active]})).unwrap().is_ambiguous
        };
        assert!(is_ambiguous("False", "AmbiguousSelector"));
        assert!(!is_ambiguous("True", "ValidMetricFound") && !is_ambiguous("False", "ScalingDisabled"));
    }
}
