//! Validation of cron jobs.

use super::{job, schedule};
use crate::field::FieldError;
use crate::kinds::{
    check::Check,
    cursor::{Cursor, Errors},
    selector,
};

/// The longest name, which leaves room for the suffix of jobs.
const NAME_LENGTH: usize = 52;

pub(in crate::kinds) fn cron_job(check: &mut Check<'_>) {
    check.metadata_or_update();
    let (spec, old_spec) = (check.spec(), check.old_at(&["spec"]));
    let errors = &mut check.errors;
    let (schedule, zone) = (spec.child("schedule"), spec.child("timeZone"));
    if schedule.text().is_empty() {
        errors.push(schedule.required(""));
    } else {
        if let Err(problem) = schedule::parse(schedule.text()) {
            errors.push(schedule.invalid_text(&problem));
        }
        let had_zone = old_spec.text_of("schedule").contains("TZ");
        if !schedule.text().contains("TZ") {
        } else if !had_zone {
            let detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
            errors.push(schedule.invalid_text(detail));
        } else if zone.is_set() {
            let detail = "cannot use both timeZone field and TZ or CRON_TZ in schedule";
            errors.push(schedule.invalid_text(detail));
        }
    }
    spec.child("startingDeadlineSeconds").check_non_negative(errors);
    if zone.is_set() && (check.old.is_none() || zone.value != old_spec.get("timeZone")) {
        check_time_zone(&zone, errors);
    }
    spec.child("concurrencyPolicy").check_choice(errors, &["Allow", "Forbid", "Replace"]);
    check_job_template(&spec.at(&["jobTemplate", "spec"]), errors);
    spec.check_none_negative(errors, &["successfulJobsHistoryLimit", "failedJobsHistoryLimit"]);
    let name = check.new.at(&["metadata", "name"]);
    if check.old.is_none() && name.text().len() > NAME_LENGTH {
        errors.push(name.invalid_text(&format!("must be no more than {NAME_LENGTH} characters")));
    }
}

fn check_time_zone(zone: &Cursor<'_>, errors: &mut Errors) {
    const PART_LENGTH: usize = 14;

    let name = zone.text();
    if name.is_empty() {
        errors.push(zone.invalid_text("timeZone must be nil or non-empty string"));
        return;
    }
    let is_part = |part: &str| {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'+');
        !matches!(part, "" | "." | "..")
            && !part.starts_with('-')
            && part.len() <= PART_LENGTH
            && part.bytes().all(is_allowed)
    };
    let unknown = format!("unknown time zone {name}");
    if !name.split('/').all(is_part) {
        errors.push(zone.invalid_text(&unknown));
        return;
    }
    if name.eq_ignore_ascii_case("local") {
        let detail = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
        errors.push(zone.invalid_text(detail));
    }
    // Ours ignores the case of names.
    let found = jiff::tz::TimeZone::get(name).ok();
    let is_known = found.is_some_and(|zone| zone.iana_name().is_none_or(|known| known == name));
    if name != "Local" && !is_known {
        errors.push(zone.invalid_text(&unknown));
    }
}

fn check_job_template(spec: &Cursor<'_>, errors: &mut Errors) {
    job::check_spec(spec, errors);
    let node = spec.child("selector");
    if node.is_set() {
        let json = selector::selector_json(node.value);
        errors.push(FieldError::invalid_json(&node.path, &json, "`selector` will be auto-generated"));
    }
    let manual = spec.child("manualSelector");
    if manual.flag() {
        errors.push(FieldError::not_supported_json(&manual.path, "true", &["nil", "false"]));
    }
}
