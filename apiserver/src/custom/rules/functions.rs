//! The functions of expressions: those of the crates, and those in which the crates differ from cel-go.

use std::sync::Arc;

use jiff::Timestamp;
use kube_cel::KubeCelExt;
use kube_cel::cel::common::ast::Expr;
use kube_cel::cel::extractors::This;
use kube_cel::cel::objects::OptionalValue;
use kube_cel::cel::{self, Context, ExecutionError, FunctionContext};

use super::super::pattern;

type Result<T = cel::Value> = std::result::Result<T, ExecutionError>;

/// The names of types that rules compare with.
pub(in super::super) const TYPES: [&str; 9] =
    ["bool", "bytes", "double", "int", "list", "map", "null_type", "string", "uint"];

// Functions that take the place of something else. No expression can name them.
pub(super) const NEGATED: &str = "-a";
pub(super) const EQUAL: &str = "a==b";
pub(super) const UNEQUAL: &str = "a!=b";
/// A regular expression of Go, as the crates read it.
pub(super) const PATTERN: &str = "a as pattern";
// Values that the crates' conversions don't take, as ones that they take.
pub(super) const TEXT: &str = "a as text";
pub(super) const SECONDS: &str = "a in seconds";
pub(super) const TIME: &str = "a as time";
/// Null as no value, anything else as one.
pub(super) const OPTIONAL: &str = "a as optional";

/// The longest list that a rule may make of a number. The server's limit of costs doesn't let a rule make a longer one.
const MAX_RANGE: i64 = 1_000_000;

/// All functions. Types are texts here, since the crates don't know them.
pub(super) fn all() -> Context<'static> {
    let mut context = Context::default().with_all();
    context.add_function("dyn", |value: cel::Value| Ok::<_, ExecutionError>(value));
    context.add_function("lists.range", range);
    context.add_function("type", |value: cel::Value| Arc::new(type_name(&value).to_owned()));
    context.add_function("size", |This(this): This<cel::Value>| size(&this));
    context.add_function("bool", |value: cel::Value| bool_of(value));
    context.add_function("all", |ftx: &FunctionContext| quantified(ftx, false));
    context.add_function("exists", |ftx: &FunctionContext| quantified(ftx, true));
    context.add_function("optMap", |ftx: &FunctionContext| {
        Ok(mapped(ftx)?.map_or_else(none, |value| optional(OptionalValue::of(value))))
    });
    context.add_function("optFlatMap", |ftx: &FunctionContext| Ok(mapped(ftx)?.unwrap_or_else(none)));
    context.add_function(NEGATED, |value: cel::Value| negated(&value));
    context.add_function(EQUAL, |left: cel::Value, right: cel::Value| left == right);
    context.add_function(UNEQUAL, |left: cel::Value, right: cel::Value| left != right);
    context.add_function(PATTERN, |source: Arc<String>| {
        let pattern = pattern::from_go(&source);
        pattern.map(text).map_err(|why| ExecutionError::function_error("matches", why))
    });
    context.add_function(TEXT, |value: cel::Value| Ok::<_, ExecutionError>(as_text(value)));
    context.add_function(SECONDS, |value: cel::Value| {
        Ok::<_, ExecutionError>(match value {
            cel::Value::Timestamp(time) => cel::Value::Int(time.timestamp()),
            other => other,
        })
    });
    context.add_function(TIME, |value: cel::Value| match value {
        cel::Value::Int(seconds) => Timestamp::from_second(seconds)
            .map(|time| text(time.to_string()))
            .map_err(|_| ExecutionError::function_error("timestamp", "timestamp overflow")),
        other => Ok(as_text(other)),
    });
    context.add_function(OPTIONAL, |value: cel::Value| {
        Ok::<_, ExecutionError>(match value {
            cel::Value::Null => none(),
            value => optional(OptionalValue::of(value)),
        })
    });
    for name in TYPES {
        context.add_variable_from_value(name, cel::Value::String(Arc::new(name.to_owned())));
    }
    context
}

