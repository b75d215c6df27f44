//! Errors with their causes, for logs and conditions.

use baton_apply::{ApiError, LiveObject, Obstacle, PreparedWrite};
pub(crate) use baton_runtime::text::with_causes;

/// Why the API server refused a write, with the fields of other managers that are in the way.
pub(crate) fn why_refused(error: &ApiError, write: &PreparedWrite, live: Option<&LiveObject>) -> String {
    Obstacle::explain(with_causes(error), error, write, live)
}
