//! How the API server spells stored values: quantities, zero values, and defaults in values that are merged as a whole.
//!
//! An intent with the same values as the live object in another spelling changes nothing, but isn't recognized as a no-op: it
//! would be sent again and again. [`Schemas::minimal`] spells an intent as the server will, which
//! [`Applier::apply`](crate::Applier::apply) does by itself; the rest of this module recognizes values that the server has spelled in
//! its own way.

#[cfg(test)]
mod tests;
mod zeros;

use baton_merge::quantity::{self, Precision};
use kube::core::ApiResource;
use serde_json::{Map, Number, Value};

pub(crate) use self::zeros::unstored;
pub use crate::types::Types;
use crate::{
    Schemas,
    types::{Type, is_zero},
};

/// Spells a value of a type as the server stores it, without parts that have no meaning; `None` if nothing is left.
///
/// - Fields with `null`, an empty list or an empty map are removed, at any depth. An empty struct stays: `emptyDir: {}` means
///   something, `nodeSelector: {}` doesn't. So do an empty item of a list and an empty value in a map; `null` there is an empty text or
///   a quantity of zero.
/// - Quantities become canonical: `"1"` for `"1000m"` and for `1.0`.
/// - A zero value is removed if the server treats it as absent, and either fills in its default or keeps it in a value that
///   is merged as a whole. `hostNetwork: false` stays: the manager that applies it owns it.
/// - A field that is an old name of another has that one's value, which the server copies to it.
/// - The server's defaults are added to values that are merged as a whole, since the server stores them with the defaults.
///
/// The types are those of the API server that the type's fields come from. A value of a type that isn't among them stays as it
/// is spelled, with all its objects.
pub fn minimal(value: Value, types: &Types, type_name: &str) -> Option<Value> {
    Speller { types, of_object: false }.value(value, types.named(type_name), Place::of(type_name))
}

impl Schemas {
    /// Spells an intent as the server stores it, by the type of its kind; see [`minimal`]. If that isn't known, as of a custom
    /// resource, only fields with `null` are removed, at any depth, and whole numbers lose their fraction: `1.0` is stored as `1`. An
    /// empty list may be required there.
    pub fn minimal(&self, kind: &ApiResource, intent: Value) -> Value {
        match self.type_of(kind) {
            Some((types, name)) => minimal(intent, types, name).unwrap_or_default(),
            None => plain(intent),
        }
    }
}

fn plain(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(plain).collect(),
        Value::Object(members) => {
            let set = members.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(set.map(|(name, value)| (name, plain(value))).collect())
        }
        Value::Number(number) if number.is_f64() => whole(&number).map_or(Value::Number(number), Value::from),
        scalar => scalar,
    }
}

/// The integer that a number with a fraction of zero is.
#[expect(clippy::cast_possible_truncation, reason = "it is whole, and small enough")]
fn whole(number: &Number) -> Option<i64> {
    const LARGEST: f64 = 9_007_199_254_740_992.0;
    number
        .as_f64()
        .filter(|number| number.fract() == 0.0 && number.abs() <= LARGEST)
        .map(|number| number as i64)
}

/// A whole object of a built-in type, or a part of one, as the server stores it.
pub(crate) fn stored(value: Value, types: &Types, type_name: &str) -> Value {
    let speller = Speller { types, of_object: true };
    speller.value(value, types.named(type_name), Place::of(type_name)).unwrap_or_else(|| Map::new().into())
}

#[derive(Clone, Copy)]
struct Speller<'t> {
    types: &'t Types,
    /// Whether a whole object is spelled, and not what a manager applies: what isn't stored goes.
    of_object: bool,
}

/// The place of a value in an object.
#[derive(Clone, Copy)]
struct Place<'t> {
    /// The name of its type; empty if it has none.
    name: &'t str,
    /// The keys of the list that it is an item of.
    keys: &'t [String],
    /// Whether it is part of a value that is merged as a whole.
    in_atomic: bool,
    /// The precision of a quantity in the server's store.
    precision: Precision,
}

impl<'t> Place<'t> {
    /// A whole value of a type.
    fn of(name: &'t str) -> Self {
        Self { name, keys: &[], in_atomic: false, precision: Precision::Nano }
    }
}

