//! What came out, laid out for eyes.

use std::fmt::Write as _;

use super::{run::Figures, sample::median};

/// A line of the table that says what its columns are.
pub fn head() -> String {
    format!(
        "{:<16}{:<22}{:>10}{:>10}{:>8}{:>10}{:>10}{:>10}{:>10}",
        "row", "object", "Rust", "Go", "ratio", "allocs", "Go", "bytes", "Go"
    )
}

/// A line of the table.
pub fn line(figures: &Figures) -> String {
    let Figures { row, object, core, go, .. } = figures;
    let mut line = format!("{row:<16}{object:<22}");
    // Writing to a string can't fail.
    let _ = write!(
        line,
        "{:>10}{:>10}{:>8}{:>10}{:>10}{:>10}{:>10}",
        time(core.nanoseconds),
        time(go.nanoseconds),
        format!("{:.1}", figures.ratio()),
        count(core.allocations),
        count(go.allocations),
        bytes(core.bytes),
        bytes(go.bytes),
    );
    line
}

/// The last line.
pub fn summary(all: &[Figures]) -> String {
    let lowest = all.iter().map(Figures::ratio).fold(f64::INFINITY, f64::min);
    format!("median ratio {:.2}, lowest {lowest:.2}", median(all.iter().map(Figures::ratio)))
}

/// Nanoseconds in the unit that suits them.
pub fn time(nanoseconds: f64) -> String {
    with_unit(nanoseconds, &[(1e6, "ms"), (1e3, "µs"), (1.0, "ns")])
}

/// Bytes in the unit that suits them.
pub fn bytes(bytes: f64) -> String {
    with_unit(bytes, &[(1e6, "MB"), (1e3, "kB"), (1.0, "B")])
}

fn count(count: f64) -> String {
    format!("{count:.0}")
}

fn with_unit(figure: f64, units: &[(f64, &str)]) -> String {
    let (size, unit) =
        units.iter().find(|(size, _)| figure >= *size).or(units.last()).copied().unwrap_or((1.0, ""));
    let figure = figure / size;
    let digits = if figure >= 100.0 || size <= 1.0 { 0 } else { usize::from(figure < 10.0) + 1 };
    format!("{figure:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits_and_a_unit() {
        assert_eq!([0.0, 7.0, 812.4].map(time), ["0 ns", "7 ns", "812 ns"]);
        assert_eq!(
            [1_234.0, 45_678.0, 912_345.0, 2e6].map(time),
            ["1.23 µs", "45.7 µs", "912 µs", "2.00 ms"]
        );
        assert_eq!(bytes(1e6), "1.00 MB");
    }
}
