//! What is asked of a HorizontalPodAutoscaler that scales a Deployment.

use std::borrow::Cow;

use baton_apply::LiveObject;
use baton_crd::Workload;
use kube::{Resource as _, ResourceExt as _};
use serde::Deserialize;

use crate::decide::child::ChildKind;

/// A HorizontalPodAutoscaler that scales a Deployment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Autoscaler {
    /// Its name.
    pub name: String,
    /// The least number it may choose.
    pub min_replicas: i32,
    /// The kind and the uid of its controller, such as KEDA's `ScaledObject`.
    pub controller: Option<(String, String)>,
    /// Whether its target is the Workload in the place of the Deployment.
    pub scales_workload: bool,
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
        let (group, _) = target.api_version.split_once('/')?;
        let scales_workload = match (group, &*target.kind) {
            ("apps", kind) if kind == ChildKind::Deployment.name() => false,
            (group, kind) if (group, kind) == (&*Workload::group(&()), &*Workload::kind(&())) => true,
            _ => return None,
        };
        let controller = live.owner_references().iter().find(|owner| owner.controller == Some(true));
        let autoscaler = Self {
            name: live.name_any(),
            // The API server fills it in; 1 is its default.
            min_replicas: min_replicas.unwrap_or(1),
            controller: controller.map(|owner| (owner.kind.clone(), owner.uid.clone())),
            scales_workload,
        };
        let namespace = live.namespace().unwrap_or_default();
        Some((ScaleTarget { namespace, deployment: target.name.into_owned() }, autoscaler))
    }
}

/// As much of a HorizontalPodAutoscaler's spec as is asked for.
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
    #[serde(borrow)]
    api_version: Cow<'a, str>,
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    name: Cow<'a, str>,
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
