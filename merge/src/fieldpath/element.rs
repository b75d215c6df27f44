//! One step of a path.

use std::{cmp::Ordering, fmt};

use serde_json::Value;

use crate::value::compare;

/// One step of a path: into a struct or map, or into an item of a list.
///
/// Elements are ordered as structured-merge-diff orders them: fields, keys, values, indexes.
#[derive(Clone, Debug)]
pub enum PathElement {
    /// A field of a struct or the key of a map (`f:` in FieldsV1).
    Field(String),
    /// An item of an associative list, by the values of its keys, sorted by the keys' names (`k:`).
    Key(Vec<(String, Value)>),
    /// An item of a set, by its value (`v:`).
    Value(Value),
    /// An item of a list, by its position (`i:`).
    Index(i64),
}

impl PathElement {
    /// The item of an associative list that these key values name, in any order.
    pub fn key<K: Into<String>, V: Into<Value>>(keys: impl IntoIterator<Item = (K, V)>) -> Self {
        let mut keys: Vec<_> = keys.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        keys.sort_by(|(left, _), (right, _)| left.cmp(right));
        Self::Key(keys)
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

impl From<&str> for PathElement {
    fn from(field: &str) -> Self {
        Self::Field(field.to_owned())
    }
}

impl Ord for PathElement {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(left), Self::Field(right)) => left.cmp(right),
            (Self::Key(left), Self::Key(right)) => compare_keys(left, right),
            (Self::Value(left), Self::Value(right)) => compare(left, right),
            (Self::Index(left), Self::Index(right)) => left.cmp(right),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

fn compare_keys(left: &[(String, Value)], right: &[(String, Value)]) -> Ordering {
    left.iter()
        .zip(right)
        .map(|((left_name, left), (right_name, right))| {
            left_name.cmp(right_name).then_with(|| compare(left, right))
        })
        .find(|order| order.is_ne())
        .unwrap_or_else(|| left.len().cmp(&right.len()))
}

impl PartialOrd for PathElement {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

// Derived equality would tell `1` from `1.0`; the order doesn't, and the two have to agree.
impl PartialEq for PathElement {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for PathElement {}

/// Prints the element as a conflict message of the API server does: `.image`, `[name="web"]`, `[="a"]`, `[2]`.
impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(keys) => {
                f.write_str("[")?;
                for (position, (name, value)) in keys.iter().enumerate() {
                    let separator = if position == 0 { "" } else { "," };
                    write!(f, "{separator}{name}={value}")?;
                }
                f.write_str("]")
            }
            Self::Value(value) => write!(f, "[={value}]"),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}
