//! Compares two responses to one request, by the rules of the protocol. It doesn't know which one is right.

use serde::Deserialize;
use serde_json::{Number, Value, value::RawValue};

use crate::request::Members;

/// The result of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Equal responses.
    Matched,
    /// Both are errors with the same reason.
    ErrorsAgreed,
    /// They differ, and a side says that the response can't be known.
    Abstained,
    /// They differ.
    Differs {
        /// The way in which they differ, which a smaller case has to keep.
        way: Way,
        /// The place, for people.
        at: String,
    },
}

/// A way in which two responses differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The left response isn't JSON: the peer crashed, or hung.
    LeftBroken,
    /// The right response isn't JSON.
    RightBroken,
    /// Only the left response is an error.
    LeftRefuses,
    /// Only the right response is an error.
    RightRefuses,
    /// Both are errors, for different reasons.
    Reasons,
    /// The contents differ.
    Content,
}

impl Way {
    fn at(self, at: impl Into<String>) -> Verdict {
        Verdict::Differs { way: self, at: at.into() }
    }
}

/// Compares two responses. The order of members is free in values and exact in field sets; numbers keep their spelling, as
/// integers or floats, except where a server stores them; messages of errors are free.
pub fn compare(left: &str, right: &str) -> Verdict {
    let (left, right) = match (Response::read(left), Response::read(right)) {
        (Ok(left), Ok(right)) => (left, right),
        (Err(error), _) => {
            return Way::LeftBroken.at(format!("the left response is no JSON object: {error}"));
        }
        (_, Err(error)) => {
            return Way::RightBroken.at(format!("the right response is no JSON object: {error}"));
        }
    };
    match (left.reason(), right.reason()) {
        (None, None) => {}
        // A server may refuse a write whose response the left side can't know.
        (None, Some(_)) if left.abstains() => return Verdict::Abstained,
        (Some(_), None) => return Way::LeftRefuses.at("only the left refuses"),
        (None, Some(_)) => return Way::RightRefuses.at("only the right refuses"),
        (Some(one), Some(other)) if one == other && !one.is_empty() => return Verdict::ErrorsAgreed,
        (Some(one), Some(other)) => return Way::Reasons.at(format!("the reasons are {one:?} and {other:?}")),
    }
    let abstains = left.abstains() || right.abstains();
    let level = if left.get("changed").is_some() { Level::Write } else { Level::Response };
    match of_members(&left.content(), &right.content(), level, &mut String::new()) {
        None => Verdict::Matched,
        Some(_) if abstains => Verdict::Abstained,
        Some(at) => Way::Content.at(at),
    }
}

/// The members of a response.
struct Response<'a>(Vec<(String, &'a RawValue)>);

#[derive(Deserialize)]
struct Refusal {
    #[serde(default)]
    reason: String,
}

impl<'a> Response<'a> {
    fn read(text: &'a str) -> serde_json::Result<Self> {
        Ok(Self(serde_json::from_str::<Members<'_>>(text)?.0))
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.get())
    }

    /// The reason of an error, or an empty one.
    fn reason(&self) -> Option<String> {
        let error = self.get("error")?;
        Some(serde_json::from_str::<Refusal>(error).map(|refusal| refusal.reason).unwrap_or_default())
    }

    /// Whether it says that the server's response can't be known.
    fn abstains(&self) -> bool {
        self.get("certainty") == Some("\"unknown\"")
    }

    /// The compared members. Certainty isn't one: only the core knows what a server would default.
    fn content(self) -> Vec<(String, &'a RawValue)> {
        let is_content = |name: &str| !matches!(name, "certainty" | "reason");
        self.0.into_iter().filter(|(name, _)| is_content(name)).collect()
    }
}

/// A level of a response, by the meaning of its members' order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    /// The top of a response: no meaning.
    Response,
    /// The top of a response about a write.
    Write,
    /// A stored object: no meaning; numbers are as the server writes them, `1.0` as `1`.
    Stored,
    /// The managers of the updater: no meaning.
    Managers,
    /// One of these managers, with a set.
    Manager,
    /// A value: no meaning.
    Value,
    /// An entry of managedFields, with a set.
    Entry,
    /// A field set: the order counts.
    Set,
}

impl Level {
    /// The level of a member, at `path` below the response.
    fn of_member(self, path: &str, name: &str) -> Self {
        match (self, name) {
            (Self::Response, "set" | "added" | "modified" | "removed")
            | (Self::Manager, "set")
            | (Self::Entry, "fieldsV1")
            | (Self::Set, _) => Self::Set,
            (Self::Response, "managers") => Self::Managers,
            (Self::Managers, _) => Self::Manager,
            (Self::Write, "object") | (Self::Stored, _)
                if path != ".object.metadata" || name != "managedFields" =>
            {
                Self::Stored
            }
            (Self::Value | Self::Stored, "managedFields") if path == ".object.metadata" => Self::Entry,
            (Self::Entry, _) => Self::Entry,
            _ => Self::Value,
        }
    }
}

