//! What is counted of a run.

use std::{collections::BTreeMap, time::Duration};

/// What is counted of a run.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Requests of operators that reached the server.
    pub requests: u64,
    /// Those that could change something.
    pub writes: u64,
    /// Processes of operators.
    pub starts: u32,
    /// Stored versions that were judged.
    pub versions: u64,
    /// Replica counts that Baton changed.
    pub changes: u64,
    /// How often each event happened.
    pub events: BTreeMap<&'static str, u64>,
    /// How much time passed in the cluster.
    pub simulated: Duration,
}

impl Tally {
    /// Adds that of another run.
    pub(super) fn add(&mut self, other: &Self) {
        let Self { requests, writes, starts, versions, changes, events, simulated } = other;
        self.requests += requests;
        self.writes += writes;
        self.starts += starts;
        self.versions += versions;
        self.changes += changes;
        self.simulated += *simulated;
        for (name, times) in events {
            *self.events.entry(name).or_default() += times;
        }
    }
}
