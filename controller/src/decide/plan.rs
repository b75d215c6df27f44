//! From what was read to the next steps, as a pure function: no I/O, no memory, no clock.
//!
//! A plan that moves `spec.replicas` between owners has that one move and [`Then::PlanAgain`]: the next move is planned from the
//! server's response, never from a guess. Who should own it is decided by [`replicas::decide`].

use std::collections::BTreeSet;

use baton_apply::{
    Change, Effects, FieldPath, Guard, LiveObject, Request, Revision, Takeover,
    ownership::{self, FieldRelease, Migration, Owner},
};
use baton_crd::{Adoption, HandoverPhase, Workload};

use super::{
    adoption::{self, AdoptionStep},
    autoscaler::Autoscaler,
    child::ChildKind,
    intent::{self, Intent, IntentError, Selector},
    owners::{REPLICAS, temporary_owners},
    replicas::{self, Move, Wanted, others_autoscalers},
    snapshot::Snapshot,
};
use crate::{FIELD_MANAGER, HANDOVER_MANAGER};

/// The next steps of a pass.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Steps in order. Steps of different children are independent; one that fails holds back only its own child's.
    pub steps: Vec<Step>,
    /// Children that aren't written because an object of another owner is there.
    pub refused: Vec<Refusal>,
    /// The continuation.
    pub then: Then,
}

/// The continuation of a pass after a plan's steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Then {
    /// Nothing, until something changes.
    #[default]
    Rest,
    /// Another plan, from the server's responses.
    PlanAgain,
}

/// One request to the API server.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A forced apply of a child's complete intent as `baton`.
    Apply {
        /// The child.
        child: ChildKind,
        /// Its intent.
        intent: Intent,
        /// The state of the live object without which the server refuses the write.
        guard: Guard,
    },
    /// The live replica count, applied to the Deployment as the temporary manager, not forced.
    HandOver(Box<Request>),
    /// Removes `.spec.replicas` from the temporary manager's entry of the Deployment's `managedFields`. Other fields of that entry stay.
    ReleaseTemporary(FieldRelease),
    /// Removes `.spec.replicas` from stale `scale` entries of the Deployment's `managedFields`.
    ReleaseScale(FieldRelease),
    /// Makes Baton the owner of other managers' fields, in an object's `managedFields`.
    Migrate {
        /// The child that the object is, or is to become.
        child: ChildKind,
        /// The change.
        migration: Migration,
    },
    /// Deletes a child that the spec no longer asks for.
    Delete {
        /// The child.
        child: ChildKind,
        /// The object that was read; another one isn't deleted.
        revision: Revision,
    },
}

impl Step {
    /// The child that the step is about.
    pub fn child(&self) -> ChildKind {
        match self {
            Self::Apply { child, .. } | Self::Migrate { child, .. } | Self::Delete { child, .. } => *child,
            Self::HandOver(_) | Self::ReleaseTemporary(_) | Self::ReleaseScale(_) => ChildKind::Deployment,
        }
    }

    /// Whether it creates its child.
    pub fn creates(&self) -> bool {
        matches!(self, Self::Apply { guard: Guard::Absent, .. })
    }

    /// The request that does it.
    ///
    /// # Errors
    /// When its JSON patch can't be written.
    pub fn request(&self, workload: &Workload) -> Result<Request, serde_json::Error> {
        let target = self.child().target(workload);
        match self {
            Self::Apply { intent, guard, .. } => {
                Ok(Request::apply(target, intent.as_value().clone(), FIELD_MANAGER, true, guard))
            }
            Self::HandOver(request) => Ok((**request).clone()),
            Self::ReleaseTemporary(release) | Self::ReleaseScale(release) => {
                release.request(target, FIELD_MANAGER)
            }
            Self::Migrate { migration, .. } => migration.request(target, FIELD_MANAGER),
            Self::Delete { revision, .. } => Ok(Request { target, change: Change::Delete(revision.clone()) }),
        }
    }

    /// The effects of a write of this step on single fields, beyond the `stored` effects of its prediction. Given the object `after`
    /// the write, the managers' losses are confirmed by it. The end of the temporary manager is no takeover.
    pub fn effects(&self, seen: &Snapshot, mut stored: Effects, after: Option<&LiveObject>) -> Effects {
        // A field that a user has applied under the temporary manager's name is the user's.
        let ends_handover =
            |takeover: &Takeover| takeover.manager == HANDOVER_MANAGER && takeover.path == REPLICAS.into();
        stored.takeovers.retain(|takeover| !ends_handover(takeover));
        let mut releases = self.releases(seen);
        if let (Some(before), Some(after)) = (seen.child(self.child()), after) {
            Takeover::retain_confirmed(&mut releases, before, after);
        }
        stored.takeovers.extend(releases);
        stored
    }

