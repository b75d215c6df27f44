//! Patches that aren't server-side apply: JSON merge patch, JSON patch and strategic merge patch, with the server's responses to
//! patches that can't be applied.

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

/// Why a patch can't be applied. Shown as the message of the response's status.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PatchError {
    /// It isn't a patch of this sort.
    #[error("{0}")]
    BadRequest(String),
    /// It has more operations than the server takes.
    #[error("Request entity too large: The allowed maximum operations in a JSON patch is {limit}, got {found}", limit = json::MAX_OPERATIONS)]
    TooManyOperations {
        /// How many it has.
        found: usize,
    },
    /// It doesn't fit the object. What doesn't fit, the server keeps to itself; its status has empty details.
    #[error("the server rejected our request due to an error in our request")]
    Unprocessable(String),
    /// The server fails at it.
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

/// What Go's JSON parser says of a value of an unexpected type.
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
