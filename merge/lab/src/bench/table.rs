//! What came out, laid out for eyes.

use std::fmt::Write as _;

use baton_testbed::units::{bytes, time};

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

fn count(count: f64) -> String {
    format!("{count:.0}")
}