    /// The fields that other managers lose by a step that removes their name from `managedFields`. The prediction of an apply has its own
    /// takeovers. An adoption is reported as a whole.
    fn releases(&self, seen: &Snapshot) -> Vec<Takeover> {
        let Some(live) = seen.own(self.child()) else { return Vec::new() };
        match self {
            Self::ReleaseScale(release) => {
                // Taking the count back from a wanted autoscaler is no takeover; overwriting a scale of a fixed or suspended count is.
                let before =
                    seen.workload.status.as_ref().and_then(|status| status.replica_ownership.as_ref());
                let was_batons = |phase| matches!(phase, HandoverPhase::Fixed | HandoverPhase::Suspended);
                if !before.is_some_and(|before| was_batons(before.phase)) {
                    return Vec::new();
                }
                let new = Wanted::of(&seen.workload).initial_count(None);
                let takeover = |manager: &String| Takeover {
                    path: REPLICAS.into(),
                    manager: manager.clone(),
                    old: seen.replicas().map(|replicas| replicas.count.to_string()),
                    new: new.map(|count| count.to_string()),
                };
                release.managers.iter().map(takeover).collect()
            }
            Self::Migrate { migration, .. } => {
                let of_manager = |manager: &String| {
                    let takeover =
                        |path: FieldPath| Takeover { path, manager: manager.clone(), old: None, new: None };
                    live.paths_owned_by(manager).into_iter().map(takeover).collect::<Vec<_>>()
                };
                migration.retired.iter().flat_map(of_manager).collect()
            }
            Self::Apply { .. } | Self::HandOver(_) | Self::ReleaseTemporary(_) | Self::Delete { .. } => {
                Vec::new()
            }
        }
    }

    /// The step as text, for a log line.
    pub fn describe(&self) -> &'static str {
        match self {
            Self::Apply { .. } if self.creates() => "create",
            Self::Apply { .. } => "apply",
            Self::HandOver(_) => "hand replicas over to the temporary manager",
            Self::ReleaseTemporary(_) => "release the temporary manager",
            Self::ReleaseScale(_) => "release stale scale entries",
            Self::Migrate { .. } => "make what retired managers own Baton's",
            Self::Delete { .. } => "delete",
        }
    }
}

/// A child that isn't written because an object of another owner is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The child.
    pub child: ChildKind,
    /// Why.
    pub cause: Cause,
    /// The owner and the advice, as text.
    pub message: String,
}

/// Why a child is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// An object of its name exists and isn't this Workload's. No watch reports when that changes.
    NotOwned,
    /// Another HorizontalPodAutoscaler scales the Deployment; two would disable each other.
    OtherAutoscaler,
    /// The Deployment's selector names no label that a Service could select by.
    NoLabels,
}

/// Plans the next steps, whatever the Workload's mode: the caller decides whether to do them or only to report them. `held_back`
/// names children that must not be written now.
///
/// # Errors
/// When the Workload can't be written as an intent.
pub fn plan(seen: &Snapshot, held_back: &BTreeSet<ChildKind>) -> Result<Plan, IntentError> {
    if seen.workload.metadata.deletion_timestamp.is_some() {
        return Ok(Plan::default());
    }
    let deletions = deletions(seen, held_back);
    if deletions.iter().any(|step| step.child() == ChildKind::Autoscaler) {
        // The count is taken back only once no manager scales any more.
        return Ok(Plan { steps: deletions, refused: Vec::new(), then: Then::PlanAgain });
    }
    let (adoptions, refused) = adoptions(seen, held_back)?;
    let untouched: BTreeSet<ChildKind> =
        refused.iter().map(|refusal| refusal.child).chain(held_back.iter().copied()).collect();
    if !adoptions.is_empty() {
        return Ok(Plan { steps: adoptions, refused, then: Then::PlanAgain });
    }
    let selector = selector(seen);
    let is_untouched = untouched.contains(&ChildKind::Deployment);
    let (deployment, then) =
        if is_untouched { (None, Then::Rest) } else { deployment_step(seen, &selector)? };
    if then == Then::PlanAgain && deployment.as_ref().is_some_and(|step| !step.creates()) {
        return Ok(Plan { steps: Vec::from_iter(deployment), refused, then });
    }
    let mut steps = deletions;
    let others = others(seen, &selector, &untouched)?;
    if deployment.as_ref().is_some_and(Step::creates) && seen.workload.spec.adoption == Adoption::Refuse {
        // Its controllers write a new Deployment at once. It comes last, so that the moves of its replica count follow without a delay.
        steps.extend(others);
        steps.extend(deployment);
    } else {
        steps.extend(deployment);
        steps.extend(others);
    }
    Ok(Plan { steps, refused, then })
}

