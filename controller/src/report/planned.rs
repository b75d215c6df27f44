//! The plan of a pass that wrote nothing, as the status shows it.

use baton_apply::{FieldPath, LiveObject, Takeover};
use baton_crd::{PlannedAction, PlannedChild, PlannedTakeover};
use baton_runtime::text::{few, stored_length};
use kube::ResourceExt;

use super::limits::{manager, path};
use crate::decide::{
    child::ChildKind,
    pass::{Pass, Rehearsed},
};

/// How many fields of each sort are listed for a child.
const MOST_FIELDS: usize = 100;
/// How long these lists may be, in bytes of JSON.
const LONGEST_LIST: usize = 8 * 1024;

/// The plan for each child.
pub(super) fn planned(pass: &Pass) -> Vec<PlannedChild> {
    let name = pass.seen.workload.name_any();
    let planned = |(kind, rehearsed): (&ChildKind, &Rehearsed)| {
        let adopted = pass.seen.foreign(*kind).filter(|_| rehearsed.action == PlannedAction::Update);
        planned_child(*kind, &name, rehearsed, adopted)
    };
    pass.rehearsed.iter().map(planned).collect()
}

/// `adopted` is the object that would be adopted.
fn planned_child(
    kind: ChildKind,
    name: &str,
    rehearsed: &Rehearsed,
    adopted: Option<&LiveObject>,
) -> PlannedChild {
    let effects = &rehearsed.effects;
    let taken = |takeover: &Takeover| PlannedTakeover {
        path: path(&takeover.path),
        manager: manager(&takeover.manager),
    };
    let most = count(effects.takeovers.iter().map(|takeover| &takeover.path));
    let unlisted = effects.takeovers.len() - most;
    let unlisted = (unlisted > 0).then(|| format!("it takes over {unlisted} more fields than are listed"));
    let adopted =
        adopted.map(|live| format!("it would be adopted; it was made by {}", live.managers().join(", ")));
    let messages: Vec<String> = adopted
        .iter()
        .chain(&rehearsed.stopped)
        .chain(&rehearsed.message)
        .chain(&unlisted)
        .cloned()
        .collect();
    PlannedChild {
        kind: kind.name().to_owned(),
        name: name.to_owned(),
        action: rehearsed.action,
        writes: i32::try_from(rehearsed.writes).ok().filter(|writes| *writes > 1),
        sets: listed(&effects.sets),
        takes: effects.takeovers.iter().take(most).map(taken).collect(),
        releases: listed(&effects.releases),
        removes: listed(&effects.removes),
        dry_run: rehearsed.dry_run,
        message: (!messages.is_empty()).then(|| messages.join("; ")),
    }
}

fn listed(paths: &[FieldPath]) -> Vec<String> {
    few(paths.iter().map(path), count(paths.iter()), "")
}

/// How many of these fields are listed.
fn count<'p>(paths: impl Iterator<Item = &'p FieldPath>) -> usize {
    let mut length = 0;
    let lengths = paths.take(MOST_FIELDS).map(|field| stored_length(&path(field)));
    lengths
        .take_while(|added| {
            length += added;
            length <= LONGEST_LIST
        })
        .count()
}

/// The plan in a sentence.
pub(super) fn summary(pass: &Pass) -> String {
    let kinds = |action: PlannedAction| {
        let of_action = pass.rehearsed.iter().filter(|(_, rehearsed)| rehearsed.action == action);
        of_action.map(|(kind, _)| kind.name()).collect::<Vec<_>>().join(", ")
    };
    let actions = [
        ("create", PlannedAction::Create),
        ("update", PlannedAction::Update),
        ("delete", PlannedAction::Delete),
    ];
    let parts: Vec<String> = actions
        .into_iter()
        .map(|(verb, action)| (verb, kinds(action)))
        .filter(|(_, kinds)| !kinds.is_empty())
        .map(|(verb, kinds)| format!("{verb} {kinds}"))
        .collect();
    if parts.is_empty() { "change nothing".to_owned() } else { parts.join("; ") }
}
