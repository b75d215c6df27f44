//! The result of an apply.

use crate::{ApiError, Comparison, Effects, LiveObject, Misuse, Outcome};

/// The result of an apply that the server accepted, or that needn't be sent.
#[derive(Debug)]
#[non_exhaustive]
pub struct ApplyOutcome {
    /// The object as the server returned it; as it was read, if nothing was sent, or if its last finalizer was removed and it is gone.
    pub object: LiveObject,
    /// Whether anything was sent. If not, it certainly changes nothing.
    pub sent: bool,
    /// Whether the object isn't the one that was read. If it is, the apply was sent although it changes nothing: see
    /// [`PreparedWrite::reason`](crate::PreparedWrite::reason).
    pub changed: bool,
    /// The changes of single fields, as far as the response confirms them; empty if they couldn't be predicted.
    pub effects: Effects,
    /// The comparison of the response with the prediction. `None` if there was no prediction, nothing was sent, or the server had
    /// another object than was read.
    pub comparison: Option<Comparison>,
}

/// The error of an apply.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// The object isn't the one that was read: it was created, deleted or replaced since or, if the apply is
    /// [guarded](crate::Options::guarded), changed. Read it again and decide again.
    #[error("{}", .0.line())]
    Stale(ApiError),
    /// An apply without force met fields that other managers own with other values.
    #[error("{}", .0.line())]
    Conflict(ApiError),
    /// The request is refused until something changes: the intent, the object, a policy or a permission.
    #[error("{}", .0.line())]
    Rejected(ApiError),
    /// The request or its response was lost, or the server couldn't do it now. It may be stored, and an apply can be repeated:
    /// retry after a pause.
    #[error("{}", .0.line())]
    Failed(ApiError),
}

/// An error of another request than an apply, such as the read before it.
impl From<ApiError> for ApplyError {
    fn from(error: ApiError) -> Self {
        if error.is_rejection() { Self::Rejected(error) } else { Self::Failed(error) }
    }
}

impl From<Misuse> for ApplyError {
    fn from(misuse: Misuse) -> Self {
        Self::Rejected(misuse.into())
    }
}

impl ApplyOutcome {
    /// From the outcome of an apply, and the object that it was made for.
    pub(crate) fn of(outcome: Outcome, live: Option<LiveObject>) -> Result<Self, ApplyError> {
        match outcome {
            Outcome::Stored { object, changed, effects, comparison } => {
                Ok(Self { object, sent: true, changed, effects, comparison })
            }
            Outcome::Skipped | Outcome::Deleted(_) => {
                let sent = !matches!(outcome, Outcome::Skipped);
                let left = if let Outcome::Deleted(left) = outcome { left } else { None };
                let Some(object) = left.or(live) else {
                    unreachable!("without an object, an apply creates one")
                };
                Ok(Self { object, sent, changed: sent, effects: Effects::default(), comparison: None })
            }
            Outcome::Stale { error, .. } if error.is_ownership_conflict() => Err(ApplyError::Conflict(error)),
            Outcome::Stale { error, .. } => Err(ApplyError::Stale(error)),
            Outcome::Rejected { error, .. } => Err(ApplyError::Rejected(error)),
            Outcome::Failed(error) => Err(ApplyError::Failed(error)),
        }
    }
}
