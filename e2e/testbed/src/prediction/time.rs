//! When a server did a write.

use jiff::Timestamp;

use super::write::Write;
use crate::Json;

/// The time at which the server did a write: that of the writer's entry, where it is new.
pub(super) fn time_of(write: &Write, after: &Json, began: Timestamp) -> Option<String> {
    let entries = after.at(&["metadata", "managedFields"])?.items();
    let text =
        |entry: &Json, name: &str| entry.get(name).and_then(Json::as_str).unwrap_or_default().to_owned();
    let operation = if write.is_apply() { "Apply" } else { "Update" };
    let entry = entries.iter().find(|entry| {
        text(entry, "manager") == write.manager
            && text(entry, "operation") == operation
            && text(entry, "subresource") == write.subresource
    })?;
    let time = text(entry, "time");
    let is_new = time.parse::<Timestamp>().is_ok_and(|time| time.as_second() >= began.as_second());
    is_new.then_some(time)
}

/// A time as `managedFields` have it.
pub(super) fn seconds(time: Timestamp) -> String {
    Timestamp::from_second(time.as_second()).unwrap_or_default().to_string()
}
