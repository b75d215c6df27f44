//! Counts of outcomes, in a table for people.

use std::{collections::BTreeMap, fmt};

/// Counts of outcomes: in all, and by row.
#[derive(Clone, Debug)]
pub struct Tally {
    outcomes: &'static [&'static str],
    rows: BTreeMap<String, Vec<u64>>,
}

/// The row of all, which sorts last.
const ALL: &str = "~all";

impl Tally {
    /// No counts yet. An outcome is given by its index.
    pub fn new(outcomes: &'static [&'static str]) -> Self {
        Self { outcomes, rows: BTreeMap::new() }
    }

    /// Counts one outcome, in all and in these rows.
    pub fn add(&mut self, outcome: usize, rows: impl IntoIterator<Item = String>) {
        for row in rows.into_iter().chain([ALL.to_owned()]) {
            self.row(row)[outcome] += 1;
        }
    }

    /// Adds the counts of another job.
    pub fn merge(&mut self, other: Self) {
        for (row, counts) in other.rows {
            self.row(row).iter_mut().zip(counts).for_each(|(count, more)| *count += more);
        }
    }

    /// The count of these outcomes.
    pub fn count(&self, outcomes: &[usize]) -> u64 {
        self.rows.get(ALL).map_or(0, |all| outcomes.iter().map(|outcome| all[*outcome]).sum())
    }

    fn row(&mut self, row: String) -> &mut Vec<u64> {
        self.rows.entry(row).or_insert_with(|| vec![0; self.outcomes.len()])
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<32}{:>9}", "", "cases")?;
        self.outcomes.iter().try_for_each(|outcome| write!(f, "{outcome:>19}"))?;
        for (row, counts) in &self.rows {
            write!(f, "\n{:<32}{:>9}", row.trim_start_matches('~'), counts.iter().sum::<u64>())?;
            counts.iter().try_for_each(|count| write!(f, "{count:>19}"))?;
        }
        writeln!(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_counted_in_all_and_by_row() {
        let (mut one, mut other) = (Tally::new(&["good", "bad"]), Tally::new(&["good", "bad"]));
        one.add(0, ["a".to_owned()]);
        other.add(0, ["a".to_owned(), "odd".to_owned()]);
        other.add(1, []);
        one.merge(other);
        assert_eq!((one.count(&[0]), one.count(&[1]), one.count(&[0, 1])), (2, 1, 3));
        let shown = one.to_string();
        let rows: Vec<Vec<_>> = shown.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(
            rows[1..],
            [vec!["a", "2", "2", "0"], vec!["odd", "1", "1", "0"], vec!["all", "3", "2", "1"]]
        );
    }
}
