//! Writes of one object, one after the other.

use baton_apply::{LiveObject, Request};
use baton_merge::Arena;
use serde::Serialize;

use super::{DryRunStrategy, Opened, WrittenReport};
use crate::{
    error::{CommandError, Exit},
    model::{FieldChange, Move, Owners, moves},
};

/// Writes of an object, each from the object that the one before leaves.
pub(crate) struct Steps<'o> {
    pub(crate) opened: &'o Opened,
    dry_run: DryRunStrategy,
    /// The object after the last one.
    pub(crate) live: LiveObject,
    done: Vec<StepReport>,
    exit: Exit,
}

/// A write, for programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StepReport {
    /// A sentence about it.
    #[serde(rename = "step")]
    pub(crate) what: String,
    #[serde(flatten)]
    pub(crate) written: WrittenReport,
    /// The fields whose owners change.
    pub(crate) moves: Vec<Move>,
}

/// All steps, for programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StepsReport {
    /// The object: `deployment.apps/web`.
    pub(crate) object: String,
    pub(crate) steps: Vec<StepReport>,
    /// The work that is left to the user.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) left_to_do: Vec<String>,
}

impl<'o> Steps<'o> {
    pub(crate) fn new(opened: &'o Opened, dry_run: DryRunStrategy) -> Self {
        Self { opened, dry_run, live: opened.live.clone(), done: Vec::new(), exit: Exit::Done }
    }

    /// Does the next write, unless an earlier one was refused. `request` makes it for the object as it was read last.
    pub(crate) async fn write(
        &mut self,
        step: impl Into<String>,
        mut request: impl AsyncFnMut(&LiveObject) -> Result<Request, CommandError>,
    ) -> Result<(), CommandError> {
        if !self.are_done() {
            return Ok(());
        }
        let dry_run = self.next_dry_run();
        let before = Some(self.live.clone());
        let written = self
            .opened
            .writer
            .write(before, dry_run, async |live| request(live.ok_or_else(|| self.opened.is_gone())?).await);
        let written = match written.await {
            // The writes before it are shown.
            Err(error) if !self.done.is_empty() => {
                let written = WrittenReport::failed(self.opened.name(), dry_run, error.line());
                self.exit = written.exit();
                self.done.push(StepReport { what: step.into(), written, moves: Vec::new() });
                return Ok(());
            }
            written => written?,
        };
        let mut report = written.report(dry_run);
        // The moves have the other changes.
        report.changes.retain(FieldChange::loses_a_value);
        self.exit = report.exit();
        // Writes of others in between aren't this step's.
        if let Some(before) = &written.before {
            self.live = before.clone();
        }
        let mut step = StepReport { what: step.into(), written: report, moves: Vec::new() };
        if let Some(after) = written.into_after()? {
            let arena = Arena::new();
            step.moves = moves(&Owners::of(&arena, &self.live), &Owners::of(&arena, &after));
            self.live = after;
        }
        self.done.push(step);
        Ok(())
    }

    /// How far the next write goes. The server tries each write alone, so a server dry run doesn't see the writes before.
    pub(crate) fn next_dry_run(&self) -> DryRunStrategy {
        match self.dry_run {
            DryRunStrategy::Server if !self.done.is_empty() => DryRunStrategy::Client,
            dry_run => dry_run,
        }
    }

    /// Whether no write was refused.
    pub(crate) fn are_done(&self) -> bool {
        self.exit == Exit::Done
    }

    /// The result of all writes, with what is left to do if none was refused.
    pub(crate) fn report(self, mut left_to_do: Vec<String>) -> (StepsReport, Exit) {
        if !self.are_done() {
            left_to_do.clear();
        }
        (StepsReport { object: self.opened.name(), steps: self.done, left_to_do }, self.exit)
    }
}
