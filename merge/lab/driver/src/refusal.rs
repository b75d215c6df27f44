//! Why a request is refused.

use std::fmt::Display;

use serde::Serialize;

use crate::response::ResponseLine;

/// A request whose response is an error.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Refusal {
    reason: Reason,
    message: String,
}

/// What two implementations have to agree on.
#[derive(Clone, Copy, Debug, Serialize)]
enum Reason {
    /// The request makes no sense.
    BadRequest,
    /// A schema refuses a value.
    Invalid,
    /// A type, a kind or a file isn't there.
    NotFound,
    /// It failed otherwise.
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
