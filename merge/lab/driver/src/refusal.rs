//! Errors of requests.

use std::fmt::Display;

use serde::Serialize;

use crate::response::ResponseLine;

/// An error response.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Refusal {
    reason: Reason,
    message: String,
}

/// The reason, on which two implementations must agree.
#[derive(Clone, Copy, Debug, Serialize)]
enum Reason {
    /// The request is invalid.
    BadRequest,
    /// A schema refuses a value.
    Invalid,
    /// A type, a kind or a file doesn't exist.
    NotFound,
    /// Other failures.
    Internal,
}

impl Refusal {
    fn new(reason: Reason, message: impl Display) -> Self {
        Self { reason, message: message.to_string() }
    }

    pub(crate) fn bad_request(message: impl Display) -> Self {
        Self::new(Reason::BadRequest, message)
    }

    pub(crate) fn invalid(message: impl Display) -> Self {
        Self::new(Reason::Invalid, message)
    }

    pub(crate) fn not_found(message: impl Display) -> Self {
        Self::new(Reason::NotFound, message)
    }

    pub(crate) fn internal(message: impl Display) -> Self {
        Self::new(Reason::Internal, message)
    }

    pub(crate) fn to_response(&self) -> ResponseLine {
        ResponseLine::new().with("error", self)
    }
}
