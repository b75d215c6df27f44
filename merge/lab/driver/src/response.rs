//! Responses.

use baton_merge::fieldpath::FieldSet;
use serde::Serialize;

use crate::refusal::Refusal;

/// A JSON object that is written member by member.
pub(crate) struct ResponseLine(String);

impl ResponseLine {
    pub(crate) fn new() -> Self {
        Self("{".to_owned())
    }

    /// Begins a member; the caller appends its value to the returned text.
    pub(crate) fn member(&mut self, name: &str) -> &mut String {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push('"');
        self.0.push_str(name);
        self.0.push_str("\":");
        &mut self.0
    }

    /// Writes a member.
    pub(crate) fn with<T: Serialize + ?Sized>(mut self, name: &str, value: &T) -> Self {
        push_json(self.member(name), value);
        self
    }

    /// Writes a field set, if it is writable.
    pub(crate) fn with_set(mut self, name: &str, set: FieldSet<'_>) -> Result<Self, Refusal> {
        set.write_fields_v1(writable(set).map(|()| self.member(name))?);
        Ok(self)
    }

    pub(crate) fn finish(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// Refuses a field set that can't be written.
pub(crate) fn writable(set: FieldSet<'_>) -> Result<(), Refusal> {
    if set.is_writable() { Ok(()) } else { Err(Refusal::internal("the set has an element without a name")) }
}

/// Appends a value as JSON.
pub(crate) fn push_json<T: Serialize + ?Sized>(out: &mut String, value: &T) {
    match serde_json::to_string(value) {
        Ok(text) => out.push_str(&text),
        // Values, field sets and strings can always be written.
        Err(_) => out.push_str("null"),
    }
}
