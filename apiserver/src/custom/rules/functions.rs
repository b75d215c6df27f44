//! Functions of CEL: those of the crates, and replacements where the crates differ from cel-go.

use std::cmp::Ordering;
use std::sync::Arc;

use jiff::Timestamp;
use kube_cel::KubeCelExt;
use kube_cel::cel::common::ast::{CallExpr, Expr, IdedExpr, operators};
use kube_cel::cel::objects::{Key, KeyRef, Map, OptionalValue};
use kube_cel::cel::{Context, ExecutionError, Value};

use super::super::pattern;
use super::macros::{MAP_INSERT, SORT_BY_KEYS};
use super::times;
use super::unordered::{equal, items, optional, plain, united};
use super::values::known;

type Result<T = Value> = std::result::Result<T, ExecutionError>;

/// The names of types.
pub(in super::super) const TYPES: [&str; 9] =
    ["bool", "bytes", "double", "int", "list", "map", "null_type", "string", "uint"];

/// The longest list that a rule may make of a number, longer than the cost limit allows.
const MAX_RANGE: i64 = 1_000_000;

/// The functions of the crates, and the types, as strings since the crates lack them.
pub(super) fn all() -> Context<'static> {
    let mut context = Context::default().with_all();
    for name in TYPES {
        context.add_variable_from_value(name, text(name.to_owned()));
    }
    context
}

/// Calls a function, a method or an operator.
pub(super) fn call(
    functions: &Context<'static>,
    name: &str,
    target: Option<&Value>,
    args: &[Value],
) -> Result {
    if let Some(target) = target {
        return method(functions, name, target, args);
    }
    match (name, args) {
        (operators::EQUALS, [left, right]) => Ok(Value::Bool(equal(left, right))),
        (operators::NOT_EQUALS, [left, right]) => Ok(Value::Bool(!equal(left, right))),
        (operators::IN, [item, range]) => contains(range, item),
        (operators::INDEX, [base, key]) => at(base, key),
        (operators::OPT_INDEX | operators::OPT_SELECT, [base, key]) => found(base, key).map(wrapped),
        (operators::NEGATE, [value]) => negated(value),
        (operators::LESS, [left, right]) => compared(functions, name, left, right, Ordering::is_lt),
        (operators::LESS_EQUALS, [left, right]) => compared(functions, name, left, right, Ordering::is_le),
        (operators::GREATER, [left, right]) => compared(functions, name, left, right, Ordering::is_gt),
        (operators::GREATER_EQUALS, [left, right]) => compared(functions, name, left, right, Ordering::is_ge),
        (operators::ADD, [left, right]) => match united(left, right) {
            Some(united) => Ok(united),
            None => native(functions, name, None, args),
        },
        ("size", [value]) => size(value),
        ("bool", [value]) => bool_of(value),
        ("dyn", [value]) => Ok(value.clone()),
        ("type", [value]) => Ok(text(type_name(value).to_owned())),
        ("string", [value @ (Value::Bool(_) | Value::Timestamp(_) | Value::Duration(_))]) => {
            Ok(as_text(value))
        }
        ("int", [Value::Timestamp(time)]) => Ok(Value::Int(time.timestamp())),
        ("timestamp", [time @ Value::Timestamp(_)]) => Ok(time.clone()),
        ("timestamp", [Value::Int(seconds)]) => {
            let time = Timestamp::from_second(*seconds);
            let time = time.map_err(|_| ExecutionError::function_error(name, "timestamp overflow"))?;
            native(functions, name, None, &[text(time.to_string())])
        }
        ("lists.range", [Value::Int(length)]) => range(*length),
        ("optional.of", [value]) => Ok(wrapped(Some(value.clone()))),
        ("format.named", [_]) => native(functions, name, None, args).map(|format| match format {
            Value::Null => wrapped(None),
            format => wrapped(Some(format)),
        }),
        _ => native(functions, name, None, args),
    }
}

fn method(functions: &Context<'static>, name: &str, target: &Value, args: &[Value]) -> Result {
    match (name, args) {
        ("hasValue", []) => Ok(Value::Bool(in_optional(target)?.is_some())),
        ("value", []) if optional(target).is_some() => {
            let missing = || ExecutionError::function_error(name, "optional.none() dereference");
            in_optional(target)?.cloned().ok_or_else(missing)
        }
        ("size", []) => size(target),
        ("matches" | "find" | "findAll", [Value::String(source), rest @ ..]) => {
            let source =
                pattern::from_go(source).map_err(|why| ExecutionError::function_error("matches", why))?;
            let args: Vec<_> = std::iter::once(text(source)).chain(rest.iter().cloned()).collect();
            native(functions, name, Some(target), &args)
        }
        ("split", [Value::String(separator), rest @ ..]) if separator.is_empty() => characters(target, rest),
        (SORT_BY_KEYS, [keys]) => sorted_by(target, keys),
        _ => {
            let zone = match args {
                [] => Some(None),
                [Value::String(zone)] => Some(Some(zone.as_str())),
                _ => None,
            };
            match zone.and_then(|zone| times::field(name, target, zone)) {
                Some(field) => field,
                None => native(functions, name, Some(target), args),
            }
        }
    }
}

