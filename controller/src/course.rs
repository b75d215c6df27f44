//! The course of one pass in the mode `Enforce`: what to look at, what to write, and what to make of each answer.
//!
//! A state machine without I/O: whoever runs it makes the requests and tells how they ended. So the loop can be run against
//! a real API server and, request by request, against a model of one. Refuses to know of time: how long something is left
//! alone is decided elsewhere.

use std::collections::{BTreeSet, VecDeque};

use baton_crd::Workload;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::{
    autoscalers::Autoscaler,
    child::ChildKind,
    intent::IntentError,
    live::Live,
    observe::{Observed, wants},
    plan::{Guard, Plan, Refusal, Step, Then, plan},
};

/// The longest way through the handover takes five plans (migrate, adopt, hand over, let go, rest; or delete the autoscaler,
/// take back, release twice, set). Beyond that somebody else is writing at the same time; the next pass goes on.
pub(crate) const MOST_PLANS: usize = 10;

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Read something from the API server, past every cache.
    Look(Look),
    /// Make a write.
    Write(Step),
    /// Nothing more.
    Done,
}

/// What to read from the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Look {
    /// The Workload: answered by [`Course::saw_workload`].
    Workload,
    /// A child: answered by [`Course::saw_child`].
    Child(ChildKind),
    /// The HorizontalPodAutoscalers that scale the Deployment: answered by [`Course::saw_autoscalers`].
    Autoscalers,
}

/// What a move of `spec.replicas` rests on, and an autoscaler that is to be created. Caches lag behind, each on its own, so
/// all of it is read anew before the first move of a pass; what follows is planned from the server's answers, and guarded.
const GROUNDS: [Look; 4] = [
    Look::Workload,
    Look::Child(ChildKind::Deployment),
    Look::Child(ChildKind::Autoscaler),
    Look::Autoscalers,
];

/// One pass while it is under way.
#[derive(Clone, Debug)]
pub struct Course {
    seen: Observed,
    /// Children that nothing more is tried for.
    held_back: BTreeSet<ChildKind>,
    to_look: BTreeSet<Look>,
    /// What was read from the server in this pass.
    fresh: BTreeSet<Look>,
    to_write: VecDeque<Step>,
    /// What comes after the writes.
    then: Then,
    plans: usize,
    /// Whether the Workload's spec isn't the one that is planned from any more.
    is_outdated: bool,
    /// Children that aren't written because of somebody else's object.
    pub refused: Vec<Refusal>,
}

impl Course {
    /// A pass that begins with this, and leaves these children alone.
    pub fn new(seen: Observed, held_back: BTreeSet<ChildKind>) -> Self {
        let to_look = about_to_be_created(&seen, &held_back).into_iter().map(Look::Child).collect();
        Self {
            seen,
            held_back,
            to_look,
            fresh: BTreeSet::new(),
            to_write: VecDeque::new(),
            then: Then::LookAgain,
            plans: 0,
            is_outdated: false,
            refused: Vec::new(),
        }
    }

    /// What was seen up to now, with the server's answers in it.
    pub fn seen(&self) -> &Observed {
        &self.seen
    }

    /// What comes next, once what came before was answered.
    ///
    /// # Errors
    /// When the Workload can't be written as an intent.
    pub fn go_on(&mut self) -> Result<Next, IntentError> {
        loop {
            if let Some(step) = self.to_write.pop_front() {
                return Ok(Next::Write(step));
            }
            if let Some(look) = self.to_look.pop_first() {
                self.fresh.insert(look);
                return Ok(Next::Look(look));
            }
            if self.is_outdated || self.is_settled() || self.plans == MOST_PLANS {
                return Ok(Next::Done);
            }
            self.plan()?;
        }
    }

    /// What was seen in the end, and the children that weren't written because of somebody else's object.
    pub fn into_parts(self) -> (Observed, Vec<Refusal>) {
        (self.seen, self.refused)
    }

    /// Whether the last plan had nothing left to do.
    pub fn is_settled(&self) -> bool {
        self.then == Then::Rest && self.to_write.is_empty() && self.to_look.is_empty()
    }

    fn plan(&mut self) -> Result<(), IntentError> {
        let Plan { steps, refused, then } = plan(&self.seen, &self.held_back)?;
        let moves = then == Then::LookAgain && steps.iter().any(moves_replicas);
        if moves || steps.iter().any(lets_scale) {
            self.to_look = GROUNDS.into_iter().filter(|look| !self.fresh.contains(look)).collect();
            if !self.to_look.is_empty() {
                return Ok(());
            }
        }
        self.plans += 1;
        self.held_back.extend(refused.iter().map(|refusal| refusal.child));
        self.refused.extend(refused);
        self.to_write = steps.into();
        self.then = then;
        Ok(())
    }

    /// The Workload as it is; absent where it is gone. If its spec isn't the one that was planned from, the pass is over: the
    /// newer spec has its own.
    pub fn saw_workload(&mut self, now: Option<&Workload>) {
        let spec_of = |workload: &Workload| {
            let ObjectMeta { uid, generation, deletion_timestamp, .. } = &workload.metadata;
            (uid.clone(), *generation, deletion_timestamp.is_some())
        };
        self.is_outdated = now.map(spec_of) != Some(spec_of(&self.seen.workload));
    }

    /// A child as it is; absent where there is none.
    pub fn saw_child(&mut self, child: ChildKind, live: Option<Live>) {
        self.seen.put(child, live);
    }

    /// The HorizontalPodAutoscalers that scale the Deployment.
    pub fn saw_autoscalers(&mut self, autoscalers: Vec<Autoscaler>) {
        self.seen.autoscalers = autoscalers;
    }

    /// A write was made; the child is like this now, or gone. A write that wasn't sent, because it would have changed
    /// nothing, needs no answer.
    pub fn wrote(&mut self, child: ChildKind, live: Option<Live>) {
        self.seen.put(child, live);
    }

    /// A write was refused because the child isn't what was seen any more: it is read, and all is planned anew.
    pub fn stale(&mut self, child: ChildKind) {
        self.to_look.insert(Look::Child(child));
        self.then = Then::LookAgain;
    }

    /// Something couldn't be read: what rests on it is left alone from now on.
    pub fn missed(&mut self, look: Look) {
        if GROUNDS.contains(&look) {
            self.held_back.extend([ChildKind::Deployment, ChildKind::Autoscaler]);
        }
    }

    /// A child is left alone from now on.
    pub fn hold_back(&mut self, child: ChildKind) {
        self.held_back.insert(child);
    }
}

/// Whether a step writes to a Deployment that is there: in a plan that goes on, that moves the number.
fn moves_replicas(step: &Step) -> bool {
    step.child() == ChildKind::Deployment && !matches!(step, Step::Apply { guard: Guard::Create, .. })
}

/// Whether a step creates the autoscaler. That the number was handed over may be old news from a cache: the write to the
/// Deployment that would find it out isn't sent where it is predicted to change nothing.
fn lets_scale(step: &Step) -> bool {
    matches!(step, Step::Apply { child: ChildKind::Autoscaler, guard: Guard::Create, .. })
}

/// The caches hold only what bears Baton's label. What is about to be created is looked for on the server first, so that
/// an object of somebody else's is never overwritten.
pub(crate) fn about_to_be_created(seen: &Observed, held_back: &BTreeSet<ChildKind>) -> BTreeSet<ChildKind> {
    let missing = |kind: &ChildKind| wants(&seen.workload, *kind) && !seen.children.contains_key(kind);
    ChildKind::ALL.into_iter().filter(|kind| missing(kind) && !held_back.contains(kind)).collect()
}
