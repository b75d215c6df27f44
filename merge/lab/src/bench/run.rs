//! One row of one object after the other: first whether both sides make the same of it, then who takes how long, in
//! turns, so that whatever else the machine does meanwhile meets both.

use std::time::Duration;

use anyhow::{Result, bail};
use serde_json::Value as Json;

use super::{
    Row,
    core::{Core, CountAllocations},
    go::Go,
    objects::Subject,
    sample::{Sample, median},
};

/// How long to measure.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// How many samples each side has.
    pub samples: usize,
    /// How long each takes, about.
    pub duration: Duration,
}

/// One row of one object.
#[derive(Clone, Debug)]
pub struct Figures {
    /// The row.
    pub row: Row,
    /// The name of the object.
    pub object: &'static str,
    /// The merge core.
    pub core: Sample,
    /// The Go libraries.
    pub go: Sample,
    /// For [`Row::PredictNoop`], which has to be cheaper than that: the nanoseconds that it takes to parse the live
    /// object's JSON.
    pub parsing: Option<f64>,
}

impl Figures {
    /// How many times as long Go takes.
    pub fn ratio(&self) -> f64 {
        self.go.nanoseconds / self.core.nanoseconds
    }
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
    let parsing = (row == Row::PredictNoop).then(|| median(parsing));
    Ok(Figures { row, object: subject.name, core, go: Sample::median(&samples), parsing })
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
