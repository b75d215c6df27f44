//! A JSON document that keeps what comparing two responses needs: the order of members, and members that repeat. It doesn't
//! know what a document means.
//!
//! `serde_json::Value` keeps neither. Its feature `preserve_order` would keep the order, in all crates of the same build: the tests
//! would then test an operator and a server whose maps aren't those that are shipped.

use std::{fmt, str::FromStr, sync::Arc};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, SeqAccess, Visitor},
    ser::Error as _,
};
pub use serde_json::Number;

/// One JSON value.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`, which is not the same as absent.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer of 64 bits or a float; which of them is kept.
    Number(Number),
    /// A string.
    String(String),
    /// A list.
    List(Vec<Json>),
    /// An object: its members in the order in which they were written.
    Object(Vec<(String, Json)>),
    /// A value that is written already, for what is large and the same in many requests. It is opaque until it is read
    /// again.
    Text(Arc<str>),
}

impl Json {
    /// An object without members.
    pub const fn object() -> Self {
        Self::Object(Vec::new())
    }

    /// A string.
    pub fn string(text: impl Into<String>) -> Self {
        Self::String(text.into())
    }

    /// A float; `null` where JSON has no word for it.
    pub fn float(number: f64) -> Self {
        Number::from_f64(number).map_or(Self::Null, Self::Number)
    }

    /// The object with one more member, or with the member replaced.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Self>) -> Self {
        self.set(name, value);
        self
    }

    /// Sets a member of an object. Anything else stays as it is.
    pub fn set(&mut self, name: &str, value: impl Into<Self>) {
        let value = value.into();
        if let Self::Object(members) = self {
            match members.iter_mut().find(|(known, _)| known == name) {
                Some((_, old)) => *old = value,
                None => members.push((name.to_owned(), value)),
            }
        }
    }

    /// Takes a member out of an object.
    pub fn take(&mut self, name: &str) -> Option<Self> {
        let Self::Object(members) = self else { return None };
        let at = members.iter().position(|(known, _)| known == name)?;
        Some(members.remove(at).1)
    }

    /// A member of an object.
    pub fn get(&self, name: &str) -> Option<&Self> {
        self.members().iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// A member of an object, to be changed.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Self> {
        let Self::Object(members) = self else { return None };
        members.iter_mut().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// The value at the end of a chain of members.
    pub fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |value, name| value.get(name))
    }

    /// The member of that name, made an empty object first if it isn't one.
    pub fn entry(&mut self, name: &str) -> &mut Self {
        if !matches!(self, Self::Object(_)) {
            *self = Self::object();
        }
        let Self::Object(members) = self else { unreachable!("it was made an object above") };
        let at = members.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
            members.push((name.to_owned(), Self::object()));
            members.len() - 1
        });
        &mut members[at].1
    }

    /// The members; none where it isn't an object.
    pub fn members(&self) -> &[(String, Self)] {
        if let Self::Object(members) = self { members } else { &[] }
    }

    /// The items; none where it isn't a list.
    pub fn items(&self) -> &[Self] {
        if let Self::List(items) = self { items } else { &[] }
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self { Some(text) } else { None }
    }

    /// Whether it is an object or a list without content.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::List(items) => items.is_empty(),
            Self::Object(members) => members.is_empty(),
            _ => false,
        }
    }

    /// How many values it is made of, itself included.
    pub fn size(&self) -> usize {
        match self {
            Self::List(items) => 1 + items.iter().map(Self::size).sum::<usize>(),
            Self::Object(members) => 1 + members.iter().map(|(_, value)| value.size()).sum::<usize>(),
            _ => 1,
        }
    }

    /// Equal as values are: the order of members is free, `1` equals `1.0`.
    pub fn same_value(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Number(left), Self::Number(right)) => same_number(left, right),
            (Self::List(left), Self::List(right)) => {
                left.len() == right.len()
                    && left.iter().zip(right).all(|(left, right)| left.same_value(right))
            }
            (Self::Object(left), Self::Object(right)) => {
                left.len() == right.len()
                    && left
                        .iter()
                        .all(|(name, value)| other.get(name).is_some_and(|other| value.same_value(other)))
            }
            _ => self == other,
        }
    }
}

