//! The response to a step, and what the step expects of it.

use std::collections::BTreeSet;

use baton_testbed::{Json, prediction::response};

use super::{body, owners, path, show};

/// The response that a step expects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// Any success, or only this code.
    Success(Option<u16>),
    /// A success that stores nothing.
    NoChange,
    /// A conflict with exactly these managers on these fields.
    Conflicts(BTreeSet<(String, String)>),
    /// A refusal with this code, and this text in its message.
    Refusal(u16, String),
}

/// The response to a step.
#[derive(Clone, Debug)]
pub struct StepResponse {
    /// The HTTP status code.
    pub code: u16,
    /// The object, or the `Status` of a refusal.
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
            "expected {wanted} at {path} of the response, found {}\n{}",
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
            "expected nothing at {path} of the response, found {}",
            found.map_or(String::new(), Json::to_string)
        );
    }

    /// The field managers in the response, such as `kubectl (Apply)`, in their order.
    pub fn managers(&self) -> Vec<String> {
        owners::entries(Some(&self.body)).iter().map(owners::name).collect()
    }
}

impl Expected {
    /// Why the response isn't the expected one, if so.
    pub(super) fn unmet(
        &self,
        responded: &StepResponse,
        before: Option<&Json>,
        after: Option<&Json>,
    ) -> Option<String> {
        let StepResponse { code, body, .. } = responded;
        let message = body.get("message").and_then(Json::as_str).unwrap_or_default();
        let shown = if *code < 300 { code.to_string() } else { format!("{code}: {message}") };
        let is_done = (200..300).contains(code);
        match self {
            Self::Success(wanted) if is_done && wanted.is_none_or(|wanted| wanted == *code) => None,
            Self::Success(wanted) => {
                let wanted = wanted.map_or("a success".to_owned(), |code| format!("the code {code}"));
                Some(format!("expected {wanted}; the server responds {shown}"))
            }
            Self::NoChange if !is_done => Some(format!("expected no change; the server responds {shown}")),
            Self::NoChange => {
                (before != after).then(|| "expected no change; the object has changed".to_owned())
            }
            Self::Conflicts(rows) => {
                let found = conflicts(body);
                (found != *rows || *code != 409).then(|| {
                    format!("expected the conflicts {rows:?}; the server responds {shown}, with {found:?}")
                })
            }
            Self::Refusal(wanted, text) => (code != wanted || !message.contains(text))
                .then(|| format!("expected {wanted} with {text:?}; the server responds {shown}")),
        }
    }
}

/// The managers and fields of a `409 Conflict`, the manager with its subresource.
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