fn negated(value: &cel::Value) -> Result {
    match value {
        cel::Value::Int(number) => number
            .checked_neg()
            .map(cel::Value::Int)
            .ok_or_else(|| ExecutionError::Overflow("neg", cel::Value::Int(0), value.clone())),
        cel::Value::Float(number) => Ok(cel::Value::Float(-number)),
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

fn range(length: i64) -> Result {
    if length > MAX_RANGE {
        let message = "operation cancelled: actual cost limit exceeded";
        return Err(ExecutionError::function_error("lists.range", message));
    }
    // What is negative makes an empty list.
    Ok(cel::Value::List(Arc::new((0..length).map(cel::Value::Int).collect())))
}

fn type_name(value: &cel::Value) -> &'static str {
    match value {
        cel::Value::List(_) => "list",
        cel::Value::Map(_) => "map",
        cel::Value::Int(_) => "int",
        cel::Value::UInt(_) => "uint",
        cel::Value::Float(_) => "double",
        cel::Value::String(_) => "string",
        cel::Value::Bytes(_) => "bytes",
        cel::Value::Bool(_) => "bool",
        cel::Value::Null => "null_type",
        _ => "",
    }
}

/// The number of characters, bytes or items.
fn size(value: &cel::Value) -> Result {
    let size = match value {
        cel::Value::String(text) => text.chars().count(),
        cel::Value::Bytes(bytes) => bytes.len(),
        cel::Value::List(items) => items.len(),
        cel::Value::Map(map) => map.map.len(),
        _ => return Err(ExecutionError::NoSuchOverload),
    };
    Ok(cel::Value::Int(i64::try_from(size).unwrap_or(i64::MAX)))
}

fn bool_of(value: cel::Value) -> Result {
    match value {
        cel::Value::Bool(_) => Ok(value),
        cel::Value::String(text) => match text.as_str() {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(cel::Value::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(cel::Value::Bool(false)),
            other => {
                let why = format!("strconv.ParseBool: parsing {other:?}: invalid syntax");
                Err(ExecutionError::function_error("bool", why))
            }
        },
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

/// `all` and `exists`: an item that decides wins over one whose predicate fails.
fn quantified(ftx: &FunctionContext<'_, '_>, decisive: bool) -> Result {
    let [variable, predicate] = ftx.args else { return Err(undeclared(ftx)) };
    let Expr::Ident(name) = &variable.expr else { return Err(undeclared(ftx)) };
    let items: Vec<cel::Value> = match &ftx.this {
        Some(cel::Value::List(items)) => items.to_vec(),
        Some(cel::Value::Map(map)) => map.map.keys().map(Into::into).collect(),
        _ => return Err(ExecutionError::NoSuchOverload),
    };
    let mut scope = ftx.ptx.new_inner_scope();
    let mut failure = None;
    for item in items {
        scope.add_variable_from_value(name.as_str(), item);
        let failed = match cel::Value::resolve(predicate, &scope) {
            Ok(cel::Value::Bool(found)) if found == decisive => return Ok(cel::Value::Bool(decisive)),
            Ok(cel::Value::Bool(_)) => continue,
            Ok(_) => ExecutionError::NoSuchOverload,
            Err(why) => why,
        };
        failure.get_or_insert(failed);
    }
    failure.map_or(Ok(cel::Value::Bool(!decisive)), Err)
}

/// What an expression makes of an optional value, where there is one.
fn mapped(ftx: &FunctionContext<'_, '_>) -> Result<Option<cel::Value>> {
    let [variable, expression] = ftx.args else { return Err(undeclared(ftx)) };
    let Expr::Ident(name) = &variable.expr else { return Err(undeclared(ftx)) };
    let this = ftx.this.as_ref().ok_or(ExecutionError::NoSuchOverload)?;
    let Some(value) = <&OptionalValue>::try_from(this)?.value() else { return Ok(None) };
    let mut scope = ftx.ptx.new_inner_scope();
    scope.add_variable_from_value(name.as_str(), value.clone());
    cel::Value::resolve(expression, &scope).map(Some)
}

/// A macro with other arguments than those that are known here.
fn undeclared(ftx: &FunctionContext<'_, '_>) -> ExecutionError {
    ExecutionError::UndeclaredReference(Arc::new(ftx.name.to_owned()))
}

fn none() -> cel::Value {
    optional(OptionalValue::none())
}

fn optional(value: OptionalValue) -> cel::Value {
    cel::Value::Opaque(Arc::new(value))
}

fn text(text: String) -> cel::Value {
    cel::Value::String(Arc::new(text))
}

/// A bool, a time or a duration as cel-go writes it.
fn as_text(value: cel::Value) -> cel::Value {
    match value {
        cel::Value::Bool(value) => text(value.to_string()),
        cel::Value::Timestamp(time) => {
            let plain = time.to_rfc3339();
            let utc =
                plain.strip_suffix("+00:00").and_then(|utc| format!("{utc}Z").parse::<Timestamp>().ok());
            text(utc.map_or(plain, |utc| utc.to_string()))
        }
        #[expect(clippy::cast_precision_loss, reason = "seconds are doubles in Go, too")]
        cel::Value::Duration(duration) => {
            let seconds = duration.num_seconds() as f64 + f64::from(duration.subsec_nanos()) / 1e9;
            text(format!("{seconds}s"))
        }
        other => other,
    }
}