/// The first difference.
fn difference(left: &RawValue, right: &RawValue, level: Level, path: &mut String) -> Option<String> {
    if left.get() == right.get() {
        return None;
    }
    let differ = |what: String| Some(format!("{}: {what}", shown(path)));
    match (Parts::of(left), Parts::of(right)) {
        (Parts::Object(left), Parts::Object(right)) => of_members(&left, &right, level, path),
        (Parts::List(left), Parts::List(right)) if left.len() == right.len() => {
            left.iter().zip(right).enumerate().find_map(|(i, (left, right))| {
                below(path, &format!("[{i}]"), |path| difference(left, right, level, path))
            })
        }
        (Parts::List(left), Parts::List(right)) => {
            differ(format!("{} items and {}", left.len(), right.len()))
        }
        (Parts::Single(left), Parts::Single(right)) if level.holds_same(&left, &right) => None,
        _ => differ(format!("{} and {}", left.get(), right.get())),
    }
}

fn of_members(
    left: &[(String, &RawValue)],
    right: &[(String, &RawValue)],
    level: Level,
    path: &mut String,
) -> Option<String> {
    let differ = |what: String| Some(format!("{}: {what}", shown(path)));
    let names =
        |members: &[(String, &RawValue)]| members.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    let is_missing = |of: &[(String, &RawValue)], name: &str| of.iter().all(|(known, _)| known != name);
    if level == Level::Set {
        if names(left) != names(right) {
            return differ(format!(
                "members are `{}` and `{}`",
                names(left).join(" "),
                names(right).join(" ")
            ));
        }
    } else if let Some((name, _)) = right.iter().find(|(name, _)| is_missing(left, name)) {
        return differ(format!("only the right has `{name}`"));
    }
    left.iter().enumerate().find_map(|(i, (name, value))| {
        let known = right.iter().find(|(known, _)| known == name);
        let Some((_, counterpart)) = (if level == Level::Set { right.get(i) } else { known }) else {
            return Some(format!("{}: only the left has `{name}`", shown(path)));
        };
        let of = level.of_member(path, name);
        below(path, &format!(".{name}"), |path| difference(value, counterpart, of, path))
    })
}

/// Runs a search with a longer path.
fn below<T>(path: &mut String, step: &str, find: impl FnOnce(&mut String) -> T) -> T {
    let length = path.len();
    path.push_str(step);
    let found = find(path);
    path.truncate(length);
    found
}