/// Integers compare by every digit, and a float with an integer as Go compares them: both as floats.
fn same_number(left: &Number, right: &Number) -> bool {
    match (left.as_i128(), right.as_i128()) {
        (Some(left), Some(right)) => left == right,
        _ => left.as_f64() == right.as_f64(),
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Json {
    fn from(value: i64) -> Self {
        Self::Number(value.into())
    }
}

impl From<&str> for Json {
    fn from(value: &str) -> Self {
        Self::string(value)
    }
}

impl From<String> for Json {
    fn from(value: String) -> Self {
        Self::String(value)
    }
}

impl From<Vec<Self>> for Json {
    fn from(items: Vec<Self>) -> Self {
        Self::List(items)
    }
}

impl FromStr for Json {
    type Err = serde_json::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        serde_json::from_str(text)
    }
}

impl fmt::Display for Json {
    /// One line without spaces.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |text: &str| serde_json::to_string(text).map_err(|_| fmt::Error);
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::String(text) => f.write_str(&quoted(text)?),
            Self::Text(text) => f.write_str(text),
            Self::List(items) => {
                f.write_str("[")?;
                for (i, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if i == 0 { "" } else { "," })?;
                }
                f.write_str("]")
            }
            Self::Object(members) => {
                f.write_str("{")?;
                for (i, (name, value)) in members.iter().enumerate() {
                    write!(f, "{}{}:{value}", if i == 0 { "" } else { "," }, quoted(name)?)?;
                }
                f.write_str("}")
            }
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;

        impl<'de> Visitor<'de> for Any {
            type Value = Json;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any JSON value")
            }

            fn visit_unit<E>(self) -> Result<Json, E> {
                Ok(Json::Null)
            }

            fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
                Ok(Json::Bool(value))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
                Ok(Json::Number(value.into()))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
                Ok(Json::Number(value.into()))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
                Ok(Json::float(value))
            }

            fn visit_str<E>(self, value: &str) -> Result<Json, E> {
                Ok(Json::string(value))
            }

            fn visit_string<E>(self, value: String) -> Result<Json, E> {
                Ok(Json::String(value))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Json, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = access.next_element()? {
                    items.push(item);
                }
                Ok(Json::List(items))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Json, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = access.next_entry()? {
                    members.push(member);
                }
                Ok(Json::Object(members))
            }
        }

        deserializer.deserialize_any(Any)
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(number) => number.serialize(serializer),
            Self::String(text) => serializer.serialize_str(text),
            Self::List(items) => serializer.collect_seq(items),
            Self::Object(members) => {
                serializer.collect_map(members.iter().map(|(name, value)| (name, value)))
            }
            Self::Text(text) => text.parse::<Self>().map_err(S::Error::custom)?.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        text.parse().unwrap()
    }

    #[test]
    fn what_is_read_is_written_alike() {
        for text in [
            "null",
            r#"{"b":1,"a":[true,null,-9223372036854775808,18446744073709551615],"b":1.5}"#,
            r#""a\"\\<\u0001é""#,
            "[]",
        ] {
            assert_eq!(json(text).to_string(), text);
        }
    }

    #[test]
    fn values_are_the_same_in_any_order_of_members_and_any_spelling_of_a_number() {
        assert!(json(r#"{"a":1,"b":[1.0]}"#).same_value(&json(r#"{"b":[1],"a":1.0}"#)));
        assert!(!json(r#"{"a":1}"#).same_value(&json(r#"{"a":null}"#)));
        assert!(!json(r#"{"a":null}"#).same_value(&json("{}")));
        assert!(!json("9007199254740993").same_value(&json("9007199254740992")));
        assert!(!json("[1,2]").same_value(&json("[2,1]")));
    }
}
