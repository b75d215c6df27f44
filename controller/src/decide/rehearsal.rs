//! A pass with its own predictions in the API server's place: what would be done, as a pure function.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use baton_apply::{ApiError, Effects, LiveObject, Prediction, PreparedWrite, Schemas, Takeover};
use baton_crd::PlannedAction;
use jiff::Timestamp;
use kube::core::Status;

use super::{
    child::ChildKind,
    course::{Course, Next, is_end_of_handover},
    intent::IntentError,
    plan::{Refusal, plan},
    snapshot::Snapshot,
};
use crate::causes::with_causes;

/// What a pass would do.
#[derive(Clone, Debug, Default)]
pub struct Rehearsal {
    /// For each child that is there or would be.
    pub children: BTreeMap<ChildKind, Rehearsed>,
    /// Children that would be left alone because they aren't this Workload's.
    pub refused: Vec<Refusal>,
}

/// What would be done with one child.
#[derive(Clone, Debug, Default)]
pub struct Rehearsed {
    /// All in all.
    pub action: PlannedAction,
    /// The single fields.
    pub effects: Effects,
    /// How many requests it would take.
    pub writes: u32,
    /// The first request, with its prediction. It is there too where it would change nothing.
    pub first: Option<PreparedWrite>,
    /// Why it wouldn't go on.
    pub stopped: Option<String>,
}

/// Rehearses a pass. What can't be predicted ends the rehearsal of that child.
///
/// # Errors
/// When the Workload can't be written as intents.
pub fn rehearse(seen: &Snapshot, schemas: &Schemas, now: Timestamp) -> Result<Rehearsal, IntentError> {
    let mut children: BTreeMap<ChildKind, Rehearsed> = BTreeMap::new();
    for child in ChildKind::ALL.into_iter().filter(|child| seen.own(*child).is_some()) {
        children.insert(child, Rehearsed::default());
    }
    // What would change nothing is sent as well, so that there is a first write for the server to try.
    let mut course = Course::new(seen.clone(), BTreeSet::new(), true);
    loop {
        let write = match course.next(schemas, now) {
            Next::Send { write, .. } => write.clone(),
            Next::Plan => {
                course.planned(plan(course.seen(), course.held_back())?);
                continue;
            }
            // What was seen is taken for what is there.
            Next::Read(_) => continue,
            Next::Done => break,
        };
        let Some(step) = course.step_under_way() else { continue };
        let (child, releases) = (step.child(), step.releases(course.seen()));
        let response = children.entry(child).or_default().play(write, releases, course.seen().child(child));
        course.responded(schemas, response);
    }
    let refused = course.finish().refused;
    for refusal in &refused {
        let alone = Rehearsed { stopped: Some(refusal.message.clone()), ..Rehearsed::default() };
        children.insert(refusal.child, alone);
    }
    Ok(Rehearsal { children, refused })
}

impl Rehearsed {
    /// Does a write to the live object, or to none; returns the response that its prediction makes likely.
    fn play(
        &mut self,
        write: PreparedWrite,
        releases: Vec<Takeover>,
        live: Option<&LiveObject>,
    ) -> Result<Option<LiveObject>, ApiError> {
        let prediction = write.prediction.clone();
        self.first.get_or_insert(write);
        match prediction {
            Ok(Prediction::NoOp) => Ok(live.cloned()),
            Ok(Prediction::Stored(stored)) if stored.is_repeat => Ok(live.cloned()),
            Ok(Prediction::Deleted) => {
                self.action = PlannedAction::Delete;
                self.writes += 1;
                Ok(None)
            }
            Ok(Prediction::Conflicts(conflicts)) => Err(self.refused(&conflicts.to_string())),
            Ok(Prediction::Refused(message)) => Err(self.refused(&message)),
            Ok(Prediction::Stored(stored)) => {
                self.action = self.action_of(live, stored.changed);
                self.writes += 1;
                let mut effects = stored.effects.clone();
                effects.takeovers.extend(releases);
                effects.takeovers.retain(|takeover| !is_end_of_handover(takeover));
                self.effects.add(effects);
                let returned = stored.returned(live).map_err(kube::Error::SerdeError);
                returned.map(Some).map_err(ApiError::Client)
            }
            Err(error) => {
                self.action = self.action_of(live, true);
                self.stopped = Some(with_causes(&error));
                Err(ApiError::Timeout(Duration::ZERO))
            }
        }
    }

    fn refused(&mut self, message: &str) -> ApiError {
        self.stopped = Some(format!("the API server would refuse it: {message}"));
        ApiError::Response(Status::failure(message, "BadRequest").with_code(400).boxed())
    }

    fn action_of(&self, live: Option<&LiveObject>, changed: bool) -> PlannedAction {
        match (self.action, live) {
            (PlannedAction::Nothing, None) => PlannedAction::Create,
            (PlannedAction::Nothing, Some(_)) if changed => PlannedAction::Update,
            (action, _) => action,
        }
    }
}
