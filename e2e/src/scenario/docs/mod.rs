//! The documents with generated parts, which are written from the scenarios: the [table] of all promises, and the [tutorial].

pub mod table;
pub mod tutorial;

/// Why a document can't be rendered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RenderError {
    /// It names a scenario that doesn't exist, or wasn't played.
    #[error("there is no scenario {0}: see `cargo test -p baton-e2e --test seeds -- --list`")]
    NoScenario(String),
    /// It names steps that a scenario doesn't have.
    #[error("{0} has no such steps: it has {1}")]
    NoSteps(String, usize),
    /// A begin mark without an end mark.
    #[error("<!-- scenario {0} --> has no <!-- end -->")]
    NoEnd(String),
    /// A line of the table isn't a row with four cells.
    #[error("this line isn't a row with four cells: {0}")]
    NoRow(String),
}
