//! One step of a path.

use std::{cmp::Ordering, fmt};

use crate::value::Value;

/// One step of a path: into a struct or map, or into an item of a list.
///
/// Elements are ordered as structured-merge-diff orders them: fields, keys, values, indexes.
#[derive(Clone, Copy, Debug)]
pub enum PathElement<'a> {
    /// A field of a struct or the key of a map (`f:` in FieldsV1).
    Field(&'a str),
    /// An item of an associative list, by the values of its keys, sorted by the keys' names (`k:`).
    Key(&'a [KeyField<'a>]),
    /// An item of a set, by its value (`v:`).
    Value(Value<'a>),
    /// An item of a list, by its position (`i:`).
    Index(i64),
    /// An item of an associative list without its key fields. It is never written to FieldsV1; it exists because removing
    /// an entry's fields can remove the key of an item whose own path the entry doesn't own.
    Keyless,
}

/// The name and value of a key field.
pub type KeyField<'a> = (&'a str, Value<'a>);

impl PathElement<'_> {
    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
            Self::Keyless => 4,
        }
    }

    /// Whether an item of a list has this name: all keys, or the value.
    pub fn names(&self, item: Value<'_>) -> bool {
        match *self {
            Self::Key(keys) => keys.iter().all(|(name, key)| item.get(name) == Some(*key)),
            Self::Value(value) => item == value,
            Self::Field(_) | Self::Index(_) | Self::Keyless => false,
        }
    }

    /// Whether an item of a list has this name once defaults are filled in: it has some of the keys, and no other value of one.
    pub fn may_name(&self, item: Value<'_>) -> bool {
        let Self::Key(keys) = self else { return self.names(item) };
        let agrees = |(name, key): &(&str, Value<'_>)| item.get(name).map(|own| own == *key);
        let agrees: Vec<_> = keys.iter().map(agrees).collect();
        agrees.contains(&Some(true)) && !agrees.contains(&Some(false))
    }

    /// The index of the item with this name. An item may leave out a key that has a default, such as the `protocol` of a port; one
    /// with all keys comes first.
    ///
    /// ```
    /// use baton_merge::{Arena, fieldpath::PathElement, value::Value};
    ///
    /// let arena = Arena::new();
    /// let ports = Value::from_text(&arena, r#"[{"port": 53, "protocol": "UDP"}, {"port": 53, "name": "tcp"}]"#).unwrap();
    /// let tcp = [("port", Value::Int(53)), ("protocol", Value::String("TCP"))];
    /// assert_eq!(PathElement::Key(&tcp).position(ports.as_list().unwrap()), Some(1));
    /// ```
    pub fn position(&self, items: &[Value<'_>]) -> Option<usize> {
        match *self {
            Self::Index(index) => usize::try_from(index).ok().filter(|index| *index < items.len()),
            _ => {
                let named = items.iter().position(|item| self.names(*item));
                named.or_else(|| items.iter().position(|item| self.may_name(*item)))
            }
        }
    }

    /// Compares elements that aren't both fields.
    fn compare_items(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Key(left), Self::Key(right)) => compare_keys(left, right),
            (Self::Value(left), Self::Value(right)) => left.compare(right),
            (Self::Index(left), Self::Index(right)) => left.cmp(right),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl Ord for PathElement<'_> {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(left), Self::Field(right)) => compare_names(left, right),
            _ => self.compare_items(other),
        }
    }
}

/// Compares two names. They are short and often equal, so comparing eight bytes at a time in place is faster than a call.
#[inline]
fn compare_names(left: &str, right: &str) -> Ordering {
    let common = left.len().min(right.len());
    let (mut first, mut second) = (&left.as_bytes()[..common], &right.as_bytes()[..common]);
    // The last eight bytes, or four of a short name, may overlap compared ones.
    let ends = (first.last_chunk::<8>(), second.last_chunk::<8>());
    while let (Some((chunk, first_rest)), Some((other, second_rest))) =
        (first.split_first_chunk::<8>(), second.split_first_chunk::<8>())
    {
        if chunk != other {
            return u64::from_be_bytes(*chunk).cmp(&u64::from_be_bytes(*other));
        }
        (first, second) = (first_rest, second_rest);
    }
    let order = match ends {
        (Some(end), Some(other)) => u64::from_be_bytes(*end).cmp(&u64::from_be_bytes(*other)),
        _ => compare_short(first, second),
    };
    order.then(left.len().cmp(&right.len()))
}

/// Compares fewer than eight bytes.
#[inline]
fn compare_short(left: &[u8], right: &[u8]) -> Ordering {
    let word = |bytes: &[u8]| {
        let (start, end) = (bytes.first_chunk::<4>()?, bytes.last_chunk::<4>()?);
        Some((u32::from_be_bytes(*start), u32::from_be_bytes(*end)))
    };
    match (word(left), word(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        _ => left.cmp(right),
    }
}

fn compare_keys(left: &[KeyField<'_>], right: &[KeyField<'_>]) -> Ordering {
    left.iter()
        .zip(right)
        .map(|((left_name, left), (right_name, right))| {
            left_name.cmp(right_name).then_with(|| left.compare(right))
        })
        .find(|order| order.is_ne())
        .unwrap_or_else(|| left.len().cmp(&right.len()))
}

impl PartialOrd for PathElement<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

// Derived equality would distinguish `1` from `1.0`; the order doesn't, and both must agree.
impl PartialEq for PathElement<'_> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Field(left), Self::Field(right)) => {
                left.len() == right.len() && compare_names(left, right).is_eq()
            }
            _ => self.compare_items(other).is_eq(),
        }
    }
}

impl Eq for PathElement<'_> {}

/// Prints the element as a conflict message of the API server does: `.image`, `[name="web"]`, `[="a"]`, `[2]`.
impl fmt::Display for PathElement<'_> {
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
            Self::Keyless => f.write_str("{{invalid path element}}"),
        }
    }
}
