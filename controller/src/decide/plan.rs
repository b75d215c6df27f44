//! From what was read to the next steps, as a pure function: no I/O, no memory, no clock.
//!
//! A plan that moves `spec.replicas` between owners holds that one move and says [`Then::PlanAgain`]: the next move is planned
//! from the server's response, never from a guess.

use std::collections::BTreeSet;

use baton_apply::{
    Change, FieldPath, Guard, LiveObject, Request, Revision, Takeover,
    ownership::{self, Migration, Release},
};
use baton_crd::{Adoption, HandoverPhase, Workload};

use super::{
    adoption::{self, AdoptionStep},
    child::ChildKind,
    intent::{self, Intent, IntentError, Selector},
    replicas::{Autoscaler, Move, REPLICAS, Wanted, first_number, temporary_owners},
    snapshot::{Snapshot, wanted_replicas, wants},
};
use crate::{FIELD_MANAGER, HANDOVER_MANAGER};

/// What to do next.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Steps in order. Steps of different children are independent; one that fails holds back only its own child's.
    pub steps: Vec<Step>,
    /// Children that aren't written because an object of another owner is there.
    pub refused: Vec<Refusal>,
    /// What comes after the steps.
    pub then: Then,
}

/// What comes after a plan's steps.
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
        /// What the live object has to be for the write to count.
        guard: Guard,
    },
    /// The live replica count, applied to the Deployment as the temporary manager, not forced.
    HandOver(Box<Request>),
    /// Takes `.spec.replicas` out of the temporary manager's entry of the Deployment's `managedFields`. What a user has applied under
    /// the same name stays.
    ReleaseTemporary(Release),
    /// Takes `.spec.replicas` out of stale `scale` entries of the Deployment's `managedFields`.
    ReleaseScale(Release),
    /// Makes what others own of an object Baton's, in its `managedFields`.
    Migrate {
        /// The child that the object is, or is to become.
        child: ChildKind,
        /// What changes.
        migration: Migration,
    },
    /// Deletes a child that the spec no longer wants.
    Delete {
        /// The child.
        child: ChildKind,
        /// The object that was seen; another one isn't deleted.
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

    /// Whether it makes its child.
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

    /// What other managers lose by a step that takes their name out of `managedFields`. The prediction of an apply has its own
    /// takeovers. An adoption is reported as a whole.
    pub fn releases(&self, seen: &Snapshot) -> Vec<Takeover> {
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
                let number = first_number(wanted_replicas(&seen.workload), None);
                let takeover = |manager: &String| Takeover {
                    path: REPLICAS.into(),
                    manager: manager.clone(),
                    old: seen.replicas().map(|replicas| replicas.count.to_string()),
                    new: number.map(|number| number.to_string()),
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

    /// What the step does, for a log line.
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
    /// Whose it is and what to do, for people.
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
    let movement = if is_untouched { Movement::Nothing } else { move_replicas(seen, &selector)? };
    let (deployment, then) = match movement {
        Movement::Transition(step) if !step.creates() => {
            return Ok(Plan { steps: vec![step], refused, then: Then::PlanAgain });
        }
        Movement::Transition(step) => (Some(step), Then::PlanAgain),
        Movement::Rest(step) => (Some(step), Then::Rest),
        Movement::Nothing => (None, Then::Rest),
    };
    let mut steps = deletions;
    let others = others(seen, &selector, &untouched)?;
    if deployment.as_ref().is_some_and(Step::creates) && seen.workload.spec.adoption == Adoption::Refuse {
        // A new Deployment is written by its controllers at once, so the moves of its number follow without a delay.
        steps.extend(others);
        steps.extend(deployment);
    } else {
        steps.extend(deployment);
        steps.extend(others);
    }
    Ok(Plan { steps, refused, then })
}

/// The children that the spec no longer wants.
fn deletions(seen: &Snapshot, held_back: &BTreeSet<ChildKind>) -> Vec<Step> {
    let unwanted = ChildKind::ALL.into_iter().filter(|kind| !wants(&seen.workload, *kind));
    unwanted
        .filter(|kind| !held_back.contains(kind))
        .filter_map(|child| seen.own(child).map(|live| (child, live)))
        .filter(|(_, live)| !live.is_terminating())
        .map(|(child, live)| Step::Delete { child, revision: live.revision() })
        .collect()
}

/// The next steps with objects that are in a child's place, and the refusals. The Deployment comes first: what its pods are
/// called decides what the others select.
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
            let others = seen.others_autoscalers();
            if child == ChildKind::Autoscaler && !others.is_empty() {
                refused.push(refusal(Cause::OtherAutoscaler, other_autoscaler(&others)));
            }
            continue;
        };
        match adoption::consider(child, live, workload, settled) {
            AdoptionStep::Refuse(message) => refused.push(refusal(Cause::NotOwned, message)),
            _ if live.is_terminating() => {}
            _ if child != ChildKind::Deployment && seen.own(ChildKind::Deployment).is_none() => {}
            _ if child == ChildKind::Autoscaler && !has_let_go(seen) => {}
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
        // An autoscaler that came before the handover would write a number that Baton still holds.
        let too_early = child == ChildKind::Autoscaler && !has_let_go(seen);
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
fn has_let_go(seen: &Snapshot) -> bool {
    seen.replicas().is_some_and(|replicas| !replicas.owners.baton)
}

enum Movement {
    /// A write after which the owners of the replica count have to be read again.
    Transition(Step),
    /// The Deployment's ordinary apply.
    Rest(Step),
    /// No write.
    Nothing,
}

fn move_replicas(seen: &Snapshot, selector: &Selector) -> Result<Movement, IntentError> {
    let workload = &seen.workload;
    if seen.foreign(ChildKind::Deployment).is_some() {
        return Ok(Movement::Nothing);
    }
    let live = seen.own(ChildKind::Deployment);
    if live.is_some_and(LiveObject::is_terminating) {
        return Ok(Movement::Nothing);
    }
    let apply = |replicas, guard| -> Result<Step, IntentError> {
        let intent = intent::deployment(workload, replicas, selector)?;
        let intent = intent.with_replicas_to_resume(seen.replicas_to_resume());
        Ok(Step::Apply { child: ChildKind::Deployment, intent, guard })
    };
    let next = seen.decision().next;
    let Some(live) = live else {
        let Move::Create(number) = next else { return Ok(Movement::Nothing) };
        let create = apply(number, Guard::Absent)?;
        let is_to_keep = matches!(wanted_replicas(workload), Wanted::Number(_) | Wanted::Suspended);
        return Ok(if is_to_keep || number.is_none() {
            Movement::Rest(create)
        } else {
            Movement::Transition(create)
        });
    };
    let (target, unchanged) = (ChildKind::Deployment.target(workload), Guard::Unchanged(live.revision()));
    let holds = !has_let_go(seen);
    Ok(match next {
        Move::Create(_) | Move::Wait => Movement::Nothing,
        Move::Set(number) => {
            let apply = apply(Some(number), unchanged)?;
            if holds { Movement::Rest(apply) } else { Movement::Transition(apply) }
        }
        Move::LeaveOut => {
            let apply = apply(None, unchanged)?;
            if holds { Movement::Transition(apply) } else { Movement::Rest(apply) }
        }
        Move::HandOver(_) => {
            let request = ownership::hand_over(target, live, REPLICAS, HANDOVER_MANAGER);
            request.map_or(Movement::Nothing, |request| Movement::Transition(Step::HandOver(request.into())))
        }
        Move::Claim(replicas) => Movement::Transition(apply(Some(replicas), unchanged)?),
        Move::ReleaseTemporary => {
            let owners = temporary_owners(live);
            Movement::Transition(Step::ReleaseTemporary(Release::new(live, REPLICAS, &owners)))
        }
        Move::ReleaseScale(owners) => {
            Movement::Transition(Step::ReleaseScale(Release::new(live, REPLICAS, &owners)))
        }
    })
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