/// Deletes the children that the spec no longer asks for.
fn deletions(seen: &Snapshot, held_back: &BTreeSet<ChildKind>) -> Vec<Step> {
    let unwanted = ChildKind::ALL.into_iter().filter(|kind| !wants(&seen.workload, *kind));
    unwanted
        .filter(|kind| !held_back.contains(kind))
        .filter_map(|child| seen.own(child).map(|live| (child, live)))
        .filter(|(_, live)| !live.is_terminating())
        .map(|(child, live)| Step::Delete { child, revision: live.revision() })
        .collect()
}

/// The next steps with objects that have a child's name, and the refusals. The Deployment comes first: the labels of its pods decide what
/// the others select.
fn adoptions(
    seen: &Snapshot,
    held_back: &BTreeSet<ChildKind>,
) -> Result<(Vec<Step>, Vec<Refusal>), IntentError> {
    let (mut steps, mut refused) = (Vec::new(), Vec::new());
    let workload = &seen.workload;
    let selector = selector(seen);
    let settled = seen.own(ChildKind::Deployment).map(|_| &selector);
    for child in ChildKind::ALL {
        if !wants(workload, child) || held_back.contains(&child) {
            continue;
        }
        if child == ChildKind::Service && selector.labels().is_empty() {
            refused.push(Refusal { child, cause: Cause::NoLabels, message: no_labels(&selector) });
            continue;
        }
        if let Some(live) = seen.own(child) {
            let left = adoption::still_to_retire(child, live, workload).filter(|_| !live.is_terminating());
            steps.extend(left.map(|migration| Step::Migrate { child, migration }));
            continue;
        }
        let refusal = |cause, message| Refusal { child, cause, message };
        let Some(live) = seen.foreign(child) else {
            let others = others_autoscalers(seen);
            if child == ChildKind::Autoscaler && !others.is_empty() {
                refused.push(refusal(Cause::OtherAutoscaler, other_autoscaler(&others)));
            }
            continue;
        };
        match adoption::consider(child, live, workload, settled) {
            AdoptionStep::Refuse(message) => refused.push(refusal(Cause::NotOwned, message)),
            _ if live.is_terminating() => {}
            _ if child != ChildKind::Deployment && seen.own(ChildKind::Deployment).is_none() => {}
            _ if child == ChildKind::Autoscaler && !is_released(seen) => {}
            AdoptionStep::Migrate(migration) => steps.push(Step::Migrate { child, migration }),
            AdoptionStep::Apply => steps.extend(adopt(seen, child, live)?),
        }
    }
    Ok((steps, refused))
}

/// The apply that makes an object a child. A Deployment keeps its replica count: the owner that the spec names gets it
/// from there.
fn adopt(seen: &Snapshot, child: ChildKind, live: &LiveObject) -> Result<Option<Step>, IntentError> {
    let workload = &seen.workload;
    let intent = match child {
        ChildKind::Deployment => {
            let selector = Selector::of(workload, Some(live));
            Some(intent::deployment(workload, live.number(&["spec", "replicas"]), &selector)?)
        }
        _ => intent::child(workload, child, &selector(seen))?,
    };
    Ok(intent.map(|intent| Step::Apply { child, intent, guard: Guard::Unchanged(live.revision()) }))
}

fn selector(seen: &Snapshot) -> Selector {
    Selector::of(&seen.workload, seen.own(ChildKind::Deployment))
}

