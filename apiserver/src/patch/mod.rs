//! JSON merge patch, JSON patch and strategic merge patch, with the server's errors.

mod go;
mod json;
mod lists;
mod merge;
mod schema;
mod strategic;
#[cfg(test)]
mod tests;

pub(crate) use go::go_printed;
pub(crate) use json::{json_patch, unknown_members};
pub(crate) use merge::merge_patch;
pub(crate) use schema::PatchSchema;
pub(crate) use strategic::strategic;

use serde_json::Value;

/// The error of a patch, with the message of its status.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PatchError {
    /// The body isn't a patch of this type.
    #[error("{0}")]
    BadRequest(String),
    /// It has too many operations.
    #[error("Request entity too large: The allowed maximum operations in a JSON patch is {limit}, got {found}", limit = json::MAX_OPERATIONS)]
    TooManyOperations {
        /// The count of operations.
        found: usize,
    },
    /// It doesn't fit the object. The server hides the reason; the status has empty details.
    #[error("the server rejected our request due to an error in our request")]
    Unprocessable(String),
    #[error("{0}")]
    Internal(String),
}

impl PatchError {
    /// The code of the response.
    pub(crate) fn code(&self) -> u16 {
        match self {
            Self::BadRequest(_) => 400,
            Self::TooManyOperations { .. } => 413,
            Self::Unprocessable(_) => 422,
            Self::Internal(_) => 500,
        }
    }

    /// The reason in the response's status.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::BadRequest(_) => "BadRequest",
            Self::TooManyOperations { .. } => "RequestEntityTooLarge",
            Self::Unprocessable(_) => "Invalid",
            Self::Internal(_) => "",
        }
    }
}

/// The message of Go's JSON decoder for a value of a wrong type.
fn cannot_unmarshal(value: &Value, into: &str) -> String {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    format!("json: cannot unmarshal {found} into Go {into}")
}
