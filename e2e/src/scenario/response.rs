//! What a server responded to a step, and what the step expected.

use std::collections::BTreeSet;

use baton_testbed::{Json, prediction::response};

use super::{body, owners, path, show};

/// What a step expects of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// Any success, or the one with this code.
    Success(Option<u16>),
    /// A success that stores nothing.
    NoChange,
    /// A conflict with these managers on these fields, and no others.
    Conflicts(BTreeSet<(String, String)>),
    /// A refusal with this code, in whose message this text is.
    Refusal(u16, String),
}

/// What the server responded to a step.
#[derive(Clone, Debug)]
pub struct StepResponse {
    /// The HTTP status code.
    pub code: u16,
    /// The object, or the `Status` that tells the refusal.
    pub body: Json,
    /// The texts of `Warning` headers.
    pub warnings: Vec<String>,
}

impl StepResponse {
    /// The value at a path of the response, spelled as in conflicts.
    pub fn at(&self, path: &str) -> Option<&Json> {
        path::at(&self.body, path)
    }

    /// Expects this value, written in YAML, at a path of the response.
    #[track_caller]
    pub fn expect(&self, path: &str, value: &str) {
        let (wanted, found) = (body::parse_value(value), self.at(path));
        assert!(
            found.is_some_and(|found| found.same_value(&wanted)),
            "expected is {wanted} at {path} of the response, and there is {}\n{}",
            found.map_or("nothing".to_owned(), Json::to_string),
            show::yaml(&self.body)
        );
    }

    /// Expects nothing at a path of the response.
    #[track_caller]
    pub fn expect_absent(&self, path: &str) {
        let found = self.at(path);
        assert!(
            found.is_none(),
            "expected is nothing at {path} of the response, and there is {}",
            found.map_or(String::new(), Json::to_string)
        );
    }

    /// The field managers in the response, such as `kubectl (Apply)`, in their order.
    pub fn managers(&self) -> Vec<String> {
        owners::entries(Some(&self.body)).iter().map(owners::name).collect()
    }
}

impl Expected {
    /// What the response lacks.
    pub(super) fn unmet(
        &self,
        responded: &StepResponse,
        before: Option<&Json>,
        after: Option<&Json>,
    ) -> Option<String> {
        let StepResponse { code, body, .. } = responded;
        let message = body.get("message").and_then(Json::as_str).unwrap_or_default();
        let told = if *code < 300 { code.to_string() } else { format!("{code}: {message}") };
        let is_done = (200..300).contains(code);
        match self {
            Self::Success(wanted) if is_done && wanted.is_none_or(|wanted| wanted == *code) => None,
            Self::Success(wanted) => {
                let wanted = wanted.map_or("a success".to_owned(), |code| format!("the code {code}"));
                Some(format!("expected is {wanted}; the server responds {told}"))
            }
            Self::NoChange if !is_done => Some(format!("expected is no change; the server responds {told}")),
            Self::NoChange => {
                (before != after).then(|| "expected is no change; the object has changed".to_owned())
            }
            Self::Conflicts(rows) => {
                let found = conflicts(body);
                (found != *rows || *code != 409).then(|| {
                    format!("expected are conflicts {rows:?}; the server responds {told}, with {found:?}")
                })
            }
            Self::Refusal(wanted, text) => (code != wanted || !message.contains(text))
                .then(|| format!("expected is {wanted} with {text:?}; the server responds {told}")),
        }
    }
}

/// The managers and fields that a `409 Conflict` tells, the manager with its subresource.
fn conflicts(status: &Json) -> BTreeSet<(String, String)> {
    let Ok(status) = serde_json::from_str(&status.to_string()) else { return BTreeSet::new() };
    let response = response::refused(&status);
    let text =
        |row: &Json, member: &str| row.get(member).and_then(Json::as_str).unwrap_or_default().to_owned();
    let row = |row: &Json| {
        let (manager, subresource) = (text(row, "manager"), text(row, "subresource"));
        let manager = if subresource.is_empty() { manager } else { format!("{manager} ({subresource})") };
        (manager, text(row, "field"))
    };
    response.get("conflicts").map(Json::items).unwrap_or_default().iter().map(row).collect()
}
