//! Columns of custom resources, and their JSON paths.

use std::borrow::Cow;

use baton_merge::value::Value;
use jiff::Timestamp;
use serde_json::{Value as Json, json};

use super::access::text;
use super::age::{since, time};
use super::columns::{CREATED, Column};

/// A column of a CRD's `additionalPrinterColumns`.
#[derive(Clone, Debug)]
pub(crate) struct CustomColumn {
    column: Column,
    /// None if the path has unsupported syntax: its cells are empty.
    path: Option<Vec<Step>>,
}

/// A step of a JSON path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// `.name` or `['name']`.
    Member(String),
    /// `[0]`, or `[-1]` from the end.
    Item(i64),
    /// `[*]`.
    Each,
    /// `[?(@.type=="Ready")]`: the compared path, the value, and whether it must be equal.
    Where(Vec<Step>, String, bool),
}

impl CustomColumn {
    /// The columns of a version: the name, and the declared ones or the age.
    pub(crate) fn of_version(version: Value<'_>) -> Vec<Self> {
        let columns =
            version.get("additionalPrinterColumns").and_then(|columns| columns.as_list()).unwrap_or_default();
        if columns.is_empty() {
            let path =
                vec![Step::Member("metadata".to_owned()), Step::Member("creationTimestamp".to_owned())];
            return vec![Self { column: Column::new("Age", "date", "", CREATED), path: Some(path) }];
        }
        let read = |column: &Value<'_>| {
            let member = |name| text(*column, name).to_owned();
            let path = parse(text(*column, "jsonPath"));
            let description = match member("description") {
                none if none.is_empty() => {
                    format!("Custom resource definition column (in JSONPath format): {}", member("jsonPath"))
                }
                description => description,
            };
            let column = Column {
                name: Cow::Owned(member("name")),
                r#type: Cow::Owned(member("type")),
                format: Cow::Owned(member("format")),
                description: Cow::Owned(description),
                priority: super::access::int(*column, "priority"),
            };
            Self { column, path }
        };
        columns.iter().map(read).collect()
    }

    pub(super) fn column(&self) -> &Column {
        &self.column
    }

    pub(super) fn cell(&self, object: Value<'_>, now: Timestamp) -> Json {
        let path = self.path.as_deref();
        let Some(value) = path.and_then(|path| find(object, path).first().copied()) else {
            return Json::Null;
        };
        match (&*self.column.r#type, value) {
            ("string", Value::String(text)) => json!(text),
            ("string", Value::Null) => json!("<no value>"),
            ("string", Value::List(_) | Value::Map(_)) => json!(html_safe_json(value)),
            ("string", scalar) => json!(scalar.to_string()),
            ("integer", Value::Int(number)) => json!(number),
            #[expect(clippy::cast_possible_truncation, reason = "so does the server")]
            ("integer", Value::Float(number)) => json!(number as i64),
            #[expect(clippy::cast_precision_loss, reason = "so does the server")]
            ("number", Value::Int(number)) => json!(number as f64),
            ("number", Value::Float(number)) => json!(number),
            ("boolean", Value::Bool(value)) => json!(value),
            ("date", Value::String("")) => json!("<unknown>"),
            ("date", Value::String(_)) => match time(Some(value)) {
                None => json!("<invalid>"),
                time => json!(since(time, now)),
            },
            _ => Json::Null,
        }
    }
}

/// Parses a simple JSON path. None if it has unsupported syntax.
fn parse(path: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(bracket) = rest.strip_prefix('[') {
            let (inside, after) = if let Some(condition) = bracket.strip_prefix("?(") {
                let (condition, after) = condition.split_once(")]")?;
                let (is_equal, (left, right)) = match condition.split_once("!=") {
                    Some(sides) => (false, sides),
                    None => (true, condition.split_once("==")?),
                };
                let path = parse(left.trim().strip_prefix('@')?)?;
                (vec![Step::Where(path, right.trim().trim_matches(['"', '\'']).to_owned(), is_equal)], after)
            } else {
                let (inside, after) = bracket.split_once(']')?;
                let step = match inside {
                    "*" => vec![Step::Each],
                    name if name.starts_with(['\'', '"']) => {
                        parse(&format!(".{}", name.trim_matches(['"', '\''])))?
                    }
                    index => vec![Step::Item(index.parse().ok()?)],
                };
                (step, after)
            };
            steps.extend(inside);
            rest = after;
        } else {
            let name = rest.strip_prefix('.')?;
            let mut is_escaped = false;
            let end = name.find(|c| {
                let is_end = matches!(c, '.' | '[') && !is_escaped;
                is_escaped = c == '\\' && !is_escaped;
                is_end
            });
            let (name, after) = name.split_at(end.unwrap_or(name.len()));
            if !name.is_empty() {
                steps.push(Step::Member(name.replace('\\', "")));
            }
            rest = after;
        }
    }
    Some(steps)
}

/// A list or map as Go writes it in JSON.
fn html_safe_json(value: Value<'_>) -> String {
    let json = serde_json::to_string(&value).unwrap_or_default();
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// The values at a path.
fn find<'a>(object: Value<'a>, path: &[Step]) -> Vec<Value<'a>> {
    path.iter()
        .fold(vec![object], |values, step| values.into_iter().flat_map(|value| step.of(value)).collect())
}

impl Step {
    fn of<'a>(&self, value: Value<'a>) -> Vec<Value<'a>> {
        let items = value.as_list().unwrap_or_default();
        match self {
            Self::Member(name) => value.get(name).into_iter().collect(),
            Self::Each => items.to_vec(),
            Self::Item(index) => {
                let back = usize::try_from(index.unsigned_abs()).unwrap_or(usize::MAX);
                let index = if *index < 0 { items.len().checked_sub(back) } else { Some(back) };
                index.and_then(|index| items.get(index)).copied().into_iter().collect()
            }
            Self::Where(path, wanted, is_equal) => {
                let is_wanted = |item: &Value<'a>| match find(*item, path).first() {
                    Some(Value::String(text)) => (text == wanted) == *is_equal,
                    Some(other) => (other.to_string() == *wanted) == *is_equal,
                    None => false,
                };
                items.iter().copied().filter(is_wanted).collect()
            }
        }
    }
}