impl<'t> Speller<'t> {
    fn value(self, value: Value, of: &'t Type, place: Place<'t>) -> Option<Value> {
        match (of, value) {
            (Type::Named(name), value) => self.value(value, self.types.named(name), Place { name, ..place }),
            (_, Value::Null) => None,
            (Type::Quantity, value) => Some(canonical(value, place.precision)),
            (Type::List { items, is_atomic, keys }, Value::Array(values)) => {
                let below = Place { name: "", keys, in_atomic: place.in_atomic || *is_atomic, ..place };
                let values: Vec<Value> =
                    values.into_iter().map(|value| self.element(value, items, below)).collect();
                (!values.is_empty()).then_some(Value::Array(values))
            }
            (Type::Struct { fields, is_atomic, .. }, Value::Object(mut members)) => {
                let in_atomic = place.in_atomic || *is_atomic;
                members.retain(|name, value| {
                    let is_part = in_atomic || place.keys.contains(name);
                    !(zeros::is_absent(place.name, name, value, is_part)
                        || self.of_object && zeros::is_unstored(place.name, name, value))
                });
                let below = Place { name: "", keys: &[], in_atomic, precision: Precision::Nano };
                let member = |(name, value): (String, Value)| {
                    let of = fields.get(&name).unwrap_or(&Type::Unknown);
                    self.value(value, of, below).map(|value| (name, value))
                };
                let mut members: Map<String, Value> = members.into_iter().filter_map(member).collect();
                copy(place.name, &mut members);
                if in_atomic {
                    zeros::fill_in(place.name, &mut members);
                }
                Some(Value::Object(members))
            }
            (Type::Map { values, is_atomic }, Value::Object(members)) => {
                // A list of resources is a map of quantities.
                let below = Place {
                    name: "",
                    keys: &[],
                    in_atomic: place.in_atomic || *is_atomic,
                    precision: Precision::Milli,
                };
                let member = |(name, value): (String, Value)| {
                    let value = if value.is_null() { self.zero(values)? } else { value };
                    Some((name, self.element(value, values, below)))
                };
                let members: Map<String, Value> = members.into_iter().filter_map(member).collect();
                (!members.is_empty()).then_some(Value::Object(members))
            }
            (_, other) => Some(other),
        }
    }

    /// An item of a list or a value in a map. If nothing is left of it, it stays as an empty one.
    fn element(self, value: Value, of: &'t Type, place: Place<'t>) -> Value {
        let empty = match &value {
            Value::Array(_) => Value::Array(Vec::new()),
            Value::Object(_) => Value::Object(Map::new()),
            _ => self.zero(of).unwrap_or_default(),
        };
        self.value(value, of, place).unwrap_or(empty)
    }

    /// The value that the server stores for `null` in a list or a map of such values.
    fn zero(self, of: &Type) -> Option<Value> {
        match of {
            Type::Named(name) => self.zero(self.types.named(name)),
            Type::Text => Some("".into()),
            Type::Quantity => Some("0".into()),
            _ => None,
        }
    }
}

/// Old names of fields: the type, the old name, and the field that the server copies to it if both are set.
/// `Convert_core_PodSpec_To_v1_PodSpec` in pkg/apis/core/v1/conversion.go.
const OLD_NAMES: &[(&str, &str, &str)] =
    &[("io.k8s.api.core.v1.PodSpec", "serviceAccount", "serviceAccountName")];

fn copy(of: &str, members: &mut Map<String, Value>) {
    for (_, old, new) in OLD_NAMES.iter().filter(|(named, ..)| *named == of) {
        if let Some(value) = members.get(*new).filter(|_| members.contains_key(*old)).cloned() {
            members.insert((*old).to_owned(), value);
        }
    }
}

/// A quantity as the server stores it. A text that isn't a quantity stays, for the server to refuse.
fn canonical(value: Value, precision: Precision) -> Value {
    let text = match &value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return value,
    };
    quantity::canonical(&text, precision).map_or(value, Value::String)
}

/// Whether the server stores the predicted value like this: quantities may be spelled in another way, zero values left out, empty
/// texts treated as absent, and defaults filled in below it.
pub(crate) fn is_filled_in(predicted: &Value, stored: Option<&Value>) -> bool {
    let Some(stored) = stored else { return is_zero(predicted) };
    match (predicted, stored) {
        // A field that an apply empties becomes null, and the server stores that as an empty struct.
        (Value::Null, stored) => is_zero(stored),
        // Where a type never leaves a list out, an empty one is null.
        (Value::Array(ours), Value::Null) => ours.is_empty(),
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
