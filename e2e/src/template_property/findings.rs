//! The findings, sorted, and printed for people.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fmt,
    time::Duration,
};

use serde_json::{Value, json};

use super::difference::differences;

/// The result of a run.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// How many templates counted.
    pub cases: usize,
    /// How many more the API server refused.
    pub skipped: usize,
    /// How often it gave each cause.
    pub refusals: BTreeMap<String, usize>,
    /// The failures, by sort.
    pub sorts: BTreeMap<String, Finding>,
    /// How long the cases took.
    pub took: Duration,
}

/// A sort of failure.
#[derive(Clone, Debug)]
pub struct Finding {
    /// How often it was found.
    pub count: usize,
    /// The first one, or the shrunk one.
    pub example: Example,
}

/// An edit that failed.
#[derive(Clone, Debug)]
pub struct Example {
    /// The seed of the run.
    pub seed: u64,
    /// The Workload.
    pub workload: String,
    /// The number of its case.
    pub step: usize,
    /// The edits.
    pub edits: Vec<String>,
    /// The spec before; absent for a new Workload.
    pub before: Option<Value>,
    /// The spec after.
    pub after: Value,
    /// A description for people.
    pub shown: String,
    /// Whether it was shrunk. If not, it needs more than the last edit.
    pub is_small: bool,
}

impl Findings {
    pub(super) fn refused(&mut self, refusals: Vec<Vec<String>>) {
        self.skipped += refusals.len();
        for cause in refusals.into_iter().flatten() {
            *self.refusals.entry(cause).or_default() += 1;
        }
    }

    /// Adds the result of another run.
    pub(super) fn add(&mut self, other: Self) {
        self.cases += other.cases;
        self.skipped += other.skipped;
        for (cause, count) in other.refusals {
            *self.refusals.entry(cause).or_default() += count;
        }
        for (sort, finding) in other.sorts {
            match self.sorts.entry(sort) {
                Entry::Vacant(entry) => drop(entry.insert(finding)),
                Entry::Occupied(entry) => entry.into_mut().count += finding.count,
            }
        }
    }

    /// The progress, of so many cases.
    pub(super) fn progress(&self, took: Duration, cases: usize) -> String {
        let (done, sorts) = (self.cases, self.sorts.len());
        format!("{:4} s: {done} of {cases} cases, {sorts} sorts of failures", took.as_secs())
    }

    pub(super) fn found(&mut self, sort: &str, example: Example) {
        self.sorts.entry(sort.to_owned()).or_insert(Finding { count: 0, example }).count += 1;
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (sort, Finding { count, example }) in &self.sorts {
            writeln!(f, "── {sort} ({count} of {} cases)\n{example}\n", self.cases)?;
        }
        let (cases, skipped, took, sorts) = (self.cases, self.skipped, self.took.as_secs(), self.sorts.len());
        writeln!(
            f,
            "{cases} cases in {took} s, {skipped} more that the API server refused; {sorts} sorts of failures"
        )
    }
}

impl fmt::Display for Example {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, workload, step, edits, before, after, shown, is_small } = self;
        writeln!(f, "seed {seed}, Workload {workload}, step {step}; edits: {}", edits.join(", "))?;
        if !is_small {
            writeln!(f, "(not shrunk)")?;
        }
        writeln!(f, "{shown}")?;
        let text = |value: &Value| if *is_small { value.to_string() } else { format!("{value:#}") };
        if let Some(before) = before {
            writeln!(f, "before: {}", text(before))?;
            writeln!(f, "edited:")?;
            for difference in differences(before, after) {
                writeln!(
                    f,
                    "  {}: {} → {}",
                    difference.path,
                    side(difference.wanted),
                    side(difference.found)
                )?;
            }
        }
        write!(f, "after: {}", text(after))
    }
}

fn side(value: Option<Value>) -> String {
    value.map_or("(absent)".to_owned(), |value| json!(value).to_string())
}