/// A function of a comprehension's accumulator.
pub(super) fn collected(
    functions: &Context<'static>,
    name: &str,
    collected: Value,
    added: &[Value],
) -> Result {
    match (name, collected, added) {
        (operators::ADD, Value::List(mut list), [Value::List(added)]) => {
            Arc::make_mut(&mut list).extend(added.iter().cloned());
            Ok(Value::List(list))
        }
        (MAP_INSERT, Value::Map(map), [key, value]) => inserted(map, vec![(key_of(key)?, value.clone())]),
        (MAP_INSERT, Value::Map(map), [Value::Map(added)]) => {
            inserted(map, added.map.iter().map(|(key, value)| (key.clone(), value.clone())).collect())
        }
        (name, collected, added) => {
            let args: Vec<_> = std::iter::once(collected).chain(added.iter().cloned()).collect();
            call(functions, name, None, &args)
        }
    }
}

fn inserted(mut map: Map, members: Vec<(Key, Value)>) -> Result {
    let all = Arc::make_mut(&mut map.map);
    for (key, value) in members {
        if all.contains_key(&key) {
            let why = format!("insert failed: key {key} already exists");
            return Err(ExecutionError::function_error(MAP_INSERT, why));
        }
        all.insert(key, value);
    }
    Ok(Value::Map(map))
}

/// Calls a function of the crates.
fn native(functions: &Context<'static>, name: &str, target: Option<&Value>, args: &[Value]) -> Result {
    let mut scope = functions.new_inner_scope();
    let mut given = 0;
    let mut variable = |value: &Value| {
        given += 1;
        let name = format!("@{given}");
        scope.add_variable_from_value(name.as_str(), plain(value));
        IdedExpr { id: 0, expr: Expr::Ident(name) }
    };
    let call = CallExpr {
        func_name: name.to_owned(),
        target: target.map(|target| Box::new(variable(target))),
        args: args.iter().map(variable).collect(),
    };
    Value::resolve(&IdedExpr { id: 0, expr: Expr::Call(call) }, &scope)
}

/// The field of an object, a map or an optional value, if it exists.
pub(super) fn field(value: &Value, name: &str) -> Result<Option<Value>> {
    found(value, &text(name.to_owned()))
}

/// A selected field.
pub(super) fn selected(value: &Value, name: &str) -> Result {
    at(value, &text(name.to_owned()))
}

/// The value at a key or an index. That of an optional value is optional.
fn at(base: &Value, key: &Value) -> Result {
    let value = found(base, key)?;
    if optional(base).is_some() {
        return Ok(wrapped(value));
    }
    value.ok_or_else(|| match key {
        Value::String(name) => ExecutionError::NoSuchKey(name.clone()),
        Value::Int(_) if items(base).is_some() => ExecutionError::IndexOutOfBounds(key.clone()),
        key => ExecutionError::NoSuchKey(Arc::new(shown(key))),
    })
}

fn found(base: &Value, key: &Value) -> Result<Option<Value>> {
    if let Some(value) = optional(base) {
        return value.value().map_or(Ok(None), |value| found(value, key));
    }
    let value = match (base, items(base), key) {
        (_, Some(items), Value::Int(index)) => {
            usize::try_from(*index).ok().and_then(|index| items.get(index))
        }
        (Value::Map(map), _, key) => match KeyRef::try_from(key) {
            Ok(key) => map.get(&key),
            Err(_) => return Err(ExecutionError::NoSuchOverload),
        },
        _ => return Err(ExecutionError::NoSuchOverload),
    };
    value.cloned().map(known).transpose()
}

fn shown(key: &Value) -> String {
    key_of(key).map(|key| key.to_string()).unwrap_or_default()
}

fn key_of(value: &Value) -> Result<Key> {
    value.clone().try_into().map_err(ExecutionError::UnsupportedKeyType)
}

