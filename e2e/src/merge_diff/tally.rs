//! Counts what was asked and how it ended, for each kind of question, and what share of the questions was of use.

use std::{collections::BTreeMap, fmt};

use baton_testbed::Json;

use super::compare::Verdict;

/// Counts of one kind of question.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// All that were asked.
    pub cases: u64,
    /// The same answer.
    pub matched: u64,
    /// Both refused for the same reason.
    pub errors: u64,
    /// A side said that the answer can't be known.
    pub abstained: u64,
    /// Different answers.
    pub mismatched: u64,
    /// How many of the right side's answers have which trait.
    pub traits: BTreeMap<&'static str, u64>,
}

/// Counts by level and operation.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    rows: BTreeMap<(u8, String), Counts>,
}

impl Tally {
    /// Takes one answer into account.
    pub fn add(&mut self, request: &Json, answer: &Json, verdict: &Verdict) {
        let counts = self.rows.entry(kind(request)).or_default();
        counts.cases += 1;
        match verdict {
            Verdict::Matched => counts.matched += 1,
            Verdict::ErrorsAgreed => counts.errors += 1,
            Verdict::Abstained => counts.abstained += 1,
            Verdict::Differs { .. } => counts.mismatched += 1,
        }
        for name in traits(request, answer) {
            *counts.traits.entry(name).or_default() += 1;
        }
    }

    /// Adds what another job counted.
    pub fn merge(&mut self, other: &Self) {
        for (kind, more) in &other.rows {
            let counts = self.rows.entry(kind.clone()).or_default();
            counts.cases += more.cases;
            counts.matched += more.matched;
            counts.errors += more.errors;
            counts.abstained += more.abstained;
            counts.mismatched += more.mismatched;
            for (name, count) in &more.traits {
                *counts.traits.entry(name).or_default() += count;
            }
        }
    }

    /// All questions that both sides answered.
    pub fn answered(&self) -> u64 {
        self.sum(|counts| counts.cases - counts.abstained)
    }

    /// Those with the same answer, refusals included.
    pub fn matched(&self) -> u64 {
        self.sum(|counts| counts.matched + counts.errors)
    }

    /// Those that a side abstained from.
    pub fn abstained(&self) -> u64 {
        self.sum(|counts| counts.abstained)
    }

    /// Those with different answers.
    pub fn mismatched(&self) -> u64 {
        self.sum(|counts| counts.mismatched)
    }

    /// The kinds of questions that were asked: level and operation.
    pub fn kinds(&self) -> impl Iterator<Item = (u8, &str, &Counts)> {
        self.rows.iter().map(|((level, operation), counts)| (*level, operation.as_str(), counts))
    }

    fn sum(&self, of: impl Fn(&Counts) -> u64) -> u64 {
        self.rows.values().map(of).sum()
    }
}

impl fmt::Display for Tally {
    /// A table for people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<5} {:<10} {:>9} {:>9} {:>9} {:>9} {:>9}  of which",
            "level", "operation", "cases", "matched", "errors", "abstained", "differ"
        )?;
        for ((level, operation), counts) in &self.rows {
            let shares: Vec<_> = counts
                .traits
                .iter()
                .map(|(name, count)| format!("{name} {}%", (count * 100).div_ceil(counts.cases.max(1))))
                .collect();
            writeln!(
                f,
                "{:<5} {:<10} {:>9} {:>9} {:>9} {:>9} {:>9}  {}",
                level,
                operation,
                counts.cases,
                counts.matched,
                counts.errors,
                counts.abstained,
                counts.mismatched,
                shares.join(", ")
            )?;
        }
        Ok(())
    }
}

/// The level and the operation of a request.
fn kind(request: &Json) -> (u8, String) {
    let operation = request.get("do").and_then(Json::as_str).unwrap_or("(none)");
    let level = match operation {
        "apply" | "update" if request.get("gvk").is_some() => 3,
        "apply" | "update" => 2,
        _ => 1,
    };
    let operation = match request.get("subresource").and_then(Json::as_str) {
        Some(subresource @ ("status" | "scale")) => format!("{operation}/{subresource}"),
        _ => operation.to_owned(),
    };
    (level, operation)
}

/// What tells a case that shows something from one that shows little.
fn traits(request: &Json, answer: &Json) -> Vec<&'static str> {
    if answer.get("error").is_some() {
        return Vec::new();
    }
    if answer.get("conflicts").is_some() {
        return vec!["conflicts"];
    }
    let mut traits = Vec::new();
    match request.get("do").and_then(Json::as_str) {
        Some("merge") if answer.get("value") == request.get("live") => traits.push("unchanged"),
        Some("remove" | "extract") => match answer.get("value") {
            value if value == request.get("value") => traits.push("whole"),
            None | Some(Json::Null) => traits.push("nothing"),
            _ => traits.push("part"),
        },
        Some("compare") if sets_are_empty(answer) => traits.push("equal"),
        Some("reconcile") if answer.get("set").is_some_and(|set| *set != Json::Null) => {
            traits.push("changed");
        }
        Some("apply" | "update") => {
            let unchanged = answer.get("object") == Some(&Json::Null)
                || answer.get("changed") == Some(&Json::Bool(false));
            if unchanged {
                traits.push("no-op");
            } else if let (Some(live), Some(object)) = (request.get("live"), answer.get("object"))
                && request.get("do").and_then(Json::as_str) == Some("apply")
                && loses(live, object)
            {
                traits.push("prunes");
            }
            if request.get("live").is_none_or(|live| *live == Json::Null) {
                traits.push("creates");
            }
            let entries =
                answer.at(&["object", "metadata", "managedFields"]).map(Json::items).unwrap_or_default();
            for name in ["ancient-changes", "before-first-apply"] {
                if entries.iter().any(|entry| entry.get("manager").and_then(Json::as_str) == Some(name)) {
                    traits.push(name);
                }
            }
        }
        _ => {}
    }
    traits
}

/// Whether a comparison found nothing.
fn sets_are_empty(answer: &Json) -> bool {
    ["added", "modified", "removed"].iter().all(|name| answer.get(name).is_some_and(Json::is_empty))
}

/// Whether something of `live` is gone from `object`: a member, or as many items as there are fewer.
fn loses(live: &Json, object: &Json) -> bool {
    match (live, object) {
        (Json::Object(members), Json::Object(_)) => members
            .iter()
            .filter(|(name, _)| name != "managedFields")
            .any(|(name, value)| object.get(name).is_none_or(|object| loses(value, object))),
        (Json::List(live), Json::List(object)) => live.len() > object.len(),
        _ => false,
    }
}
