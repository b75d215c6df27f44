//! Counts predictions by kind, by write, and by what became of them.

use std::{collections::BTreeMap, fmt};

use baton_testbed::{Json, prediction::Verdict};

use super::transcript::Step;

/// What became of some predictions.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    matched: u64,
    modulo_defaulting: u64,
    unknown: u64,
    refused: u64,
    mismatched: u64,
}

impl Counts {
    fn add(&mut self, verdict: &Verdict) {
        *match verdict {
            Verdict::Match => &mut self.matched,
            Verdict::ModuloDefaulting => &mut self.modulo_defaulting,
            Verdict::Unknown => &mut self.unknown,
            Verdict::Refused => &mut self.refused,
            Verdict::Mismatch(_) => &mut self.mismatched,
        } += 1;
    }

    fn merge(&mut self, other: Self) {
        self.matched += other.matched;
        self.modulo_defaulting += other.modulo_defaulting;
        self.unknown += other.unknown;
        self.refused += other.refused;
        self.mismatched += other.mismatched;
    }

    fn row(self) -> String {
        let Self { matched, modulo_defaulting, unknown, refused, mismatched } = self;
        let writes = matched + modulo_defaulting + unknown + refused + mismatched;
        format!("{writes:>8} {matched:>8} {modulo_defaulting:>18} {unknown:>8} {refused:>8} {mismatched:>9}")
    }
}

/// What tells a write that shows something from one that shows little.
fn traits(step: &Step) -> Vec<&'static str> {
    let (request, server) = (step.request(), step.server());
    let mut traits = Vec::new();
    if server.get("conflicts").is_some() {
        traits.push("conflicts");
    } else if server.get("code").is_some_and(|code| code.to_string() != "200") {
        traits.push("refused");
    }
    if server.get("changed") == Some(&Json::Bool(false)) {
        traits.push("no-op");
    }
    let entries = server.get("managedFields").or_else(|| server.at(&["object", "metadata", "managedFields"]));
    let entries = entries.map(Json::items).unwrap_or_default();
    let before = request.at(&["live", "metadata", "managedFields"]).map(Json::items).unwrap_or_default();
    for name in ["ancient-changes", "before-first-apply"] {
        let is_there = |entries: &[Json]| {
            entries.iter().any(|entry| entry.get("manager").and_then(Json::as_str) == Some(name))
        };
        if is_there(entries) && !is_there(before) {
            traits.push(name);
        }
    }
    let version = |entry: &Json| entry.get("apiVersion").cloned();
    if before.iter().any(|entry| version(entry) != request.get("live").and_then(version)) {
        traits.push("entries of other versions");
    }
    traits
}

/// All counts of a run.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    all: Counts,
    kinds: BTreeMap<String, Counts>,
    writes: BTreeMap<String, Counts>,
    traits: BTreeMap<String, Counts>,
}

impl Tally {
    /// Takes a step into account.
    pub fn add(&mut self, step: &Step, verdict: &Verdict) {
        self.all.add(verdict);
        self.kinds.entry(step.kind().to_owned()).or_default().add(verdict);
        self.writes.entry(step.write().to_owned()).or_default().add(verdict);
        for name in traits(step) {
            self.traits.entry(name.to_owned()).or_default().add(verdict);
        }
    }

    /// Adds what another job counted.
    pub fn merge(&mut self, other: &Self) {
        self.all.merge(other.all);
        let tables = [
            (&mut self.kinds, &other.kinds),
            (&mut self.writes, &other.writes),
            (&mut self.traits, &other.traits),
        ];
        for (ours, theirs) in tables {
            for (name, counts) in theirs {
                ours.entry(name.clone()).or_default().merge(*counts);
            }
        }
    }

    /// Writes that were predicted rightly, the server's defaults aside.
    pub fn matched(&self) -> u64 {
        self.all.matched + self.all.modulo_defaulting
    }

    /// Writes that were predicted and done, or refused for a reason that is predicted.
    pub fn predicted(&self) -> u64 {
        self.matched() + self.all.mismatched
    }
}

impl fmt::Display for Tally {
    /// Three tables for people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = "  writes    match  modulo-defaulting  unknown  refused  mismatch";
        for (title, rows) in [("kind", &self.kinds), ("write", &self.writes), ("of which", &self.traits)] {
            writeln!(f, "{title:<24}{columns}")?;
            for (name, counts) in rows {
                writeln!(f, "{name:<24}{}", counts.row())?;
            }
            if title == "of which" { writeln!(f)? } else { writeln!(f, "{:<24}{}\n", "all", self.all.row())? }
        }
        Ok(())
    }
}
