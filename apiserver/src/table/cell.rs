//! Cells of a row.

use baton_merge::value::Value;
use jiff::Timestamp;
use serde_json::{Value as Json, json};

use super::access::{at, int, is_true, list, map, quantity, text, text_or};
use super::age::{since, time};
use super::kinds::{OWN_ROWS, ROWS};
use crate::selector::{LabelSelector, format_labels};

/// A cell. Paths are dotted.
#[derive(Clone, Copy)]
pub(super) enum Cell {
    /// A string, possibly empty.
    Text(&'static str),
    /// A string with a default.
    TextOr(&'static str, &'static str),
    Int(&'static str),
    /// A number or a string, with a default.
    Scalar(&'static str, &'static str),
    /// A bool with a default.
    Bool(&'static str, bool),
    /// The count of items or members at all these paths.
    Count(&'static [&'static str]),
    /// The time since a timestamp.
    Since(&'static str),
    /// Two numbers, as `1/3`.
    Ratio(&'static str, &'static str),
    /// The names of a pod spec's containers.
    Names(&'static str),
    /// Their images.
    Images(&'static str),
    Labels(&'static str),
    Selector(&'static str),
    /// A function of the object.
    Own(fn(Value<'_>) -> String),
    /// A function of the object and the time.
    Timed(fn(Value<'_>, Timestamp) -> String),
}

/// The cells of an object's row.
pub(crate) fn cells(group: &str, kind: &str, object: Value<'_>, now: Timestamp) -> Vec<Json> {
    if let Some((.., row)) = OWN_ROWS.iter().find(|row| (row.0, row.1) == (group, kind)) {
        return row(object, now);
    }
    if let Some((.., cells)) = ROWS.iter().find(|row| (row.0, row.1) == (group, kind)) {
        return cells.iter().map(|cell| cell.of(object, now)).collect();
    }
    let created = time(at(object, "metadata.creationTimestamp"));
    let created = created.map_or_else(|| "0001-01-01T00:00:00Z".to_owned(), |time| time.to_string());
    vec![json!(text(object, "metadata.name")), json!(created)]
}

impl Cell {
    fn of(self, object: Value<'_>, now: Timestamp) -> Json {
        match self {
            Self::Text(path) => json!(text(object, path)),
            Self::TextOr(path, other) => json!(text_or(object, path, other)),
            Self::Int(path) => json!(int(object, path)),
            Self::Scalar(path, other) => match at(object, path) {
                Some(Value::Int(number)) => json!(number),
                Some(value) => json!(quantity(Some(value))),
                None => json!(other),
            },
            Self::Bool(path, other) => json!(is_true(object, path) || (other && at(object, path).is_none())),
            Self::Count(paths) => {
                let count = |path: &&str| list(object, path).len() + map(object, path).len();
                json!(paths.iter().map(count).sum::<usize>())
            }
            Self::Since(path) => json!(since(time(at(object, path)), now)),
            Self::Ratio(part, whole) => json!(format!("{}/{}", int(object, part), int(object, whole))),
            Self::Names(path) => json!(joined(object, path, "name")),
            Self::Images(path) => json!(joined(object, path, "image")),
            Self::Labels(path) => json!(format_labels(Some(map(object, path)))),
            Self::Selector(path) => json!(selector(at(object, path))),
            Self::Own(cell) => json!(cell(object)),
            Self::Timed(cell) => json!(cell(object, now)),
        }
    }
}

/// A member of all containers in a pod spec.
fn joined(object: Value<'_>, spec: &str, member: &str) -> String {
    let containers = at(object, spec).map(|spec| list(spec, "containers")).unwrap_or_default();
    containers.iter().map(|container| text(*container, member)).collect::<Vec<_>>().join(",")
}

fn selector(selector: Option<Value<'_>>) -> String {
    match LabelSelector::from_object(selector).map(|selector| selector.to_string()) {
        Ok(selector) if selector.is_empty() => "<none>".to_owned(),
        Ok(selector) => selector,
        Err(_) => "<error>".to_owned(),
    }
}
