//! From what was seen to the next steps: the thinking of the operator, as a pure function.
//!
//! It does no I/O, keeps no memory and reads no clock. A plan that moves `spec.replicas` between owners holds that one
//! move and says [`Then::LookAgain`]: the next move is planned from the server's answer, never from a guess.

use std::collections::BTreeSet;

use baton_crd::{Adoption, HandoverPhase};
use kube::ResourceExt;

use crate::{
    child::ChildKind,
    handover::{self, Move, Wanted},
    intent::{self, Intent, IntentError},
    live::{Live, Revision, ScaleEntry},
    observe::{Observed, wanted_replicas, wants},
    predict::Take,
};

/// What to do next.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Steps in order. Steps of different children are independent; one that fails holds back only its own child's.
    pub steps: Vec<Step>,
    /// Children that exist and aren't this Workload's: left untouched.
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
    /// Another plan, from what the server answered.
    LookAgain,
}

/// One request to the API server.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A forced apply of a child's complete intent as `baton`.
    Apply {
        /// The child.
        child: ChildKind,
        /// What it should look like.
        intent: Intent,
        /// What the live object has to be for the write to count.
        guard: Guard,
    },
    /// The live number alone, applied to the Deployment as the temporary manager, not forced.
    HandOver {
        /// The live number.
        replicas: i32,
        /// The Deployment it was read from.
        revision: Revision,
    },
    /// An empty apply as the temporary manager: it gives up what it holds of the Deployment.
    ReleaseTemporary {
        /// The Deployment as it was seen, with Baton holding the number too.
        revision: Revision,
    },
    /// Takes `.spec.replicas` out of stale `scale` entries of the Deployment's `managedFields`.
    ReleaseScale {
        /// The entries.
        entries: Vec<ScaleEntry>,
        /// The Deployment they were read from.
        revision: Revision,
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
            Self::Apply { child, .. } | Self::Delete { child, .. } => *child,
            Self::HandOver { .. } | Self::ReleaseTemporary { .. } | Self::ReleaseScale { .. } => {
                ChildKind::Deployment
            }
        }
    }

    /// What other managers lose by a step that takes their name out of `managedFields`. What an apply takes is for the
    /// prediction to say.
    pub fn releases(&self, seen: &Observed) -> Vec<Take> {
        let Self::ReleaseScale { entries, .. } = self else { return Vec::new() };
        let Some(live) = seen.own(ChildKind::Deployment) else { return Vec::new() };
        // The way back from an autoscaler that was wanted isn't news; that somebody scaled a fixed number is.
        let before = seen.workload.status.as_ref().and_then(|status| status.replica_ownership.as_ref());
        if before.is_none_or(|before| before.phase != HandoverPhase::Fixed) {
            return Vec::new();
        }
        let take = |entry: &ScaleEntry| Take {
            path: ".spec.replicas".to_owned(),
            manager: entry.manager.clone(),
            old: Some(live.replicas().to_string()),
            new: seen.workload.spec.replicas.map(|number| number.to_string()),
        };
        entries.iter().map(take).collect()
    }

    /// What the step does, for a log line.
    pub fn describe(&self) -> &'static str {
        match self {
            Self::Apply { guard: Guard::Create, .. } => "create",
            Self::Apply { .. } => "apply",
            Self::HandOver { .. } => "hand replicas over to the temporary manager",
            Self::ReleaseTemporary { .. } => "release the temporary manager",
            Self::ReleaseScale { .. } => "release stale scale entries",
            Self::Delete { .. } => "delete",
        }
    }
}

/// What an apply requires of the live object. The server checks it: a write that doesn't meet it is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Guard {
    /// None: the object wasn't there when last looked for.
    Create,
    /// It is still the same object; the apply never brings a deleted one back.
    SameObject(String),
    /// It is still the same object and nobody has written to it since.
    Unchanged(Revision),
}

/// A child that exists and isn't this Workload's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The child.
    pub child: ChildKind,
    /// Who owns it and what to do, for people.
    pub message: String,
}

