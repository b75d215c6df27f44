//! The kind of a value, among those of its type.

use crate::{
    schema::{Atom, List, Map, definition::Scalar},
    value::Value,
};

/// The kind as which a walk treats a value.
#[derive(Clone, Copy)]
pub(super) enum Kind<'a> {
    Map(&'a Map),
    Scalar(Scalar),
    List(&'a List),
    /// The type has no kinds.
    None,
}

impl<'a> Kind<'a> {
    /// The kind of a value, if the atom has it. Null, absent and invalid values count as the first of map, scalar and list
    /// that the atom has.
    #[inline]
    pub(super) fn of(atom: &'a Atom, value: Option<&Value<'_>>) -> Self {
        use Value::{Bool, Float, Int, String};

        match (value, atom) {
            (Some(Int(_) | Float(_) | String(_) | Bool(_)), Atom { scalar: Some(scalar), .. }) => {
                Self::Scalar(*scalar)
            }
            (Some(Value::List(_)), Atom { list: Some(list), .. }) => Self::List(list),
            (_, Atom { map: Some(map), .. }) => Self::Map(map),
            (_, Atom { scalar: Some(scalar), .. }) => Self::Scalar(*scalar),
            (_, Atom { list: Some(list), .. }) => Self::List(list),
            _ => Self::None,
        }
    }

    /// Whether both are the same kind, of one type.
    pub(super) fn is_same(self, other: Self) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
}

/// Whether a scalar type takes a value; null always fits.
pub(crate) fn fits(scalar: Scalar, value: &Value<'_>) -> bool {
    match value {
        Value::Null => true,
        Value::Int(_) | Value::Float(_) => matches!(scalar, Scalar::Numeric | Scalar::Untyped),
        Value::String(_) => matches!(scalar, Scalar::String | Scalar::Untyped),
        Value::Bool(_) => matches!(scalar, Scalar::Boolean | Scalar::Untyped),
        Value::List(_) | Value::Map(_) => false,
    }
}

/// The expected kind of a scalar type, as text.
pub(super) fn expectation(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Numeric => "a number",
        Scalar::String => "a string",
        Scalar::Boolean => "a boolean",
        Scalar::Untyped => "any scalar",
    }
}

/// A value in messages.
pub(super) fn description(value: &Value<'_>) -> String {
    match value {
        Value::List(_) => "a list".to_owned(),
        Value::Map(_) => "a map".to_owned(),
        scalar => scalar.to_string(),
    }
}

pub(super) const NO_KIND: &str = "the schema allows no value here";
pub(super) const NO_TYPE: &str = "the schema refers to a type that it doesn't define";
