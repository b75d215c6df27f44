//! All that happened in a run, for requests, and as a digest by which two runs are compared.

use std::{
    hash::{DefaultHasher, Hasher as _},
    time::Duration,
};

/// The events of a run, in their order.
#[derive(Default)]
pub(super) struct Trace {
    hasher: DefaultHasher,
    lines: Vec<String>,
}

impl Trace {
    /// A request that the server has carried out, as a line of its audit log.
    pub(super) fn request(&mut self, line: &str) {
        // The client library takes names and times of Events from the real clock.
        if !line.contains("/events") {
            self.hasher.write(line.as_bytes());
        }
        self.lines.push(line.to_owned());
    }

    /// Notes something else, at this time.
    pub(super) fn note(&mut self, at: Duration, what: &str) {
        let line = format!("{:>12.3} {what}", at.as_secs_f64());
        self.hasher.write(line.as_bytes());
        self.lines.push(line);
    }

    /// A digest of all lines in their order.
    pub(super) fn digest(&self) -> u64 {
        self.hasher.finish()
    }

    pub(super) fn lines(&self) -> &[String] {
        &self.lines
    }

    /// The number of lines so far: later ones are new.
    pub(super) fn mark(&self) -> usize {
        self.lines.len()
    }
}
