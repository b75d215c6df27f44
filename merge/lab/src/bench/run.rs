//! Runs one row of one object after the other: first compares the results of both sides, then measures them in turns, so
//! that other work of the machine affects both.

use std::{fmt, time::Duration};

use anyhow::{Result, bail};
use baton_testbed::units::{bytes, time};
use serde::Deserialize;
use serde_json::Value as Json;

use super::{
    Row,
    core::{Core, CountAllocations},
    go::Go,
    objects::Subject,
};

/// The effort of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// The samples of each side.
    pub samples: usize,
    /// The duration of a sample, about.
    pub duration: Duration,
}

/// The averages of an op.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Sample {
    /// Time.
    pub nanoseconds: f64,
    /// The allocations.
    pub allocations: f64,
    /// The allocated bytes.
    pub bytes: f64,
}

/// One row of one object; shown as a line of the table.
#[derive(Clone, Debug)]
pub struct Figures {
    row: Row,
    /// The name of the object.
    pub object: String,
    /// The merge core.
    pub core: Sample,
    /// The Go libraries.
    pub go: Sample,
    /// For [`Row::PredictNoop`], which has to be cheaper than this: the nanoseconds for parsing the live object's JSON.
    pub parsing: Option<f64>,
}

impl Figures {
    /// Go's time divided by the core's.
    pub fn ratio(&self) -> f64 {
        self.go.nanoseconds / self.core.nanoseconds
    }
}

/// The columns of the table.
pub fn head() -> String {
    format!(
        "{:<16}{:<22}{:>10}{:>10}{:>8}{:>10}{:>10}{:>10}{:>10}",
        "row", "object", "Rust", "Go", "ratio", "allocs", "Go", "bytes", "Go"
    )
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { row, object, core, go, .. } = self;
        let (rust, by_go) = (time(core.nanoseconds), time(go.nanoseconds));
        write!(f, "{row:<16}{object:<22}{rust:>10}{by_go:>10}{:>8.1}", self.ratio())?;
        write!(f, "{:>10.0}{:>10.0}", core.allocations, go.allocations)?;
        write!(f, "{:>10}{:>10}", bytes(core.bytes), bytes(go.bytes))
    }
}

/// The last line.
pub fn summary(all: &[Figures]) -> String {
    let lowest = all.iter().map(Figures::ratio).fold(f64::INFINITY, f64::min);
    format!("median ratio {:.2}, lowest {lowest:.2}", median(all.iter().map(Figures::ratio)))
}

/// Measures a row of an object that both sides know.
pub fn run(
    row: Row,
    subject: &Subject,
    core: &Core<'_>,
    go: &mut Go,
    effort: Effort,
    count: CountAllocations,
) -> Result<Figures> {
    let (by_core, by_go) = (timeless(core.check(row)?), timeless(go.check(subject, row)?));
    if by_core != by_go {
        bail!("{row} of {} differs\n  core {by_core}\n  Go   {by_go}", subject.name);
    }
    let (allocations, bytes) = core.count(row, count)?;
    let (mut times, mut samples, mut parsing) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..effort.samples {
        times.push(core.time(row, effort.duration)?);
        samples.push(go.sample(subject, row, effort.duration)?);
        if row == Row::PredictNoop {
            parsing.push(core.time_parsing(effort.duration)?);
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "they are shown with three digits")]
    let core = Sample { nanoseconds: median(times), allocations: allocations as f64, bytes: bytes as f64 };
    let of = |figure: fn(&Sample) -> f64| median(samples.iter().map(figure));
    let go = Sample {
        nanoseconds: of(|sample| sample.nanoseconds),
        allocations: of(|sample| sample.allocations),
        bytes: of(|sample| sample.bytes),
    };
    let parsing = (row == Row::PredictNoop).then(|| median(parsing));
    Ok(Figures { row, object: subject.name.clone(), core, go, parsing })
}

/// An object without the times of its entries: each side has its own clock.
fn timeless(mut result: Json) -> Json {
    if let Some(Json::Array(entries)) = result.pointer_mut("/metadata/managedFields") {
        for entry in entries.iter_mut().filter_map(Json::as_object_mut) {
            entry.remove("time");
        }
    }
    result
}

/// The median; zero for no figures.
fn median(figures: impl IntoIterator<Item = f64>) -> f64 {
    let mut figures: Vec<_> = figures.into_iter().collect();
    figures.sort_by(f64::total_cmp);
    let middle = figures.len() / 2;
    match (figures.len() % 2, figures.get(middle)) {
        (0, Some(upper)) => f64::midpoint(figures[middle - 1], *upper),
        (_, Some(figure)) => *figure,
        (_, None) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert!((median([3.0, 100.0, 1.0]) - 3.0).abs() < f64::EPSILON);
        assert!((median([4.0, 1.0, 2.0, 100.0]) - 3.0).abs() < f64::EPSILON);
        assert!(median([]).abs() < f64::EPSILON);
    }
}
