//! Events: both groups have the same object, with different names of some fields.

use baton_merge::{Arena, value::Value};

use super::super::edit::{fill, map, text};

/// The names of fields in the core group and in `events.k8s.io`.
const NAMES: [(&str, &str); 7] = [
    ("count", "deprecatedCount"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("involvedObject", "regarding"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
];

/// Fields that the core group writes even if they are empty, by its names.
const ALWAYS_IN_CORE: [&str; 2] = ["reportingComponent", "reportingInstance"];

pub(super) fn to_core<'a>(arena: &'a Arena, event: Value<'a>) -> Value<'a> {
    let event =
        renamed(arena, event, |name| NAMES.iter().find(|(_, new)| *new == name).map(|(core, _)| *core));
    ALWAYS_IN_CORE.iter().fold(event, |event, name| fill(arena, event, &[name], Value::String("")))
}

pub(super) fn from_core<'a>(arena: &'a Arena, event: Value<'a>) -> Value<'a> {
    let is_empty = |name: &&&str| text(event, &[name]).is_empty();
    let event =
        ALWAYS_IN_CORE.iter().filter(is_empty).fold(event, |event, name| event.with(arena, &[name], None));
    renamed(arena, event, |name| NAMES.iter().find(|(core, _)| *core == name).map(|(_, new)| *new))
}

fn renamed<'a>(
    arena: &'a Arena,
    event: Value<'a>,
    name_of: impl Fn(&str) -> Option<&'static str>,
) -> Value<'a> {
    let members = event.as_map().unwrap_or_default().members();
    map(arena, members.iter().map(|(name, value)| (name_of(name).unwrap_or(name), *value)))
}
