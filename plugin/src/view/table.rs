//! Rows in columns, as kubectl prints them.

use std::io::{self, Write};

use anstyle::Style;

use crate::terminal::{BOLD, PLAIN};

/// The gap between two columns.
const GAP: &str = "   ";

/// A text in a table.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    pub(crate) fn new(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::new(text, PLAIN)
    }
}

/// Rows of `N` cells under a header.
#[derive(Clone, Debug)]
pub(crate) struct Table<const N: usize> {
    rows: Vec<[Cell; N]>,
}

impl<const N: usize> Table<N> {
    /// A table without rows.
    pub(crate) fn new(header: [&str; N]) -> Self {
        Self { rows: vec![header.map(|name| Cell::new(name, BOLD))] }
    }

    /// Rows without a header.
    pub(crate) fn headless() -> Self {
        Self { rows: Vec::new() }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: [Cell; N]) {
        self.rows.push(cells);
    }

    /// Writes the rows after an indentation, each column as wide as its widest cell, without blanks at the end of a line.
    pub(crate) fn write(&self, out: &mut dyn Write, indentation: &str) -> io::Result<()> {
        let mut widths = [0; N];
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.text.chars().count().max(*width);
            }
        }
        for row in &self.rows {
            let last = row.iter().rposition(|cell| !cell.text.is_empty()).map_or(0, |last| last + 1);
            write!(out, "{indentation}")?;
            for (column, (Cell { text, style }, width)) in row[..last].iter().zip(widths).enumerate() {
                let is_last = column + 1 == last;
                let padding = if is_last { 0 } else { width - text.chars().count() };
                write!(out, "{style}{text}{style:#}{:padding$}{}", "", if is_last { "" } else { GAP })?;
            }
            writeln!(out)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::RED;

    #[test]
    fn columns_are_aligned_by_what_is_seen() {
        let mut table = Table::new(["WHO", "HOW MANY", ""]);
        table.row([Cell::new("kube-controller-manager", RED), "1".into(), "a note".into()]);
        table.row(["Ünïcödé".into(), "12".into(), "".into()]);
        let mut out = anstream::StripStream::new(Vec::new());
        table.write(&mut out, "  ").unwrap();
        assert_eq!(
            String::from_utf8(out.into_inner()).unwrap(),
            "  WHO                       HOW MANY\n  \
               kube-controller-manager   1          a note\n  \
               Ünïcödé                   12\n"
        );
    }
}
