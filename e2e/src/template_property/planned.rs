//! Compares a plan with the change that followed.
//!
//! The plan has to name each field that got another value and that Baton owns afterwards, and no other. A field that Baton releases
//! may come back at once with a default of the server; a plan may call it removed.

use std::collections::BTreeSet;

use baton_crd::{DryRunResult, PlannedAction, PlannedChild};
use serde_json::Value;

use crate::change::{Change, lost, stored};

/// The errors in the plan of a child: the kind of error, and the path.
pub fn faults(
    plan: &PlannedChild,
    before: Option<&Value>,
    after: Option<&Value>,
) -> Vec<(&'static str, String)> {
    let (planned, seen) = (Change::planned(plan), Change::seen(before, after));
    let Some(after) = after.filter(|_| planned.action != PlannedAction::Delete) else {
        let is_right = planned.action == seen.action;
        let actions = format!("{:?} for {:?}", planned.action, seen.action);
        return if is_right { Vec::new() } else { vec![("the plan has another action", actions)] };
    };
    let lost = before.map(|before| lost(before, after)).unwrap_or_default();
    let mut faults = Vec::new();
    if plan.dry_run != DryRunResult::Agreed {
        let message = plan.message.clone().unwrap_or_default();
        faults.push(("the dry run of the plan didn't agree", format!("{:?} {message}", plan.dry_run)));
    }
    // Items that only move, and zeros that only get an owner, are changes without a field.
    let is_touched = before.is_none_or(|before| trace(before) != trace(after));
    let is_update = planned.action == PlannedAction::Update && is_touched;
    if planned.action != seen.action && !is_update {
        faults.push(("the plan has another action", format!("{:?} for {:?}", planned.action, seen.action)));
    }
    let is_cut = |paths: &BTreeSet<String>| paths.iter().any(|path| path.starts_with("and "));
    let all = |faults: &mut Vec<(&'static str, String)>, what, paths: Vec<&String>| {
        faults.extend(paths.into_iter().map(|path| (what, path.clone())));
    };
    if !is_cut(&planned.sets) {
        let stored = stored(after);
        let (same, unstored): (Vec<&String>, Vec<&String>) =
            planned.sets.difference(&seen.sets).partition(|path| stored.contains(*path));
        all(&mut faults, "the plan sets what stays the same", same);
        // All in one finding: the paths don't matter.
        if !unstored.is_empty() {
            let names: Vec<&str> = unstored.iter().map(|path| path.as_str()).collect();
            faults.push((
                "the plan sets zeros that aren't stored",
                format!("\"{}\"", names.join(", ").replace('"', "")),
            ));
        }
        // A plan names the removed fields of a struct that becomes empty.
        let is_emptied = |path: &&String| planned.removes.iter().any(|gone| is_at_or_below(gone, path));
        let unnamed = seen.sets.difference(&planned.sets).filter(|path| !is_emptied(path));
        all(&mut faults, "the plan doesn't set what changes", unnamed.collect());
    }
    if !is_cut(&planned.removes) {
        let has = stored(after);
        let stays = |path: &&String| {
            has.iter().any(|has| is_at_or_below(has, path))
                && !lost.iter().any(|lost| is_at_or_below(lost, path))
        };
        all(&mut faults, "the plan removes what stays", planned.removes.iter().filter(stays).collect());
        let is_named = |path: &&String| planned.removes.iter().any(|named| is_at_or_below(path, named));
        // A zero that was owned but not stored can't be removed.
        let had = before.map(stored).unwrap_or_default();
        let was_there = |path: &&String| had.iter().any(|had| is_at_or_below(had, path));
        let gone = seen.removes.iter().filter(was_there).filter(|path| !is_named(path));
        all(&mut faults, "the plan doesn't remove what goes", gone.collect());
    }
    let takes: Vec<&String> = planned.takes.iter().map(|(path, _)| path).collect();
    all(&mut faults, "the plan takes over what no manager owns", takes);
    faults
}

/// The parts of an object that Baton may have changed: its spec, and what Baton owns.
fn trace(object: &Value) -> (&Value, Vec<&Value>) {
    let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    let own = entries.filter(|entry| entry["manager"] == "baton").map(|entry| &entry["fieldsV1"]);
    (&object["spec"], own.collect())
}

fn is_at_or_below(path: &str, top: &str) -> bool {
    path.strip_prefix(top).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_below_another_at_a_whole_step() {
        assert!(is_at_or_below(".a.b", ".a") && is_at_or_below(".a[x]", ".a") && is_at_or_below(".a", ".a"));
        assert!(!is_at_or_below(".ab", ".a") && !is_at_or_below(".a", ".a.b"));
    }
}