/// The children other than the Deployment.
fn others(
    seen: &Snapshot,
    selector: &Selector,
    untouched: &BTreeSet<ChildKind>,
) -> Result<Vec<Step>, IntentError> {
    let mut steps = Vec::new();
    for child in [ChildKind::Service, ChildKind::Autoscaler, ChildKind::DisruptionBudget] {
        // An autoscaler that came before the handover would write a count that Baton still owns.
        let too_early = child == ChildKind::Autoscaler && !is_released(seen);
        let live = seen.own(child);
        if untouched.contains(&child)
            || !wants(&seen.workload, child)
            || too_early
            || live.is_some_and(LiveObject::is_terminating)
            || seen.foreign(child).is_some()
        {
            continue;
        }
        if let Some(intent) = intent::child(&seen.workload, child, selector)? {
            // Another replica of Baton or another shard may have written it since.
            let guard = live.map_or(Guard::Absent, |live| Guard::Unchanged(live.revision()));
            steps.push(Step::Apply { child, intent, guard });
        }
    }
    Ok(steps)
}

/// Whether Baton doesn't own the replica count.
fn is_released(seen: &Snapshot) -> bool {
    seen.replicas().is_some_and(|replicas| !replicas.owners.baton)
}

/// The next step with the Deployment, by the decision about its replica count; none where nothing is to be written. After a move of the
/// count, its owners have to be read again.
fn deployment_step(seen: &Snapshot, selector: &Selector) -> Result<(Option<Step>, Then), IntentError> {
    const NOTHING: (Option<Step>, Then) = (None, Then::Rest);
    let (workload, live) = (&seen.workload, seen.own(ChildKind::Deployment));
    if seen.foreign(ChildKind::Deployment).is_some() || live.is_some_and(LiveObject::is_terminating) {
        return Ok(NOTHING);
    }
    let guard = live.map_or(Guard::Absent, |live| Guard::Unchanged(live.revision()));
    let apply = |replicas, is_at_rest| -> Result<(Option<Step>, Then), IntentError> {
        let intent = intent::deployment(workload, replicas, selector)?;
        let intent = intent.with_replicas_to_resume(replicas::count_to_resume(seen));
        let step = Step::Apply { child: ChildKind::Deployment, intent, guard: guard.clone() };
        Ok((Some(step), if is_at_rest { Then::Rest } else { Then::PlanAgain }))
    };
    let (next, baton_owns) = (replicas::decide(seen).next, !is_released(seen));
    let Some(live) = live else {
        let Move::Create(count) = next else { return Ok(NOTHING) };
        let is_batons = matches!(Wanted::of(workload), Wanted::Fixed(_) | Wanted::Suspended);
        return apply(count, is_batons || count.is_none());
    };
    let release = |owners: &[Owner]| FieldRelease::new(live, REPLICAS, owners);
    let step = match next {
        Move::Create(_) | Move::Wait => return Ok(NOTHING),
        Move::Set(count) => return apply(Some(count), baton_owns),
        Move::LeaveOut => return apply(None, !baton_owns),
        Move::Claim(count) => return apply(Some(count), false),
        Move::HandOver(_) => {
            let target = ChildKind::Deployment.target(workload);
            match ownership::hand_over(target, live, REPLICAS, HANDOVER_MANAGER) {
                Some(request) => Step::HandOver(request.into()),
                None => return Ok(NOTHING),
            }
        }
        Move::ReleaseTemporary => Step::ReleaseTemporary(release(&temporary_owners(live))),
        Move::ReleaseScale(owners) => Step::ReleaseScale(release(&owners)),
    };
    Ok((Some(step), Then::PlanAgain))
}

/// Whether the Workload asks for a child of this kind.
pub fn wants(workload: &Workload, kind: ChildKind) -> bool {
    match kind {
        ChildKind::Deployment => true,
        ChildKind::Service => workload.spec.service.is_some(),
        ChildKind::Autoscaler => Wanted::of(workload).has_own_autoscaler(),
        ChildKind::DisruptionBudget => workload.spec.disruption_budget.is_some(),
    }
}

fn no_labels(selector: &Selector) -> String {
    format!(
        "a Service can't select the Deployment's pods: it selects by labels, and the Deployment's selector, {}, gives none a value; \
         remove spec.service, and select the pods by a Service of your own",
        selector.to_text().unwrap_or_default()
    )
}

fn other_autoscaler(others: &[Autoscaler]) -> String {
    let names: Vec<&str> = others.iter().map(|other| other.name.as_str()).collect();
    format!(
        "another HorizontalPodAutoscaler scales the Deployment already: {}. Two would stop each other: delete it, or set \
         spec.autoscaling.external in the place of an autoscaler of Baton's",
        names.join(", ")
    )
}
