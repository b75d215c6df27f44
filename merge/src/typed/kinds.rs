//! Which of the kinds that a type allows a value has.

use crate::{
    schema::{Atom, List, Map, definition::Scalar},
    value::Value,
};

/// The kinds of an atom that a value could be. A value of a kind that the atom has leaves that one; null, absent and
/// misfit values leave all.
#[derive(Clone, Copy)]
pub(super) struct Kinds<'a> {
    atom: &'a Atom,
    map: bool,
    scalar: bool,
    list: bool,
}

/// What a walk treats a value as.
#[derive(Clone, Copy)]
pub(super) enum Kind<'a> {
    Map(&'a Map),
    Scalar(Scalar),
    List(&'a List),
    /// The type allows nothing.
    None,
}

impl<'a> Kinds<'a> {
    pub(super) fn of(atom: &'a Atom, value: Option<&Value<'_>>) -> Self {
        let all =
            Self { atom, map: atom.map.is_some(), scalar: atom.scalar.is_some(), list: atom.list.is_some() };
        let none = Self { atom, map: false, scalar: false, list: false };
        match value {
            Some(Value::Int(_) | Value::Float(_) | Value::String(_) | Value::Bool(_)) if all.scalar => {
                Self { scalar: true, ..none }
            }
            Some(Value::List(_)) if all.list => Self { list: true, ..none },
            Some(Value::Map(_)) if all.map => Self { map: true, ..none },
            _ => all,
        }
    }

    /// Of several kinds a map comes first, then a scalar, then a list.
    pub(super) fn kind(self) -> Kind<'a> {
        if let Some(map) = self.atom.map.as_ref().filter(|_| self.map) {
            Kind::Map(map)
        } else if let Some(scalar) = self.atom.scalar.filter(|_| self.scalar) {
            Kind::Scalar(scalar)
        } else if let Some(list) = self.atom.list.as_ref().filter(|_| self.list) {
            Kind::List(list)
        } else {
            Kind::None
        }
    }
}

impl Kind<'_> {
    /// Whether two are the same kind, of one type.
    pub(super) fn is_same(self, other: Self) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
}

/// Whether a scalar type takes a value; null always fits.
pub(super) fn fits(scalar: Scalar, value: &Value<'_>) -> bool {
    match value {
        Value::Null => true,
        Value::Int(_) | Value::Float(_) => matches!(scalar, Scalar::Numeric | Scalar::Untyped),
        Value::String(_) => matches!(scalar, Scalar::String | Scalar::Untyped),
        Value::Bool(_) => matches!(scalar, Scalar::Boolean | Scalar::Untyped),
        Value::List(_) | Value::Map(_) => false,
    }
}

/// What a scalar type expects, in words.
pub(super) fn expectation(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Numeric => "a number",
        Scalar::String => "a string",
        Scalar::Boolean => "a boolean",
        Scalar::Untyped => "any scalar",
    }
}

/// What a value is, in words.
pub(super) fn description(value: &Value<'_>) -> String {
    match value {
        Value::List(_) => "a list".to_owned(),
        Value::Map(_) => "a map".to_owned(),
        scalar => scalar.to_string(),
    }
}

pub(super) const NO_KIND: &str = "the schema allows no value here";
pub(super) const NO_TYPE: &str = "the schema refers to a type that it doesn't define";
