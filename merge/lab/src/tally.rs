//! Counts of outcomes, in tables for people.

use std::{collections::BTreeMap, fmt};

/// How often something had which outcome: in all, and by the rows of some tables.
#[derive(Clone, Debug)]
pub struct Tally {
    outcomes: &'static [&'static str],
    all: Vec<u64>,
    tables: BTreeMap<&'static str, BTreeMap<String, Vec<u64>>>,
}

impl Tally {
    /// Nothing was counted yet. Outcomes are told by their position.
    pub fn new(outcomes: &'static [&'static str]) -> Self {
        Self { outcomes, all: vec![0; outcomes.len()], tables: BTreeMap::new() }
    }

    /// Counts one outcome, in all and in these rows, each of a table.
    pub fn add(&mut self, outcome: usize, rows: impl IntoIterator<Item = (&'static str, String)>) {
        self.all[outcome] += 1;
        for (table, row) in rows {
            self.row(table, row)[outcome] += 1;
        }
    }

    /// Adds what another job counted.
    pub fn merge(&mut self, other: Self) {
        add(&mut self.all, &other.all);
        for (table, rows) in other.tables {
            for (row, counts) in rows {
                add(self.row(table, row), &counts);
            }
        }
    }

    /// How often it had one of these outcomes.
    pub fn count(&self, outcomes: &[usize]) -> u64 {
        outcomes.iter().map(|outcome| self.all[*outcome]).sum()
    }

    fn row(&mut self, table: &'static str, row: String) -> &mut Vec<u64> {
        self.tables.entry(table).or_default().entry(row).or_insert_with(|| vec![0; self.outcomes.len()])
    }
}

fn add(counts: &mut [u64], more: &[u64]) {
    counts.iter_mut().zip(more).for_each(|(count, more)| *count += more);
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = BTreeMap::from([("all".to_owned(), self.all.clone())]);
        let width = |outcome: &str| outcome.len().max(7) + 2;
        for (title, rows) in self.tables.iter().chain([(&"", &all)]) {
            write!(f, "{title:<32}{:>9}", "cases")?;
            self.outcomes.iter().try_for_each(|outcome| write!(f, "{outcome:>0$}", width(outcome)))?;
            writeln!(f)?;
            for (row, counts) in rows {
                write!(f, "{row:<32}{:>9}", counts.iter().sum::<u64>())?;
                let mut columns = counts.iter().zip(self.outcomes);
                columns.try_for_each(|(count, outcome)| write!(f, "{count:>0$}", width(outcome)))?;
                writeln!(f)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_counted_in_all_and_by_row() {
        let (mut one, mut other) = (Tally::new(&["good", "bad"]), Tally::new(&["good", "bad"]));
        one.add(0, [("kind", "a".to_owned())]);
        other.add(0, [("kind", "a".to_owned()), ("trait", "odd".to_owned())]);
        other.add(1, []);
        one.merge(other);
        assert_eq!((one.count(&[0]), one.count(&[1]), one.count(&[0, 1])), (2, 1, 3));
        let shown = one.to_string();
        let rows: Vec<Vec<_>> = shown.lines().map(|line| line.split_whitespace().collect()).collect();
        assert!(
            rows.contains(&vec!["a", "2", "2", "0"]) && rows.contains(&vec!["odd", "1", "1", "0"]),
            "{shown}"
        );
        assert_eq!(rows.last(), Some(&vec!["all", "3", "2", "1"]));
    }
}
