//! Lays rows out in columns, as kubectl does.

/// The gap between two columns.
const GAP: &str = "   ";

/// Rows of `N` cells under a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table<const N: usize> {
    header: [String; N],
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    /// A table without rows.
    pub fn new(header: [&str; N]) -> Self {
        Self { header: header.map(str::to_owned), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: [String; N]) {
        self.rows.push(cells);
    }

    /// The header's line and those of the rows, each column as wide as its widest cell.
    pub fn lines(&self) -> (String, Vec<String>) {
        let mut lines = lines([&self.header].into_iter().chain(&self.rows).map(<[String; N]>::as_slice));
        (lines.remove(0), lines)
    }
}

/// A line of each row, each column as wide as its widest cell.
pub fn lines<'a>(rows: impl IntoIterator<Item = &'a [String], IntoIter: Clone>) -> Vec<String> {
    let rows = rows.into_iter();
    let mut widths = Vec::new();
    for row in rows.clone() {
        widths.resize(row.len().max(widths.len()), 0);
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    rows.map(|row| line(row, &widths)).collect()
}

fn line(cells: &[String], widths: &[usize]) -> String {
    let padded: Vec<String> =
        cells.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
    padded.join(GAP).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_as_wide_as_its_widest_cell_and_lines_have_no_trailing_blanks() {
        let mut table = Table::new(["WHO", "HOW MANY", ""]);
        table.row(["kube-controller-manager", "1", "a note"].map(str::to_owned));
        table.row(["Ünïcödé", "12", ""].map(str::to_owned));
        let (header, rows) = table.lines();
        assert_eq!(header, "WHO                       HOW MANY");
        assert_eq!(rows, ["kube-controller-manager   1          a note", "Ünïcödé                   12"]);
    }
}
