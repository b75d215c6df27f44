//! The runtime cost of calls: `interpreter/runtimecost.go` and `ext/lists.go` of cel-go, and `pkg/cel/library/cost.go` of
//! k8s.io/apiserver.

use kube_cel::cel::Value;
use kube_cel::cel::common::ast::operators;

use super::macros::SORT_BY_KEYS;
use super::unordered::{items, optional};

/// The limit of an expression.
pub(super) const CALL_LIMIT: u64 = 1_000_000;
/// The limit of all rules of an object.
pub(super) const OBJECT_LIMIT: u64 = 10_000_000;

pub(in super::super) const SELECTION: u64 = 1;
pub(in super::super) const NEW_LIST: u64 = 10;
pub(in super::super) const NEW_MAP: u64 = 30;

/// The cost of a unit of text, and of a unit of a regular expression.
pub(in super::super) const PER_TEXT: f64 = 0.1;
pub(in super::super) const PER_PATTERN: f64 = 0.25;
/// The longest pattern of the common formats; the crate doesn't tell which format a value is.
const FORMAT_PATTERN: u64 = 60;

/// The cost of a call, whose first argument is its target.
pub(super) fn of_call(name: &str, args: &[&Value], result: Option<&Value>) -> u64 {
    let sizes: Vec<u64> = args.iter().map(|arg| size(arg)).collect();
    let text = |size: u64, factor: f64| scaled(size, factor * PER_TEXT);
    let matched = |size: u64, pattern: u64| {
        text(size.saturating_add(1), 1.0).saturating_mul(scaled(pattern, PER_PATTERN))
    };
    match (name, sizes.as_slice()) {
        (
            "startsWith"
            | "endsWith"
            | "bytes"
            | "strings.quote"
            | "format"
            | "url"
            | "lowerAscii"
            | "upperAscii"
            | "substring"
            | "trim"
            | "jsonpatch.escapeKey"
            | "cidr"
            | "isIP"
            | "isCIDR"
            | "quantity"
            | "isQuantity"
            | "semver"
            | "isSemver",
            [size, ..],
        ) => text(*size, 1.0),
        ("string", [size]) if matches!(args, [Value::Bytes(_)]) => text(*size, 1.0),
        ("ip", [size]) if matches!(args, [Value::String(_)]) => text(*size, 1.0),
        ("replace" | "split" | "ip.isCanonical", [size, ..]) => text(*size, 2.0),
        ("join", _) => text(result.map_or(1, size), 2.0),
        ("isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf", [_, ..]) => traversal(args[0]),
        ("find" | "findAll" | "matches", [size, pattern, ..]) => matched(*size, *pattern),
        ("validate", [_, size]) => matched(*size, FORMAT_PATTERN),
        ("contains", [size, part]) => text(*size, 1.0).saturating_mul(text(*part, 1.0)),
        // Go doesn't know the sizes of addresses, either.
        ("containsIP", [_, other]) => text(2, 1.0) + if is_text(args[1]) { text(*other, 1.0) } else { 0 },
        ("containsCIDR", [_, other]) => {
            text(2, 1.0) + text(1, 1.0) + 1 + if is_text(args[1]) { text(*other, 1.0) } else { 0 }
        }
        (operators::IN, [_, size]) if items(args[1]).is_some() => *size,
        (operators::EQUALS | operators::NOT_EQUALS, [left, right]) => text(*left.min(right), 1.0),
        (
            operators::LESS | operators::LESS_EQUALS | operators::GREATER | operators::GREATER_EQUALS,
            [left, right],
        ) if is_text(args[0]) => text(*left.min(right), 1.0),
        (operators::ADD, [left, right]) if is_text(args[0]) => text(left.saturating_add(*right), 1.0),
        ("slice", _) => NEW_LIST + 1 + result.map_or(1, size),
        ("lists.range", _) => match args {
            [Value::Int(length)] => u64::try_from(*length).unwrap_or(0).saturating_add(NEW_LIST + 1),
            _ => 1,
        },
        ("reverse", [_]) if items(args[0]).is_some() => NEW_LIST + 1 + result.map_or(1, size),
        ("flatten", [size, ..]) => {
            let depth = if let Some(Value::Int(depth)) = args.get(1) { *depth } else { 1 };
            NEW_LIST + 1 + size.saturating_mul(u64::try_from(depth).unwrap_or_default())
        }
        ("sets.contains" | "sets.intersects", [left, right]) => left.saturating_mul(*right).saturating_add(1),
        ("sets.equivalent", [left, right]) => left.saturating_mul(*right).saturating_mul(2).saturating_add(1),
        ("distinct" | "sort", [_]) => compared_with_itself(args[0]),
        (SORT_BY_KEYS, [_, _]) => compared_with_itself(args[1]),
        _ => 1,
    }
}

/// The cost of this many units.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "upstream computes costs as floats"
)]
pub(in super::super) fn scaled(size: u64, factor: f64) -> u64 {
    (size as f64 * factor).ceil() as u64
}

fn is_text(value: &Value) -> bool {
    matches!(value, Value::String(_) | Value::Bytes(_))
}

/// The count of characters, bytes or items; one for other values.
fn size(value: &Value) -> u64 {
    let size = match value {
        Value::String(text) => text.chars().count(),
        Value::Bytes(bytes) => bytes.len(),
        Value::Map(map) => map.map.len(),
        value => match (items(value), optional(value).and_then(|optional| optional.value())) {
            (Some(items), _) => items.len(),
            (_, Some(value)) => return size(value),
            _ => 1,
        },
    };
    u64::try_from(size).unwrap_or(u64::MAX)
}

fn traversal(value: &Value) -> u64 {
    match value {
        Value::String(text) => u64::try_from(text.len() / 10).unwrap_or(u64::MAX),
        Value::Bytes(bytes) => u64::try_from(bytes.len() / 10).unwrap_or(u64::MAX),
        value => items(value).map_or(1, |items| items.iter().map(traversal).sum()),
    }
}

fn compared_with_itself(list: &Value) -> u64 {
    let size = size(list);
    let pairs = size.saturating_mul(size);
    let is_of_texts = items(list).and_then(|items| items.first()).is_some_and(is_text);
    let read = if is_of_texts { pairs / 10 } else { 0 };
    pairs.saturating_mul(2).saturating_add(read + NEW_LIST + 1)
}
