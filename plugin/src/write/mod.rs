//! Writes of objects: what they are made from, their predictions, and their results.

mod applied;
mod dry_run;
mod edit;
mod intent;
mod object;
mod report;
mod steps;
mod writer;

pub(crate) use self::{
    applied::Applied,
    dry_run::{DryRunArgs, DryRunStrategy},
    intent::{Intent, IntentArgs},
    object::Opened,
    report::WrittenReport,
    steps::{StepReport, Steps},
    writer::{KUBECTL, Written},
};
