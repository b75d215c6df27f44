//! Validation of the status of jobs: most rules apply to changed fields only.

use super::{has_condition, indexes};
use crate::field::FieldError;
use crate::kinds::{
    check::Check,
    cursor::{Cursor, Errors, IMMUTABLE, same},
};

/// Facts about a status, the stored one or the new one.
#[expect(clippy::struct_excessive_bools, reason = "conditions are independent of each other")]
struct States {
    complete: bool,
    failed: bool,
    finished: bool,
    failure_target: bool,
    success_met: bool,
}

impl States {
    fn of(job: &Cursor<'_>) -> Self {
        let (complete, failed) = (has_condition(job, "Complete"), has_condition(job, "Failed"));
        Self {
            complete,
            failed,
            finished: complete || failed,
            failure_target: has_condition(job, "FailureTarget"),
            success_met: has_condition(job, "SuccessCriteriaMet"),
        }
    }
}

/// An update of a status.
struct Change<'a, 'c> {
    job: &'c Cursor<'a>,
    status: Cursor<'a>,
    old_status: Cursor<'a>,
    now: States,
    before: States,
}

pub(in crate::kinds) fn job_status(check: &mut Check<'_>) {
    check.metadata_update();
    let Some(old) = &check.old else { return };
    let change = Change {
        job: &check.new,
        status: check.new.child("status"),
        old_status: old.child("status"),
        now: States::of(&check.new),
        before: States::of(old),
    };
    let errors = &mut check.errors;
    change.check_counts(errors);
    change.check_conditions(errors);
    change.check_times(errors);
    change.check_finished(errors);
    change.check_indexes(errors);
    change.check_rest(errors);
    change.check_transition(old, errors);
}

