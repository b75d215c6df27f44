//! The counters of a run.

use std::{collections::BTreeMap, time::Duration};

use crate::handover_model::Occurrences;

/// The counters of a run.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Requests of operators that reached the server.
    pub requests: u64,
    /// The requests that could change something.
    pub writes: u64,
    /// Processes of operators.
    pub starts: u32,
    /// The counters of the judge.
    pub judged: Judged,
    /// How often each event happened.
    pub events: BTreeMap<&'static str, u64>,
    /// How much time passed in the cluster.
    pub simulated: Duration,
}

/// The counters of the judge.
#[derive(Clone, Debug, Default)]
pub struct Judged {
    /// Stored versions.
    pub versions: u64,
    /// Replica counts that Baton changed.
    pub changes: u64,
    /// Replica counts that autoscalers changed.
    pub scalings: u64,
    /// The lowest distance of a replica count from the least that its owner may set.
    pub lowest_margin: Option<i32>,
    /// The occurrences with replica counts.
    pub occurrences: Occurrences,
}

impl Tally {
    /// Adds that of another run.
    pub(super) fn add(&mut self, other: &Self) {
        let Self { requests, writes, starts, judged, events, simulated } = other;
        self.requests += requests;
        self.writes += writes;
        self.starts += starts;
        self.judged.add(judged);
        self.simulated += *simulated;
        for (name, times) in events {
            *self.events.entry(name).or_default() += times;
        }
    }
}

impl Judged {
    fn add(&mut self, other: &Self) {
        let Self { versions, changes, scalings, lowest_margin, occurrences } = other;
        self.versions += versions;
        self.changes += changes;
        self.scalings += scalings;
        self.lowest_margin = self.lowest_margin.into_iter().chain(*lowest_margin).min();
        self.occurrences.add(occurrences);
    }

    /// The lines of a table for people.
    pub fn rows(&self) -> Vec<(&'static str, String)> {
        let margin = self.lowest_margin.map_or("–".to_owned(), |margin| margin.to_string());
        let mut rows = vec![
            ("stored versions that were judged", self.versions.to_string()),
            ("replica counts that Baton changed", self.changes.to_string()),
            ("replica counts that autoscalers changed", self.scalings.to_string()),
            ("lowest margin", margin),
        ];
        let occurred = self.occurrences.iter().filter(|(_, times)| *times > 0);
        rows.extend(occurred.map(|(occurrence, times)| (occurrence.text(), times.to_string())));
        rows
    }
}
