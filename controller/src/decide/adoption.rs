//! Decides about an object that has a child's name and isn't this Workload's: refused, or adopted without a restart of its pods.
//!
//! An object that is to be adopted goes through two writes. The first rewrites its `managedFields`: what client-side apply
//! and the retired managers own becomes Baton's, as if Baton had applied it. The second is the apply of Baton's intent: it
//! brings the controller reference, and prunes what those managers had set and the intent lacks. A crash between the two
//! leaves the object to be adopted by the next pass.

use baton_apply::{
    LiveObject, ManagedFieldsEntry,
    ownership::{Migration, owners},
};
use baton_crd::{Adoption, Workload};
use baton_merge::{
    fieldpath::{
        Path,
        PathElement::{Field, Key},
    },
    value::Value,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::ResourceExt;

use super::{
    autoscaler::{Autoscaler, ScaleTarget, Scales},
    child::ChildKind,
    intent::{
        Selector,
        selector::{self, Normal},
    },
};
use crate::FIELD_MANAGER;

/// The next step with an object that isn't this Workload's.
#[derive(Clone, Debug, PartialEq)]
pub enum AdoptionStep {
    /// Leave it alone, and report this.
    Refuse(String),
    /// First make Baton the owner of the others' fields.
    Migrate(Migration),
    /// Apply the intent: no manager is left to retire.
    Apply,
}

/// Decides about an object that has a child's name and isn't this Workload's. `selector` is that of the Workload's pods; none while
/// the Workload has no Deployment.
pub fn consider(
    child: ChildKind,
    live: &LiveObject,
    workload: &Workload,
    selector: Option<&Selector>,
) -> AdoptionStep {
    let spec = &workload.spec;
    if spec.adoption == Adoption::Refuse {
        let advice = "set spec.adoption to Adopt to take it over, delete or rename it, or give the Workload another name";
        return AdoptionStep::Refuse(refusal(child, live, advice));
    }
    if let Some(advice) = about_another_controller(live, &spec.retired_managers) {
        return AdoptionStep::Refuse(refusal(child, live, &advice));
    }
    if let Some(advice) = about_another_target(child, live, workload, selector) {
        return AdoptionStep::Refuse(refusal(child, live, &advice));
    }
    let is_retired = |entry: &ManagedFieldsEntry<'_>| is_named(entry, &spec.retired_managers);
    Migration::from_client_side_apply(FIELD_MANAGER, live, &[child.api_version()], is_retired)
        .map_or(AdoptionStep::Apply, AdoptionStep::Migrate)
}

/// The managers that are to be retired from a child that is this Workload's already: one may have been named only now, or have
/// written again.
pub fn still_to_retire(child: ChildKind, live: &LiveObject, workload: &Workload) -> Option<Migration> {
    let retired = &workload.spec.retired_managers;
    if workload.spec.adoption == Adoption::Refuse || retired.is_empty() {
        return None;
    }
    Migration::to(FIELD_MANAGER, live, &[child.api_version()], |entry| is_named(entry, retired))
}

fn refusal(child: ChildKind, live: &LiveObject, advice: &str) -> String {
    let name = live.name_any();
    let owner = match (live.controller(), live.annotations().get("meta.helm.sh/release-name")) {
        (Some(controller), _) => format!("it is controlled by {controller}"),
        (None, Some(release)) => format!("it belongs to the Helm release {release}"),
        (None, None) => format!("it was made by {}", live.managers().join(", ")),
    };
    format!("{child} {name} exists and isn't this Workload's: {owner}; {advice}")
}

/// The advice about an object that is about other pods than a child of this Workload would be: an adoption never moves traffic, a
/// disruption budget or an autoscaler from one set of pods to another. None where it is about the same.
fn about_another_target(
    child: ChildKind,
    live: &LiveObject,
    workload: &Workload,
    selector: Option<&Selector>,
) -> Option<String> {
    let rest = "then it is adopted; or remove this part of the spec";
    if child == ChildKind::Autoscaler {
        let scaled = Autoscaler::of(live).filter(|(_, autoscaler)| autoscaler.scales == Scales::Deployment);
        if scaled.is_some_and(|(target, _)| target == ScaleTarget::of(workload)) {
            return None;
        }
        let target = live.get(&["spec", "scaleTargetRef"]);
        let part = |name| target.and_then(|target| target.get(name)?.as_str()).unwrap_or_default();
        let (deployment, own) = (ChildKind::Deployment, workload.name_any());
        return Some(format!(
            "it scales {} {} ({}); let it scale {deployment} {own} ({}), {rest}",
            part("kind"),
            part("name"),
            part("apiVersion"),
            deployment.api_version(),
        ));
    }
    let wanted = selector?.of_child(child)?;
    let found = selecting(child, live);
    let is_same = found.as_ref().is_some_and(|found| Normal::of(found) == Normal::of(&wanted));
    (!is_same).then(|| {
        let found = match found.as_ref().map(|found| selector::text(found).unwrap_or_default()) {
            None => "no pods".to_owned(),
            Some(text) if text.is_empty() => "all pods of the namespace".to_owned(),
            Some(text) => format!("pods by {text}"),
        };
        let wanted = selector::text(&wanted).unwrap_or_default();
        format!(
            "it selects {found}, and this Workload's are selected by {wanted}; if that selects the pods that it is for, \
             set its selector to it, {rest}"
        )
    })
}

/// The selector of a Service or a PodDisruptionBudget.
fn selecting(child: ChildKind, live: &LiveObject) -> Option<LabelSelector> {
    let selector = live.get(&["spec", "selector"])?.clone();
    if child == ChildKind::Service {
        return serde_json::from_value(selector).ok().map(selector::by_labels);
    }
    serde_json::from_value(selector).ok()
}

/// The advice about a controller that would be left beside Baton; none where there is no such controller.
fn about_another_controller(live: &LiveObject, retired: &[String]) -> Option<String> {
    let controller = live.owner_references().iter().find(|owner| owner.controller == Some(true))?;
    let uid = [("uid", Value::String(&controller.uid))];
    let path = [Field("metadata"), Field("ownerReferences"), Key(&uid)];
    let mut owners: Vec<String> =
        owners(live, Path::new(&path)).into_iter().map(|owner| owner.manager).collect();
    owners.sort();
    // Fields that are Baton's already go with the next apply.
    let goes = |owner: &String| owner == FIELD_MANAGER || retired.contains(owner);
    match owners.iter().find(|owner| !goes(owner)) {
        Some(owner) => Some(format!(
            "name {owner}, which made that reference, in spec.retiredManagers if it has nothing to say any more, or remove \
             the reference"
        )),
        None if owners.is_empty() => Some("remove that reference first".to_owned()),
        None => None,
    }
}

fn is_named(entry: &ManagedFieldsEntry<'_>, retired: &[String]) -> bool {
    retired.iter().any(|manager| entry.manager() == manager)
}
