//! How the API server spells what it stores: quantities, zero values, and defaults in values that are merged as a whole.
//!
//! An intent that says the same as the live object in another spelling changes nothing, and yet never looks like a no-op: it
//! would be sent again and again. [`minimal`] spells an intent as the server will; the rest of this module recognizes what
//! the server has spelled in its own way.

mod quantity;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use serde_json::Value;

use quantity::Precision;

/// Fields of a pod's template that their Go types can't tell from absent ones when they are zero or empty: the server then
/// fills its default in. An intent that holds such a zero would never be live; where the field is the key of a list item,
/// as `protocol` is, each apply would even add the item anew.
const UNSET_WHEN_ZERO: [&str; 12] = [
    "dnsPolicy",
    "failureThreshold",
    "imagePullPolicy",
    "path",
    "periodSeconds",
    "protocol",
    "schedulerName",
    "scheme",
    "successThreshold",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "timeoutSeconds",
];

/// What the server fills into values of a pod's template that it merges as a whole: the name of such a value, a field in it,
/// and the field's default as JSON. An intent without it would never be live.
const FILLED_IN: [(&str, &str, &str); 3] = [
    ("fieldRef", "apiVersion", r#""v1""#),
    ("resourceFieldRef", "divisor", r#""0""#),
    ("serviceAccountToken", "expirationSeconds", "3600"),
];

/// Drops nulls, empty lists and empty maps, at any depth, and zeros that mean that nothing is set; absent where nothing is
/// left. Quantities become canonical, and what is merged as a whole is whole.
///
/// An empty struct stays: `emptyDir: {}` says something, `nodeSelector: {}` doesn't, and only the schema knows which is
/// which, as it knows what is a quantity: `is_quantity` recognizes the schema of one. The schema is that of the custom resource
/// which has the value in it, such as a pod's template. Without one every empty object and every spelling stays: write
/// quantities as the server does, `"1"` for `"1000m"`.
pub fn minimal(
    value: Value,
    schema: Option<&JSONSchemaProps>,
    is_quantity: fn(&JSONSchemaProps) -> bool,
) -> Option<Value> {
    let minimal = |value, schema| minimal(value, schema, is_quantity);
    match value {
        Value::Null => None,
        Value::Array(items) => {
            let item_schema = schema.and_then(items_of);
            let items: Vec<Value> = items.into_iter().filter_map(|item| minimal(item, item_schema)).collect();
            (!items.is_empty()).then_some(Value::Array(items))
        }
        Value::Object(members) => {
            let members: serde_json::Map<_, _> = members
                .into_iter()
                .filter(|(name, member)| {
                    let is_named = schema.is_some_and(|schema| schema.properties.is_some());
                    !(is_named && UNSET_WHEN_ZERO.contains(&name.as_str()) && is_unset(member))
                })
                .filter_map(|(name, member)| {
                    let member = match schema.and_then(|schema| member_of(schema, &name)) {
                        Some((schema, precision)) if is_quantity(schema) => canonical(member, precision),
                        member_schema => minimal(member, member_schema.map(|(schema, _)| schema))
                            .map(|member| whole(&name, member)),
                    };
                    Some((name, member?))
                })
                .collect();
            let is_map = schema.is_some_and(|schema| schema.additional_properties.is_some());
            (!(members.is_empty() && is_map)).then_some(Value::Object(members))
        }
        scalar => Some(scalar),
    }
}

/// A value with what the server would fill in where that is part of it.
fn whole(name: &str, mut value: Value) -> Value {
    if let Value::Object(members) = &mut value {
        for (_, field, default) in FILLED_IN.iter().filter(|(of, ..)| *of == name) {
            members.entry(*field).or_insert_with(|| serde_json::from_str(default).unwrap_or_default());
        }
    }
    value
}

fn is_unset(value: &Value) -> bool {
    value.as_str() == Some("") || value.as_i64() == Some(0)
}

/// A quantity as the server stores it. What is none is left for the server to refuse in its own words.
fn canonical(value: Value, precision: Precision) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(Value::String(quantity::canonical(&text, precision).unwrap_or(text))),
        other => Some(other),
    }
}

fn items_of(schema: &JSONSchemaProps) -> Option<&JSONSchemaProps> {
    match schema.items.as_ref()? {
        JSONSchemaPropsOrArray::Schema(items) => Some(items),
        JSONSchemaPropsOrArray::Schemas(_) => None,
    }
}

/// The schema of a member; should it be a quantity, how precisely the server keeps it there: a list of resources, which is a
/// map of quantities, has its own precision.
fn member_of<'a>(schema: &'a JSONSchemaProps, name: &str) -> Option<(&'a JSONSchemaProps, Precision)> {
    if let Some(property) = schema.properties.as_ref().and_then(|properties| properties.get(name)) {
        return Some((property, Precision::Nano));
    }
    match schema.additional_properties.as_ref()? {
        JSONSchemaPropsOrBool::Schema(values) => Some((values, Precision::Milli)),
        JSONSchemaPropsOrBool::Bool(_) => None,
    }
}

/// Whether a predicted value differs from the live one only in zero values that aren't there. The server doesn't store those:
/// `readOnly: false` in an apply is absent from the object, and owned.
pub(crate) fn has_only_zeros_more(predicted: &Value, live: &Value) -> bool {
    match (predicted, live) {
        (Value::Object(predicted), Value::Object(live)) => {
            live.keys().all(|name| predicted.contains_key(name))
                && predicted.iter().all(|(name, predicted)| match live.get(name) {
                    _ if name == "managedFields" => true,
                    Some(live) => has_only_zeros_more(predicted, live),
                    None => is_zero_scalar(predicted),
                })
        }
        (Value::Array(predicted), Value::Array(live)) => {
            predicted.len() == live.len()
                && predicted.iter().zip(live).all(|(predicted, live)| has_only_zeros_more(predicted, live))
        }
        (predicted, live) => predicted == live,
    }
}

/// Whether a value is what the server makes of the predicted one: quantities may be spelled in another way, zero values be
/// left out, empty texts taken for what nobody set, and defaults filled in below it.
pub(crate) fn is_filled_in(predicted: &Value, stored: Option<&Value>) -> bool {
    let Some(stored) = stored else { return is_zero(predicted) };
    match (predicted, stored) {
        (Value::Object(ours), Value::Object(theirs)) => {
            ours.iter().all(|(name, ours)| is_filled_in(ours, theirs.get(name)))
        }
        (Value::Array(ours), Value::Array(theirs)) => {
            ours.len() == theirs.len()
                && ours.iter().zip(theirs).all(|(ours, theirs)| is_filled_in(ours, Some(theirs)))
        }
        (Value::String(ours), Value::String(theirs)) => {
            ours == theirs || ours.is_empty() || quantity::are_equal(ours, theirs)
        }
        (Value::Number(ours), Value::String(theirs)) => quantity::are_equal(&ours.to_string(), theirs),
        (ours, theirs) => ours == theirs,
    }
}

/// Whether a Go type without the value looks the same.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.values().all(is_zero),
        scalar => is_zero_scalar(scalar),
    }
}

/// The same of a value that has nothing in it.
fn is_zero_scalar(value: &Value) -> bool {
    match value {
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}
