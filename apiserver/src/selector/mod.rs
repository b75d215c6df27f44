//! Label selectors, in queries and objects, and field selectors.

pub(crate) mod fields;
mod labels;
mod lexer;
#[cfg(test)]
mod tests;

pub(crate) use fields::{FieldSelector, SelectableFields};
pub(crate) use labels::{LabelSelector, format_labels};

/// The error of an invalid selector, with the server's message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct SelectorError(pub(crate) String);

/// A text as Go's `%q` quotes it.
fn quoted(text: &str) -> String {
    baton_merge::value::Value::String(text).to_string()
}
