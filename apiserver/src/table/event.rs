//! Rows of events, under the names that their members have in either group.

use baton_merge::value::Value;
use jiff::Timestamp;
use serde_json::{Value as Json, json};

use super::access::{at, int, text, text_or};
use super::age::{since, time};

/// The members that the two groups call differently.
struct Names {
    object: &'static str,
    message: &'static str,
    first: &'static str,
    last: &'static str,
    count: &'static str,
    source: &'static str,
    reporter: &'static str,
    instance: &'static str,
}

pub(super) fn core(event: Value<'_>, now: Timestamp) -> Vec<Json> {
    let names = Names {
        object: "involvedObject",
        message: "message",
        first: "firstTimestamp",
        last: "lastTimestamp",
        count: "count",
        source: "source",
        reporter: "reportingComponent",
        instance: "reportingInstance",
    };
    cells(event, now, &names)
}

pub(super) fn new(event: Value<'_>, now: Timestamp) -> Vec<Json> {
    let names = Names {
        object: "regarding",
        message: "note",
        first: "deprecatedFirstTimestamp",
        last: "deprecatedLastTimestamp",
        count: "deprecatedCount",
        source: "deprecatedSource",
        reporter: "reportingController",
        instance: "reportingInstance",
    };
    cells(event, now, &names)
}

fn cells(event: Value<'_>, now: Timestamp, names: &Names) -> Vec<Json> {
    let first = since(time(at(event, names.first)).or_else(|| time(at(event, "eventTime"))), now);
    let last = time(at(event, names.last)).map_or_else(|| first.clone(), |last| since(Some(last), now));
    let (last, count) = match at(event, "series") {
        Some(series) => (since(time(at(series, "lastObservedTime")), now), int(series, "count")),
        // An event that came once may have no count.
        None => (last, int(event, names.count).max(1)),
    };
    let object = at(event, names.object).unwrap_or(Value::Null);
    let kind = text(object, "kind").to_lowercase();
    let target = match text(object, "name") {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    let source = at(event, names.source).unwrap_or(Value::Null);
    let component = text_or(source, "component", text(event, names.reporter));
    let source = match text_or(source, "host", text(event, names.instance)) {
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
        json!(text(event, names.message).trim()),
        json!(first),
        json!(count),
        json!(text(event, "metadata.name")),
    ]
}
