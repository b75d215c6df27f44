//! Bugs that the operator could have. They change what the real code sees, receives and sends, and show that the model finds
//! such bugs.

use baton_apply::{Change, Guard, LiveObject, Prediction, PreparedWrite, Request};
use baton_controller::{
    FIELD_MANAGER, HANDOVER_MANAGER,
    decide::{
        child::ChildKind,
        intent::{self, Selector},
        plan::Step,
        snapshot::Snapshot,
    },
};
use clap::ValueEnum;
use serde_json::{Value, json};

use super::cluster::{Cluster, Scaler, Spec};

/// A bug, or half of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum)]
pub enum Fault {
    /// Releases the field before another manager owns it.
    ReleaseFirst,
    /// Forces the apply of the temporary manager. Harmless: the guard is enough.
    ForceTemporary,
    /// Doesn't guard the apply of the temporary manager. It isn't forced, so it breaks a promise only if no manager owns the field
    /// any more.
    UnguardedTemporary,
    /// Forces the apply of the temporary manager, and doesn't guard it.
    ForceUnguardedTemporary,
    /// Decides by the caches alone, and guards nothing by the resourceVersion.
    TrustCache,
    /// Recognises an autoscaler only by the manager name `kube-controller-manager`.
    MatchByName,
    /// Creates its autoscaler before it releases the field.
    AutoscalerFirst,
    /// Takes the field back before it deletes its autoscaler.
    TakeBackFirst,
    /// Doesn't guard its apply of the Deployment, so it may apply an old replica count.
    UnguardedClaim,
    /// Applies the Workload's replica count without applying the live count first.
    SpecAtOnce,
    /// Releases the temporary manager while no other manager owns the field.
    ReleaseTemporaryAlone,
    /// Ignores the autoscalers of other owners.
    BlindToOthers,
    /// Guards nothing by the resourceVersion.
    Unguarded,
    /// Guards by the resourceVersion at the time of the request, not by that of the plan.
    GuardTooLate,
    /// Skips a write that changes no value, even if it changes an owner.
    SkipsOwnership,
    /// Doesn't guard a creation, so the object may already exist.
    UnguardedCreation,
    /// Suspends the Workload without recording the replica count.
    ForgetsOnSuspend,
}

impl Fault {
    /// All of them.
    pub fn all() -> &'static [Self] {
        Self::value_variants()
    }

    /// Its name on command lines.
    pub fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// Whether it is half of a bug, which the other protection compensates.
    pub fn is_harmless(self) -> bool {
        self == Self::ForceTemporary
    }

    /// Whether reads past the caches get what the caches show.
    pub(crate) fn reads_from_cache(self) -> bool {
        self == Self::TrustCache
    }

    /// A Deployment as the operator sees it.
    pub(crate) fn shown(self, live: &LiveObject) -> LiveObject {
        if self != Self::MatchByName {
            return live.clone();
        }
        let mut object = live.as_json().expect("the model's objects are shallow").clone();
        let entries = object["metadata"]["managedFields"].as_array_mut();
        for entry in entries.into_iter().flatten().filter_map(Value::as_object_mut) {
            if entry.get("manager").is_none_or(|manager| manager != Scaler::Own.manager()) {
                entry.remove("subresource");
            }
        }
        LiveObject::from_json(object).expect("it was an object before")
    }

    /// The cluster as the operator sees it in a pass with this spec. `scaler_owns` is whether an autoscaler, or the temporary
    /// manager, still owns the replica count.
    pub(super) fn seen(self, cluster: Cluster, spec: Spec, scaler_owns: bool) -> Cluster {
        match self {
            Self::BlindToOthers => Cluster { theirs: false, ..cluster },
            Self::TakeBackFirst if matches!(spec, Spec::Number(_)) && scaler_owns => {
                Cluster { own: None, ..cluster }
            }
            _ => cluster,
        }
    }

    /// The steps to do instead of a step.
    pub(super) fn steps(self, step: Step, seen: &Snapshot) -> Vec<Step> {
        let request = step.request(&seen.workload).expect("the model's steps can be written");
        match self.instead(&request, seen) {
            None => vec![step],
            Some(Instead { other, and_itself }) => {
                [other].into_iter().chain(and_itself.then_some(step)).collect()
            }
        }
    }

    /// The step instead of a request, or before it.
    pub(crate) fn instead(self, request: &Request, seen: &Snapshot) -> Option<Instead> {
        if self == Self::AutoscalerFirst {
            let other = autoscaler(seen).filter(|_| hands_over(request))?;
            return Some(Instead { other, and_itself: true });
        }
        self.other(request, seen).map(|other| Instead { other, and_itself: false })
    }

    fn other(self, request: &Request, seen: &Snapshot) -> Option<Step> {
        let live = seen.own(ChildKind::Deployment)?;
        let apply = |replicas| {
            let selector = Selector::of(&seen.workload, Some(live));
            let intent = intent::deployment(&seen.workload, replicas, &selector).ok()?;
            let guard = Guard::Unchanged(live.revision());
            Some(Step::Apply { child: ChildKind::Deployment, intent, guard })
        };
        if self == Self::ReleaseFirst && hands_over(request) {
            return apply(None);
        }
        let body = applied_deployment(request).filter(|_| request.requires_unchanged())?;
        let spec = &seen.workload.spec;
        let has_number = body["spec"].get("replicas").is_some();
        let owners = &seen.replicas()?.owners;
        let temporary_alone = owners.temporary && !owners.baton && owners.scale.is_empty();
        match (self, spec.replicas) {
            (Self::SpecAtOnce, Some(number)) if has_number && spec.autoscaling.is_none() => {
                apply(Some(number))
            }
            (Self::ReleaseTemporaryAlone, _) if temporary_alone && spec.autoscaling.is_some() => {
                let target = ChildKind::Deployment.target(&seen.workload);
                let nothing = json!({
                    "apiVersion": target.resource.api_version, "kind": target.resource.kind, "metadata": {"name": target.name},
                });
                let guard = Guard::Unchanged(live.revision());
                let request = Request::apply(target, nothing, HANDOVER_MANAGER, false, &guard);
                Some(Step::HandOver(request.into()))
            }
            _ => None,
        }
    }

    /// Whether the fault skips a write.
    pub(super) fn skips(self, write: &PreparedWrite) -> bool {
        self == Self::SkipsOwnership
            && matches!(&write.prediction, Ok(Prediction::Stored(stored))
                if stored.effects.sets.is_empty() && stored.effects.removes.is_empty())
    }

    /// The request to send instead of this one.
    pub(crate) fn request(self, mut request: Request) -> Request {
        let temporary = hands_over(&request);
        let forces = matches!(self, Self::ForceTemporary | Self::ForceUnguardedTemporary);
        let unguarded = match self {
            Self::UnguardedTemporary | Self::ForceUnguardedTemporary => temporary,
            Self::UnguardedClaim => applied_deployment(&request).is_some(),
            Self::UnguardedCreation => creates(&request),
            Self::TrustCache | Self::Unguarded => true,
            _ => false,
        };
        if let Change::Apply { force, body, .. } = &mut request.change {
            *force |= temporary && forces;
            if let Some(metadata) = body["metadata"].as_object_mut()
                && self == Self::ForgetsOnSuspend
            {
                metadata.remove("annotations");
            }
        }
        if unguarded { guarded_by(request, None) } else { request }
    }

    /// A request as it is sent, when the live object is this one.
    pub(crate) fn as_it_is_sent(self, request: Request, live: Option<&LiveObject>) -> Request {
        match live {
            Some(live) if self == Self::GuardTooLate => {
                guarded_by(request, Some(&live.revision().resource_version))
            }
            _ => request,
        }
    }
}

