//! All that happened in a run, for people, and as a number by which two runs are compared.

use std::{
    hash::{DefaultHasher, Hasher as _},
    time::Duration,
};

/// What happened, in its order.
#[derive(Default)]
pub(super) struct Trace {
    hasher: DefaultHasher,
    lines: Vec<String>,
}

impl Trace {
    /// A request that the server has carried out, as a line of its audit log.
    pub(super) fn request(&mut self, line: &str) {
        // Names and times of Events are the real clock's, as the client library makes them.
        if !line.contains("/events") {
            self.hasher.write(line.as_bytes());
        }
        self.lines.push(line.to_owned());
    }

    /// Something else, after so much time.
    pub(super) fn note(&mut self, at: Duration, what: &str) {
        let line = format!("{:>12.3} {what}", at.as_secs_f64());
        self.hasher.write(line.as_bytes());
        self.lines.push(line);
    }

    /// A number that is another one if anything else happens, or in another order.
    pub(super) fn digest(&self) -> u64 {
        self.hasher.finish()
    }

    pub(super) fn lines(&self) -> &[String] {
        &self.lines
    }

    /// So many lines there are; what comes after them is new.
    pub(super) fn mark(&self) -> usize {
        self.lines.len()
    }
}
