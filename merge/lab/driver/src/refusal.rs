//! Why there is no answer.

use std::fmt::Display;

use crate::answer::Answer;

/// A question that has an error for an answer.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    reason: Reason,
    message: String,
}

/// What two implementations have to agree on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reason {
    /// The question makes no sense.
    BadRequest,
    /// A schema refuses a value.
    Invalid,
    /// A type, a kind or a file isn't there.
    NotFound,
    /// It failed otherwise.
    Internal,
}

impl Refusal {
    pub(crate) fn new(reason: Reason, message: impl Display) -> Self {
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

    pub(crate) fn to_answer(&self) -> Answer {
        let reason = match self.reason {
            Reason::BadRequest => "BadRequest",
            Reason::Invalid => "Invalid",
            Reason::NotFound => "NotFound",
            Reason::Internal => "Internal",
        };
        let mut answer = Answer::new();
        let out = answer.member("error");
        out.push_str("{\"reason\":\"");
        out.push_str(reason);
        out.push_str("\",\"message\":");
        crate::answer::push_json(out, &self.message);
        out.push('}');
        answer
    }
}