/// Plans the next steps, whatever the Workload's mode: who calls decides whether they are done or only told. `held_back`
/// names children that aren't to be touched now.
///
/// # Errors
/// When the Workload can't be written as an intent.
pub fn plan(seen: &Observed, held_back: &BTreeSet<ChildKind>) -> Result<Plan, IntentError> {
    let workload = &seen.workload;
    if workload.metadata.deletion_timestamp.is_some() {
        return Ok(Plan::default());
    }
    let refused: Vec<Refusal> = ChildKind::ALL
        .into_iter()
        .filter(|kind| wants(workload, *kind) && !held_back.contains(kind))
        .filter_map(|kind| seen.foreign(kind).map(|live| refusal(kind, live, workload.spec.adoption)))
        .collect();
    let untouched: BTreeSet<ChildKind> =
        refused.iter().map(|refusal| refusal.child).chain(held_back.iter().copied()).collect();

    let deletions: Vec<Step> = ChildKind::ALL
        .into_iter()
        .filter(|kind| !wants(workload, *kind) && !held_back.contains(kind))
        .filter_map(|child| seen.own(child).map(|live| (child, live)))
        .filter(|(_, live)| !live.is_terminating())
        .map(|(child, live)| Step::Delete { child, revision: live.revision() })
        .collect();
    if deletions.iter().any(|step| step.child() == ChildKind::Autoscaler) {
        // The number is taken back only once nobody scales any more.
        return Ok(Plan { steps: deletions, refused, then: Then::LookAgain });
    }

    let deployment =
        if untouched.contains(&ChildKind::Deployment) { Movement::Nothing } else { move_replicas(seen)? };
    let mut steps = deletions;
    let deployment = match deployment {
        Movement::Transition(transition) => {
            return Ok(Plan { steps: transition, refused, then: Then::LookAgain });
        }
        Movement::Rest(step) => Some(step),
        Movement::Nothing => None,
    };
    let handed_over = seen.own(ChildKind::Deployment).is_some_and(|live| !live.replica_holders().baton)
        || deployment
            .as_ref()
            .is_some_and(|step| matches!(step, Step::Apply { guard: Guard::Unchanged(_), .. }));
    steps.extend(deployment);
    for child in [ChildKind::Service, ChildKind::Autoscaler, ChildKind::DisruptionBudget] {
        // An autoscaler that came before the handover would write a number that Baton still holds.
        let too_early = child == ChildKind::Autoscaler && !handed_over;
        if untouched.contains(&child) || too_early {
            continue;
        }
        let live = seen.own(child);
        if live.is_some_and(Live::is_terminating) {
            continue;
        }
        if let Some(intent) = intent::child(workload, child)? {
            let guard = live.map_or(Guard::Create, |live| Guard::SameObject(live.revision().uid));
            steps.push(Step::Apply { child, intent, guard });
        }
    }
    Ok(Plan { steps, refused, then: Then::Rest })
}

enum Movement {
    /// A write after which the number's holders have to be read again.
    Transition(Vec<Step>),
    /// The Deployment's ordinary apply.
    Rest(Step),
    /// No write.
    Nothing,
}

fn move_replicas(seen: &Observed) -> Result<Movement, IntentError> {
    let workload = &seen.workload;
    let live = seen.own(ChildKind::Deployment);
    if live.is_some_and(Live::is_terminating) {
        return Ok(Movement::Nothing);
    }
    let revision = live.map(Live::revision);
    let apply = |replicas, guard| -> Result<Step, IntentError> {
        let intent = intent::deployment(workload, replicas)?;
        Ok(Step::Apply { child: ChildKind::Deployment, intent, guard })
    };
    let wanted = wanted_replicas(workload);
    let decision = handover::decide(wanted, &seen.replicas());
    let Some(revision) = revision else {
        let Move::Create(number) = decision.next else { return Ok(Movement::Nothing) };
        let create = apply(number, Guard::Create)?;
        return Ok(match wanted {
            Wanted::Autoscaler { .. } => Movement::Transition(vec![create]),
            Wanted::Number(_) | Wanted::HandsOff => Movement::Rest(create),
        });
    };
    Ok(match decision.next {
        Move::Create(_) | Move::Hold => Movement::Nothing,
        Move::Set(number) => Movement::Rest(apply(Some(number), Guard::SameObject(revision.uid))?),
        Move::LeaveOut => Movement::Rest(apply(None, Guard::Unchanged(revision))?),
        Move::HandOver(replicas) => Movement::Transition(vec![Step::HandOver { replicas, revision }]),
        Move::TakeBack(replicas) => {
            Movement::Transition(vec![apply(Some(replicas), Guard::Unchanged(revision))?])
        }
        // One release a plan: the first moves the resourceVersion that guards the second.
        Move::Release { temporary: true, .. } => {
            Movement::Transition(vec![Step::ReleaseTemporary { revision }])
        }
        Move::Release { scale: entries, .. } => {
            Movement::Transition(vec![Step::ReleaseScale { entries, revision }])
        }
    })
}

fn refusal(child: ChildKind, live: &Live, adoption: Adoption) -> Refusal {
    let name = live.name_any();
    let owner = match live.controller() {
        Some(controller) => format!("it is controlled by {controller}"),
        None => format!("it was made by {}", live.managers().join(", ")),
    };
    let advice = match adoption {
        Adoption::Refuse => "delete or rename it, or give the Workload another name",
        Adoption::Adopt => {
            "this release of Baton can't adopt it yet: delete or rename it, or give the Workload another name"
        }
    };
    Refusal { child, message: format!("{child} {name} exists and isn't this Workload's: {owner}; {advice}") }
}