fn contains(range: &Value, item: &Value) -> Result {
    match (items(range), range) {
        (Some(items), _) => {
            for each in items.iter() {
                if equal(&known(each.clone())?, item) {
                    return Ok(Value::Bool(true));
                }
            }
            Ok(Value::Bool(false))
        }
        (None, Value::Map(_)) => Ok(Value::Bool(found(range, item)?.is_some())),
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

fn compared(
    functions: &Context<'static>,
    name: &str,
    left: &Value,
    right: &Value,
    is: fn(Ordering) -> bool,
) -> Result {
    match left.partial_cmp(right) {
        Some(ordering) => Ok(Value::Bool(is(ordering))),
        None => native(functions, name, None, &[left.clone(), right.clone()]),
    }
}

fn negated(value: &Value) -> Result {
    match value {
        // The crate panics at the smallest integer.
        Value::Int(number) => number
            .checked_neg()
            .map(Value::Int)
            .ok_or_else(|| ExecutionError::Overflow("neg", Value::Int(0), value.clone())),
        Value::Float(number) => Ok(Value::Float(-number)),
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

fn range(length: i64) -> Result {
    if length > MAX_RANGE {
        return Err(ExecutionError::function_error("lists.range", "it costs too much"));
    }
    // A negative length makes an empty list.
    Ok(Value::List(Arc::new((0..length).map(Value::Int).collect())))
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Map(_) => "map",
        Value::Int(_) => "int",
        Value::UInt(_) => "uint",
        Value::Float(_) => "double",
        Value::String(_) => "string",
        Value::Bytes(_) => "bytes",
        Value::Bool(_) => "bool",
        Value::Null => "null_type",
        value if items(value).is_some() => "list",
        _ => "",
    }
}

/// The count of characters, bytes or items.
fn size(value: &Value) -> Result {
    let size = match value {
        Value::String(text) => text.chars().count(),
        Value::Bytes(bytes) => bytes.len(),
        Value::Map(map) => map.map.len(),
        value => items(value).ok_or(ExecutionError::NoSuchOverload)?.len(),
    };
    Ok(Value::Int(i64::try_from(size).unwrap_or(i64::MAX)))
}

fn bool_of(value: &Value) -> Result {
    match value {
        Value::Bool(_) => Ok(value.clone()),
        Value::String(text) => match text.as_str() {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Value::Bool(false)),
            other => {
                let why = format!("strconv.ParseBool: parsing {other:?}: invalid syntax");
                Err(ExecutionError::function_error("bool", why))
            }
        },
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

/// The characters of a text, at most as many as the limit; the last one is the rest.
fn characters(target: &Value, limit: &[Value]) -> Result {
    let Value::String(target) = target else { return Err(ExecutionError::NoSuchOverload) };
    let limit = match limit {
        [Value::Int(limit)] => usize::try_from(*limit).unwrap_or(usize::MAX),
        _ => usize::MAX,
    };
    let mut rest = target.as_str();
    let mut parts = Vec::new();
    while let (Some(first), true) = (rest.chars().next(), parts.len() < limit) {
        let length = if parts.len() + 1 == limit { rest.len() } else { first.len_utf8() };
        let (part, after) = rest.split_at(length);
        parts.push(text(part.to_owned()));
        rest = after;
    }
    Ok(Value::List(Arc::new(parts)))
}

fn sorted_by(target: &Value, keys: &Value) -> Result {
    let (Some(list), Some(keys)) = (items(target), items(keys)) else {
        return Err(ExecutionError::NoSuchOverload);
    };
    let mut places: Vec<usize> = (0..list.len().min(keys.len())).collect();
    if keys.windows(2).any(|pair| pair[0].partial_cmp(&pair[1]).is_none()) {
        return Err(ExecutionError::NoSuchOverload);
    }
    places.sort_by(|left, right| keys[*left].partial_cmp(&keys[*right]).unwrap_or(Ordering::Equal));
    Ok(Value::List(Arc::new(places.into_iter().map(|place| list[place].clone()).collect())))
}

fn in_optional(value: &Value) -> Result<Option<&Value>> {
    Ok(optional(value).ok_or(ExecutionError::NoSuchOverload)?.value())
}

fn wrapped(value: Option<Value>) -> Value {
    Value::Opaque(Arc::new(value.map_or_else(OptionalValue::none, OptionalValue::of)))
}

fn text(text: String) -> Value {
    Value::String(Arc::new(text))
}

/// A bool, a time or a duration, as cel-go writes it.
fn as_text(value: &Value) -> Value {
    match value {
        Value::Bool(value) => text(value.to_string()),
        Value::Timestamp(time) => {
            let plain = time.to_rfc3339();
            let utc =
                plain.strip_suffix("+00:00").and_then(|utc| format!("{utc}Z").parse::<Timestamp>().ok());
            text(utc.map_or(plain, |utc| utc.to_string()))
        }
        #[expect(clippy::cast_precision_loss, reason = "seconds are doubles in Go, too")]
        Value::Duration(duration) => {
            let seconds = duration.num_seconds() as f64 + f64::from(duration.subsec_nanos()) / 1e9;
            text(format!("{seconds}s"))
        }
        other => other.clone(),
    }
}
