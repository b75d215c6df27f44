//! A pass with its own predictions in the API server's place: what would be done, as a pure function.

use std::{collections::BTreeSet, time::Duration};

use baton_apply::{ApiError, LiveObject, Prediction, PreparedWrite, Schemas};
use baton_crd::PlannedAction;
use baton_runtime::text::with_causes;
use jiff::Timestamp;
use kube::core::Status;

use super::{
    course::{Course, Next},
    intent::IntentError,
    pass::{Pass, Rehearsed},
    plan::{Step, plan},
    snapshot::Snapshot,
};

/// Rehearses a pass for this snapshot. A write that can't be predicted ends the rehearsal of its child.
///
/// # Errors
/// When the Workload can't be written as intents.
pub fn rehearse(seen: &Snapshot, schemas: &Schemas, now: Timestamp) -> Result<Pass, IntentError> {
    let mut pass = Pass::new(seen.clone());
    pass.rehearsed.extend(seen.own_children().map(|child| (child, Rehearsed::default())));
    // Writes that change nothing are sent as well, so that the server can try a first write.
    let mut course = Course::new(seen.clone(), BTreeSet::new(), true);
    loop {
        let write = match course.next(schemas, now) {
            Next::Send { write, .. } => write.clone(),
            Next::Plan => {
                course.planned(plan(course.seen(), course.held_back())?);
                continue;
            }
            // The snapshot stands for the server.
            Next::Read(_) => continue,
            Next::Done => break,
        };
        let Some(step) = course.step_under_way() else { continue };
        let rehearsed = pass.rehearsed.entry(step.child()).or_default();
        let response = rehearsed.play(write, step, course.seen());
        course.responded(schemas, response);
    }
    pass.refused = course.finish().refused;
    for refusal in &pass.refused {
        let alone = Rehearsed { stopped: Some(refusal.message.clone()), ..Rehearsed::default() };
        pass.rehearsed.insert(refusal.child, alone);
    }
    Ok(pass)
}

impl Rehearsed {
    /// Does a write; returns the response that its prediction makes likely.
    fn play(
        &mut self,
        write: PreparedWrite,
        step: &Step,
        seen: &Snapshot,
    ) -> Result<Option<LiveObject>, ApiError> {
        let (prediction, live) = (write.prediction.clone(), seen.child(step.child()));
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
                self.effects.add(step.effects(seen, stored.effects.clone(), None));
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
