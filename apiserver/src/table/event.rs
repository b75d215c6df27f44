//! Rows of events.

use baton_merge::value::Value;
use jiff::Timestamp;
use serde_json::{Value as Json, json};

use super::access::{at, int, text, text_or};
use super::age::{since, time};

/// The cells of an event, which is stored in the core group.
pub(super) fn cells(event: Value<'_>, now: Timestamp) -> Vec<Json> {
    let first = since(time(at(event, "firstTimestamp")).or_else(|| time(at(event, "eventTime"))), now);
    let last = time(at(event, "lastTimestamp")).map_or_else(|| first.clone(), |last| since(Some(last), now));
    let (last, count) = match at(event, "series") {
        Some(series) => (since(time(at(series, "lastObservedTime")), now), int(series, "count")),
        // A single event may have no count.
        None => (last, int(event, "count").max(1)),
    };
    let object = at(event, "involvedObject").unwrap_or(Value::Null);
    let kind = text(object, "kind").to_lowercase();
    let target = match text(object, "name") {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    let source = at(event, "source").unwrap_or(Value::Null);
    let component = text_or(source, "component", text(event, "reportingComponent"));
    let source = match text_or(source, "host", text(event, "reportingInstance")) {
        "" => component.to_owned(),
        instance => format!("{component}, {instance}"),
    };
    vec![
        json!(last),
        json!(text(event, "type")),
        json!(text(event, "reason")),
        json!(target),
        json!(text(object, "fieldPath")),
        json!(source),
        json!(text(event, "message").trim()),
        json!(first),
        json!(count),
        json!(text(event, "metadata.name")),
    ]
}