impl<'a> Change<'a, '_> {
    fn part(&self, name: &str) -> Cursor<'a> {
        self.status.child(name)
    }

    fn changed(&self, name: &str) -> bool {
        !same(self.status.get(name), self.old_status.get(name))
    }

    fn conditions(&self, errors: &mut Errors, broken: bool, detail: &str) {
        if broken {
            errors.push(FieldError::invalid_omitted(&self.part("conditions").path, detail));
        }
    }

    fn check_counts(&self, errors: &mut Errors) {
        self.status.check_none_negative(errors, &["active", "succeeded", "failed", "ready", "terminating"]);
        let uncounted = self.part("uncountedTerminatedPods");
        let mut seen = std::collections::BTreeSet::new();
        for uid in
            ["succeeded", "failed"].iter().flat_map(|name| uncounted.child(name).items().collect::<Vec<_>>())
        {
            if uid.text().is_empty() {
                errors.push(uid.invalid_text("must not be empty"));
            } else if !seen.insert(uid.text()) {
                errors.push(uid.duplicate());
            }
        }
    }

    fn complete_changed(&self) -> bool {
        self.now.complete != self.before.complete
    }

    fn finished_changed(&self) -> bool {
        self.now.finished != self.before.finished
    }

    fn check_conditions(&self, errors: &mut Errors) {
        let (now, before) = (&self.now, &self.before);
        let failed_changed = now.failed != before.failed;
        self.conditions(
            errors,
            (self.complete_changed() || failed_changed) && now.complete && now.failed,
            "cannot set Complete=True and Failed=true conditions",
        );
        self.conditions(
            errors,
            (self.complete_changed() || now.failure_target != before.failure_target)
                && now.complete
                && now.failure_target,
            "cannot set Complete=True and FailureTarget=true conditions",
        );
    }

    fn check_times(&self, errors: &mut Errors) {
        let (start, completion) = (self.part("startTime"), self.part("completionTime"));
        if self.complete_changed() || self.changed("completionTime") {
            if completion.is_set() && !self.now.complete {
                let detail = "cannot set completionTime when there is no Complete=True condition";
                errors.push(completion.invalid(detail));
            }
            if !completion.is_set() && self.now.complete {
                errors.push(completion.required("completionTime is required for Complete jobs"));
            }
        }
        // Both have the same format and time zone, so that they compare as strings.
        let is_early = start.is_set() && completion.is_set() && completion.text() < start.text();
        if is_early && (self.changed("startTime") || self.changed("completionTime")) {
            errors.push(completion.invalid("must be equal to or after `startTime`"));
        }
        self.conditions(
            errors,
            (self.now.failed != self.before.failed || self.changed("failedIndexes"))
                && self.now.failed
                && !self.now.failure_target,
            "cannot set Failed=True condition without the FailureTarget=true condition",
        );
        self.conditions(
            errors,
            (self.complete_changed() || self.now.success_met != self.before.success_met)
                && self.now.complete
                && !self.now.success_met,
            "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
        );
    }

    fn check_finished(&self, errors: &mut Errors) {
        if !self.now.finished {
            return;
        }
        let changed = |name| self.finished_changed() || self.changed(name);
        let active = self.part("active");
        if changed("active") && active.int() > 0 {
            errors.push(active.invalid_int("active>0 is invalid for finished job"));
        }
        let spec = self.job.child("spec");
        let never_ran = spec.flag_of("suspend") && spec.has("completions") && spec.int_of("completions") == 0;
        let start = self.part("startTime");
        if changed("startTime") && !never_ran && !start.is_set() {
            errors.push(start.required("startTime is required for finished job"));
        }
        let uncounted = self.part("uncountedTerminatedPods");
        let left = uncounted.child("failed").len() + uncounted.child("succeeded").len();
        if changed("uncountedTerminatedPods") && left > 0 {
            let list = |name: &str| {
                crate::field::shown(uncounted.get(name).unwrap_or(baton_merge::value::Value::Null))
            };
            let json = format!("{{\"Succeeded\":{},\"Failed\":{}}}", list("succeeded"), list("failed"));
            errors.push(FieldError::invalid_json(&uncounted.path, &json, "must be empty for finished job"));
        }
    }

    fn check_indexes(&self, errors: &mut Errors) {
        let spec = self.job.child("spec");
        let (completed, failed) = (self.part("completedIndexes"), self.part("failedIndexes"));
        let (has_completions, completions) = (spec.has("completions"), spec.int_of("completions"));
        let has_limit = spec.has("backoffLimitPerIndex");
        for (list, name, applies) in [
            (&completed, "completedIndexes", has_completions),
            (&failed, "failedIndexes", has_completions && has_limit),
        ] {
            if let (true, Err(problem)) =
                (applies && self.changed(name), indexes::count(list.text(), completions))
            {
                errors.push(list.invalid_text(&format!("error parsing {name}: {problem}")));
            }
        }
        let indexed = spec.text_of("completionMode") == "Indexed";
        if self.changed("completedIndexes") && !completed.text().is_empty() && !indexed {
            let detail = "cannot set non-empty completedIndexes when non-indexed completion mode";
            errors.push(completed.invalid_text(detail));
        }
        if self.changed("failedIndexes") && !has_limit && failed.is_set() {
            let detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
            errors.push(failed.invalid_text(detail));
        }
        let changed = self.changed("failedIndexes") || self.changed("completedIndexes");
        if changed
            && has_completions
            && let Some(index) = indexes::overlap(completed.text(), failed.text(), completions)
        {
            let detail = format!("failedIndexes and completedIndexes overlap at index: {index}");
            errors.push(failed.invalid_text(&detail));
        }
    }

    fn check_rest(&self, errors: &mut Errors) {
        let (terminating, ready) = (self.part("terminating"), self.part("ready"));
        if (self.finished_changed() || self.changed("terminating"))
            && self.now.finished
            && terminating.int() > 0
        {
            errors.push(terminating.invalid_int("terminating>0 is invalid for finished job"));
        }
        let counts_changed = self.changed("ready") || self.changed("active");
        if counts_changed && ready.is_set() && ready.int() > self.part("active").int() {
            errors.push(ready.invalid_int("cannot set more ready pods than active"));
        }
        let now = &self.now;
        self.conditions(
            errors,
            now.success_met && now.failed,
            "cannot set SuccessCriteriaMet=True and Failed=true conditions",
        );
        self.conditions(
            errors,
            now.success_met && now.failure_target,
            "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions",
        );
        self.conditions(
            errors,
            self.job.child("spec").has("successPolicy") && !now.success_met && now.complete,
            "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True",
        );
    }

    fn check_transition(&self, old: &Cursor<'_>, errors: &mut Errors) {
        for kind in ["Failed", "Complete", "FailureTarget"] {
            let lost = has_condition(old, kind) && !has_condition(self.job, kind);
            self.conditions(errors, lost, &format!("cannot disable the terminal {kind}=True condition"));
        }
        let spec = self.job.child("spec");
        let scales =
            spec.text_of("completionMode") == "Indexed" && spec.get("completions") == spec.get("parallelism");
        for (name, applies) in [("failed", true), ("succeeded", !scales)] {
            let counter = self.part(name);
            if applies && counter.int() < self.old_status.int_of(name) {
                errors.push(counter.invalid_int(&format!("cannot decrease the {name} counter")));
            }
        }
        let completion = self.part("completionTime");
        if completion.is_set() && self.old_status.has("completionTime") && self.changed("completionTime") {
            errors.push(completion.invalid(IMMUTABLE));
        }
        let was_suspended = has_condition(old, "Suspended");
        let resumes = was_suspended
            && self.part("conditions").items().any(|condition| {
                condition.text_of("type") == "Suspended" && condition.text_of("status") == "False"
            });
        if self.old_status.has("startTime")
            && self.changed("startTime")
            && !resumes
            && !spec.flag_of("suspend")
        {
            errors.push(self.part("startTime").invalid("field is immutable for unsuspended job once set"));
        }
        let (now, before) = (&self.now, &self.before);
        self.conditions(
            errors,
            before.success_met && !now.success_met,
            "cannot disable the SuccessCriteriaMet=True condition",
        );
        self.conditions(
            errors,
            before.complete && !before.success_met && now.success_met,
            "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions",
        );
    }
}