/// The step instead of a request.
pub(crate) struct Instead {
    pub(crate) other: Step,
    /// Whether the request is also sent, afterwards.
    pub(crate) and_itself: bool,
}

/// Whether a request is the apply of the temporary manager.
pub(crate) fn hands_over(request: &Request) -> bool {
    matches!(&request.change, Change::Apply { manager, body, .. }
        if manager == HANDOVER_MANAGER && body["spec"].get("replicas").is_some())
}

/// The body of a request in which Baton applies a Deployment.
pub(crate) fn applied_deployment(request: &Request) -> Option<&Value> {
    let is_deployment = ChildKind::of(&request.target) == Some(ChildKind::Deployment);
    match &request.change {
        Change::Apply { manager, body, .. } if manager == FIELD_MANAGER && is_deployment => Some(body),
        _ => None,
    }
}

/// Whether a request creates its object.
pub(crate) fn creates(request: &Request) -> bool {
    matches!(&request.change, Change::Apply { body, .. } if body["metadata"].get("uid").is_none())
}

/// A request with this resourceVersion in its guard, or without one.
pub(crate) fn guarded_by(mut request: Request, version: Option<&str>) -> Request {
    match &mut request.change {
        Change::Apply { body, .. } => {
            if let Some(metadata) = body["metadata"].as_object_mut()
                && let Some(guard) = metadata.get_mut("resourceVersion")
            {
                match version {
                    Some(version) => *guard = version.into(),
                    None => drop(metadata.remove("resourceVersion")),
                }
            }
        }
        Change::Patch { operations, .. } => {
            let path = json!("/metadata/resourceVersion");
            let mut changed = serde_json::to_value(&*operations).unwrap_or_default();
            if let Some(operations) = changed.as_array_mut() {
                let is_guard = |operation: &Value| operation["op"] == "test" && operation["path"] == path;
                match version {
                    Some(version) => operations
                        .iter_mut()
                        .filter(|operation| is_guard(operation))
                        .for_each(|operation| operation["value"] = version.into()),
                    None => operations.retain(|operation| !is_guard(operation)),
                }
            }
            *operations = serde_json::from_value(changed).expect("it was a patch before");
        }
        Change::Delete(revision) => version.unwrap_or_default().clone_into(&mut revision.resource_version),
    }
    request
}

/// The creation of Baton's autoscaler, where there is none.
fn autoscaler(seen: &Snapshot) -> Option<Step> {
    let selector = Selector::of(&seen.workload, seen.own(ChildKind::Deployment));
    let intent = intent::child(&seen.workload, ChildKind::Autoscaler, &selector).ok().flatten()?;
    let missing = seen.own(ChildKind::Autoscaler).is_none();
    missing.then_some(Step::Apply { child: ChildKind::Autoscaler, intent, guard: Guard::Absent })
}
