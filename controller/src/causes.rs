//! An error and its causes on one line, for logs and conditions.

use std::error::Error;

use baton_apply::{ApiError, LiveObject, Obstacle, PreparedWrite};

use crate::cut::cut;

/// The longest line, in bytes: the API server's messages, and those of webhooks, may be as long as an object.
const LONGEST: usize = 4096;

/// Why the API server refused a write, with the fields of other managers that are in the way.
pub fn why_refused(error: &ApiError, write: &PreparedWrite, live: Option<&LiveObject>) -> String {
    Obstacle::explain(with_causes(error), error, write, live)
}

/// The error's message and those of its causes, separated by colons; a cause that its effect quotes isn't repeated. A line that is
/// too long is cut.
pub fn with_causes(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let message = cause.to_string();
        if !line.contains(&message) {
            line = format!("{line}: {message}");
        }
        next = cause.source();
    }
    cut(line, LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{message}")]
    struct Link {
        message: &'static str,
        source: Option<Box<Link>>,
    }

    #[test]
    fn causes_follow_their_effect_and_are_said_once() {
        let root = Link { message: "connection refused", source: None };
        let quoting = Link { message: "client error (connection refused)", source: Some(Box::new(root)) };
        let top = Link { message: "can't read the Service", source: Some(Box::new(quoting)) };
        assert_eq!(with_causes(&top), "can't read the Service: client error (connection refused)");
        let long = Link { message: "no ".repeat(LONGEST).leak(), source: None };
        assert!(with_causes(&long).len() <= LONGEST);
    }
}
