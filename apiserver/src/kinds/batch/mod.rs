//! Validation of jobs and cron jobs.

mod cron;
mod failure_policy;
mod indexes;
mod job;
mod schedule;
mod status;

pub(super) use cron::cron_job;
pub(super) use job::{CONTROLLER_UID, JOB_NAME, job};
pub(super) use status::job_status;

use super::cursor::Cursor;

/// Whether a condition of a job is true.
fn has_condition(job: &Cursor<'_>, kind: &str) -> bool {
    job.at(&["status", "conditions"])
        .items()
        .any(|condition| condition.text_of("type") == kind && condition.text_of("status") == "True")
}
