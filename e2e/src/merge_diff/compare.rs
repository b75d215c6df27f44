//! When two answers are the same. It follows the protocol's rules and doesn't know which answer is right.

use baton_testbed::Json;

/// What two answers to one request are to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The same answer.
    Matched,
    /// Both refuse, and for the same reason.
    ErrorsAgreed,
    /// A side says that the answer can't be known.
    Abstained,
    /// They differ.
    Differs {
        /// In which way: a case that is made smaller has to differ in the same one.
        way: Way,
        /// Where, for people.
        at: String,
    },
}

/// The ways in which answers differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The left answer is no JSON: the peer died, or hung.
    LeftBroken,
    /// The right answer is no JSON.
    RightBroken,
    /// Only the left side refuses.
    LeftRefuses,
    /// Only the right side refuses.
    RightRefuses,
    /// Both refuse, for different reasons.
    Reasons,
    /// Something else is answered.
    Content,
}

impl Way {
    fn at(self, at: impl Into<String>) -> Verdict {
        Verdict::Differs { way: self, at: at.into() }
    }
}

/// Compares two answers. The order of members is free in values and exact in field sets; numbers keep their spelling, as
/// integers or floats, but where a server stores them; messages of errors are free.
pub fn compare(left: &str, right: &str) -> Verdict {
    let (left, right): (Json, Json) = match (left.parse(), right.parse()) {
        (Ok(left), Ok(right)) => (left, right),
        (Err(error), _) => return Way::LeftBroken.at(format!("the left answer is no JSON: {error}")),
        (_, Err(error)) => return Way::RightBroken.at(format!("the right answer is no JSON: {error}")),
    };
    compare_read(&left, &right)
}

/// The verdict on an answer that both sides gave, to the letter.
pub fn agreed(answer: &Json) -> Verdict {
    match answer.get("error") {
        Some(error) if reason(error).is_some() => Verdict::ErrorsAgreed,
        Some(_) => Way::Reasons.at("the error has no reason"),
        None if abstains(answer) => Verdict::Abstained,
        None => Verdict::Matched,
    }
}

/// The same as [`compare`] for answers that are read already.
fn compare_read(left: &Json, right: &Json) -> Verdict {
    match (left.get("error"), right.get("error")) {
        (Some(left), Some(right)) => {
            return match (reason(left), reason(right)) {
                (Some(one), Some(other)) if one == other => Verdict::ErrorsAgreed,
                (one, other) => Way::Reasons.at(format!("the reasons are {one:?} and {other:?}")),
            };
        }
        (Some(_), None) => return Way::LeftRefuses.at("only the left refuses"),
        (None, Some(_)) => return Way::RightRefuses.at("only the right refuses"),
        (None, None) => {}
    }
    if abstains(left) || abstains(right) {
        return Verdict::Abstained;
    }
    // How sure a side is says nothing about the answer: only the core knows what a server would default.
    let known = |answer: &Json| {
        let mut answer = answer.clone();
        answer.take("certainty");
        answer.take("reason");
        answer
    };
    let place = if left.get("changed").is_some() { Place::Write } else { Place::Answer };
    match difference(&known(left), &known(right), place, &mut String::new()) {
        None => Verdict::Matched,
        Some(at) => Way::Content.at(at),
    }
}

/// The reason of an error.
fn reason(error: &Json) -> Option<&str> {
    error.get("reason").and_then(Json::as_str)
}

/// Whether the answer says that it can't be known.
fn abstains(answer: &Json) -> bool {
    answer.get("certainty").and_then(Json::as_str) == Some("unknown")
}

/// A place in an answer, by what the order of members means there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// At the top of an answer: nothing, and the members tell what is below.
    Answer,
    /// At the top of an answer that holds what a server stores.
    Write,
    /// In what a server stores: as in a value, and numbers are as the server writes them, `1.0` as `1`.
    Stored,
    /// In the managers of the updater: nothing, and below is one after the other.
    Managers,
    /// In one of these managers: nothing, and it has a set.
    Manager,
    /// In a value: nothing.
    Value,
    /// In an entry of managedFields: nothing, and the set of the entry is below.
    Entry,
    /// In a field set: everything.
    Set,
}

impl Place {
    /// The place of a member, at `path` below the answer.
    fn of_member(self, path: &str, name: &str) -> Self {
        match (self, name) {
            (Self::Answer, "set" | "added" | "modified" | "removed")
            | (Self::Manager, "set")
            | (Self::Entry, "fieldsV1")
            | (Self::Set, _) => Self::Set,
            (Self::Answer, "managers") => Self::Managers,
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

/// Where the two differ first, if they do.
fn difference(left: &Json, right: &Json, place: Place, path: &mut String) -> Option<String> {
    match (left, right) {
        (Json::Object(one), Json::Object(other)) => {
            if place == Place::Set {
                let names = |members: &[(String, Json)]| {
                    members.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>().join(" ")
                };
                if names(one) != names(other) {
                    return Some(format!(
                        "{}: members are `{}` and `{}`",
                        shown(path),
                        names(one),
                        names(other)
                    ));
                }
            } else if let Some((name, _)) = other.iter().find(|(name, _)| left.get(name).is_none()) {
                return Some(format!("{}: only the right has `{name}`", shown(path)));
            }
            for (i, (name, value)) in one.iter().enumerate() {
                let counterpart =
                    if place == Place::Set { other.get(i).map(|(_, value)| value) } else { right.get(name) };
                let Some(counterpart) = counterpart else {
                    return Some(format!("{}: only the left has `{name}`", shown(path)));
                };
                let below = place.of_member(path, name);
                let length = path.len();
                path.push('.');
                path.push_str(name);
                if let Some(found) = difference(value, counterpart, below, path) {
                    return Some(found);
                }
                path.truncate(length);
            }
            None
        }
        (Json::List(one), Json::List(other)) if one.len() == other.len() => {
            for (i, (one, other)) in one.iter().zip(other).enumerate() {
                let length = path.len();
                path.push('[');
                path.push_str(&i.to_string());
                path.push(']');
                if let Some(found) = difference(one, other, place, path) {
                    return Some(found);
                }
                path.truncate(length);
            }
            None
        }
        (Json::List(one), Json::List(other)) => {
            Some(format!("{}: {} items and {}", shown(path), one.len(), other.len()))
        }
        _ if place == Place::Stored && left.is_stored_like(right) => None,
        _ => (!left.is_spelled_like(right)).then(|| format!("{}: {left} and {right}", shown(path))),
    }
}

fn shown(path: &str) -> &str {
    if path.is_empty() { "the answer" } else { path }
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
        assert_eq!(
            compare(
                r#"{"object":{},"certainty":"exact"}"#,
                r#"{"object":{},"certainty":"modulo-defaulting"}"#
            ),
            Verdict::Matched
        );
    }

    #[test]
    fn an_answer_that_is_no_json_differs_from_everything() {
        assert!(differs("the process ended", "the process ended"));
    }
}
