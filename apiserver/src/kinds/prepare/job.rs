//! The generated selector and labels of a job.

use baton_merge::{Arena, value::Value};

use crate::kinds::{
    batch::{CONTROLLER_UID, JOB_NAME},
    edit::{fill, flag, text},
};

/// The job with a generated selector, unless it has its own.
pub(super) fn with_generated_selector<'a>(arena: &'a Arena, job: Value<'a>) -> Value<'a> {
    if flag(job, &["spec", "manualSelector"]) {
        return job;
    }
    let name = Value::String(text(job, &["metadata", "name"]));
    let uid = Value::String(text(job, &["metadata", "uid"]));
    let labels = JOB_NAME.map(|key| (key, name)).into_iter().chain(CONTROLLER_UID.map(|key| (key, uid)));
    let job = labels.fold(job, |job, (key, value)| {
        fill(arena, job, &["spec", "template", "metadata", "labels", key], value)
    });
    fill(arena, job, &["spec", "selector", "matchLabels", CONTROLLER_UID[1]], uid)
}