/// A JSON value, parsed by one level: members keep their order and numbers their text.
enum Parts<'a> {
    Object(Vec<(String, &'a RawValue)>),
    List(Vec<&'a RawValue>),
    Single(Value),
}

impl<'a> Parts<'a> {
    fn of(raw: &'a RawValue) -> Self {
        let text = raw.get();
        // It was parsed as JSON before.
        match text.as_bytes().first() {
            Some(b'{') => {
                Self::Object(serde_json::from_str::<Members<'_>>(text).map(|all| all.0).unwrap_or_default())
            }
            Some(b'[') => Self::List(serde_json::from_str(text).unwrap_or_default()),
            _ => Self::Single(serde_json::from_str(text).unwrap_or_default()),
        }
    }
}

impl Level {
    /// Whether two scalars are equal at this level.
    fn holds_same(self, left: &Value, right: &Value) -> bool {
        match (left, right) {
            (Value::Number(left), Value::Number(right)) => {
                is_spelled_like(left, right) || self == Self::Stored && is_stored_like(left, right)
            }
            _ => left == right,
        }
    }
}

/// An integer isn't a float, nor is `0.0` `-0.0`. Digits and exponent of a float are free, and an integer of more than 64
/// bits is a float.
fn is_spelled_like(left: &Number, right: &Number) -> bool {
    if left.is_i64() || right.is_i64() {
        return left == right;
    }
    left.as_f64().map(f64::to_bits) == right.as_f64().map(f64::to_bits)
}

/// Whether a server writes two numbers alike: `1.0` as `1`, and `-0.0` as `-0`.
fn is_stored_like(left: &Number, right: &Number) -> bool {
    let is_minus_zero =
        |number: &Number| number.as_f64().is_some_and(|float| float == 0.0 && float.is_sign_negative());
    let same = match (left.as_i128(), right.as_i128()) {
        (Some(left), Some(right)) => left == right,
        _ => left.as_f64() == right.as_f64(),
    };
    same && is_minus_zero(left) == is_minus_zero(right)
}

fn shown(path: &str) -> &str {
    if path.is_empty() { "the response" } else { path }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differs(left: &str, right: &str) -> bool {
        matches!(compare(left, right), Verdict::Differs { .. })
    }

    #[test]
    fn errors_agree_by_their_reasons() {
        let error = |reason: &str, message: &str| {
            format!(r#"{{"error":{{"reason":"{reason}","message":"{message}"}}}}"#)
        };
        assert_eq!(compare(&error("Invalid", "a"), &error("Invalid", "b")), Verdict::ErrorsAgreed);
        assert!(differs(&error("Invalid", "a"), &error("Internal", "a")));
        assert!(differs(&error("Invalid", "a"), r#"{"ok":true}"#));
        assert!(
            differs(r#"{"error":{}}"#, r#"{"error":{}}"#),
            "an error without a reason agrees with nothing"
        );
    }

    #[test]
    fn the_order_of_members_is_free_in_values_and_exact_in_sets() {
        assert_eq!(compare(r#"{"value":{"a":1,"b":2}}"#, r#"{"value":{"b":2,"a":1}}"#), Verdict::Matched);
        assert!(differs(r#"{"set":{"f:a":{},"f:b":{}}}"#, r#"{"set":{"f:b":{},"f:a":{}}}"#));
        assert!(differs(r#"{"set":{"f:x":{"f:a":{},"f:b":{}}}}"#, r#"{"set":{"f:x":{"f:b":{},"f:a":{}}}}"#));
        let managers = |manager: &str| format!(r#"{{"managers":{{"set":{{{manager}}}}}}}"#);
        assert!(differs(
            &managers(r#""set":{"f:a":{},"f:b":{}}"#),
            &managers(r#""set":{"f:b":{},"f:a":{}}"#)
        ));
        assert_eq!(
            compare(&managers(r#""set":{},"version":"v1""#), &managers(r#""version":"v1","set":{}"#)),
            Verdict::Matched
        );
        let object = |set: &str| format!(r#"{{"object":{{"metadata":{{"managedFields":[{set}]}}}}}}"#);
        assert!(differs(
            &object(r#"{"fieldsV1":{"f:a":{},"f:b":{}}}"#),
            &object(r#"{"fieldsV1":{"f:b":{},"f:a":{}}}"#)
        ));
        assert_eq!(
            compare(
                &object(r#"{"manager":"m","operation":"Apply"}"#),
                &object(r#"{"operation":"Apply","manager":"m"}"#)
            ),
            Verdict::Matched
        );
    }

    #[test]
    fn a_number_keeps_its_spelling_but_not_its_digits() {
        let value = |number: &str| format!(r#"{{"value":{{"a":[{number}]}}}}"#);
        for (left, right) in [("1", "1.0"), ("0.0", "-0.0"), ("9007199254740993", "9007199254740992.0")] {
            assert!(differs(&value(left), &value(right)), "{left} {right}");
        }
        assert_eq!(compare(&value("1e3"), &value("1000.0")), Verdict::Matched);
        assert_eq!(compare(&value("1e+21"), &value("1e21")), Verdict::Matched);
    }

    #[test]
    fn what_a_server_stores_has_its_spelling() {
        let stored = |number: &str| format!(r#"{{"object":{{"a":[{number}]}},"changed":true}}"#);
        assert_eq!(compare(&stored("1"), &stored("1.0")), Verdict::Matched);
        assert!(differs(&stored("0.0"), &stored("-0.0")));
        assert!(differs(&stored("1"), &stored("1.5")));
    }

    #[test]
    fn a_field_named_set_in_a_value_is_no_set() {
        assert_eq!(
            compare(r#"{"value":{"set":{"a":1,"b":2}}}"#, r#"{"value":{"set":{"b":2,"a":1}}}"#),
            Verdict::Matched
        );
    }

    #[test]
    fn absent_null_and_empty_differ() {
        for (left, right) in [
            (r#"{"object":null}"#, "{}"),
            (r#"{"value":{}}"#, r#"{"value":null}"#),
            (r#"{"value":[]}"#, r#"{"value":{}}"#),
            (r#"{"set":{}}"#, r#"{"set":null}"#),
        ] {
            assert!(differs(left, right), "{left} {right}");
        }
    }

    #[test]
    fn an_abstention_is_neither_right_nor_wrong() {
        assert_eq!(
            compare(r#"{"certainty":"unknown","reason":"x"}"#, r#"{"object":{}}"#),
            Verdict::Abstained
        );
        let refusal = r#"{"error":{"reason":"Internal"}}"#;
        assert_eq!(compare(r#"{"object":{},"certainty":"unknown"}"#, refusal), Verdict::Abstained);
        assert!(differs(r#"{"object":{},"certainty":"exact"}"#, refusal));
        assert_eq!(
            compare(
                r#"{"object":{},"certainty":"exact"}"#,
                r#"{"object":{},"certainty":"modulo-defaulting"}"#
            ),
            Verdict::Matched
        );
    }

    #[test]
    fn a_response_that_is_no_json_differs_from_everything() {
        assert!(differs("the process ended", "the process ended"));
    }
}
