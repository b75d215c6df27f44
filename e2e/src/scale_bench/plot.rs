//! A plot of what operators cost over the number of Workloads: CPU by Workload of all phases together, and memory with all
//! settled.

use std::fmt::Write as _;

use super::{
    figures::{Phase, Run},
    report::{groups, thousands},
};
use crate::pictures::svg::{Body, Chart, DARK_TEXT, TEXT};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 348.0;
/// The left edges of the charts, and their common width, upper and lower edge.
const LEFT: [f64; 2] = [56.0, 416.0];
const SPAN: f64 = 280.0;
const TOP: f64 = 116.0;
const BOTTOM: f64 = 300.0;
/// The distance of the first and the last point from the edges, of the width.
const MARGIN: f64 = 1.0 / 14.0;

/// Four series at most: both operators on both servers. The colours are visible in both themes, and series also differ by dashes.
const SERIES: &str = "\
.s0{stroke:#0969da;fill:#0969da}.s1{stroke:#bc4c00;fill:#bc4c00;stroke-dasharray:6 3}\
.s2{stroke:#8250df;fill:#8250df;stroke-dasharray:2 3}.s3{stroke:#1a7f37;fill:#1a7f37;stroke-dasharray:8 3 2 3}\
path.s0,path.s1,path.s2,path.s3{fill:none}circle{stroke-dasharray:none}";
const DARK_SERIES: &str = "\
.s0{stroke:#4493f8;fill:#4493f8}.s1{stroke:#f0883e;fill:#f0883e}.s2{stroke:#ab7df8;fill:#ab7df8}.s3{stroke:#3fb950;fill:#3fb950}}";

/// One operator on one server.
struct Series {
    name: String,
    /// The number of Workloads, CPU by Workload in milliseconds, memory in MiB.
    points: Vec<(u32, [f64; 2])>,
}

/// Draws runs, which are sorted by operator, server and size.
pub fn svg(runs: &[Run]) -> String {
    let series: Vec<Series> = groups(runs).map(series_of).collect();
    let mut sizes: Vec<u32> = runs.iter().map(|run| run.workloads).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let mut body = Body::default();
    for (number, series) in series.iter().enumerate() {
        let y = 16.0 + 18.0 * as_f64(number);
        body.path(&format!("s{number}"), &format!("M{} {y}h28", LEFT[0]));
        body.text("", [LEFT[0] + 36.0, y + 4.0], &series.name);
    }
    for (chart, title) in ["CPU by Workload, all phases, ms", "memory settled, MiB"].into_iter().enumerate() {
        draw(&mut body, chart, title, &sizes, &series);
    }
    let style = format!("{TEXT}{SERIES}{DARK_TEXT}{DARK_SERIES}");
    let title = "CPU and memory over the number of Workloads";
    body.document([WIDTH, HEIGHT], title, &description(&series), &style)
}

fn series_of(group: &[Run]) -> Series {
    let name = group.first().map(|run| format!("{}, {}", run.operator, run.server.name()));
    let points = group.iter().map(|run| (run.workloads, [cpu(run), memory(run)])).collect();
    Series { name: name.unwrap_or_default(), points }
}

/// CPU in milliseconds by Workload, of the phases that every operator has.
fn cpu(run: &Run) -> f64 {
    let phases = [Phase::Create, Phase::EditAll, Phase::Restart, Phase::Delete];
    let seconds: f64 =
        phases.iter().filter_map(|phase| run.phases.get(phase)).map(|figures| figures.cpu).sum();
    seconds * 1e3 / f64::from(run.workloads.max(1))
}

#[expect(clippy::cast_precision_loss, reason = "no machine has 2^53 bytes")]
fn memory(run: &Run) -> f64 {
    run.memory.settled as f64 / (1024.0 * 1024.0)
}

fn draw(body: &mut Body, of: usize, title: &str, sizes: &[u32], series: &[Series]) {
    let values = series.iter().flat_map(|series| &series.points).map(|(_, values)| values[of]);
    let step = step(values.fold(0.0, f64::max));
    let chart = Chart { left: LEFT[of], width: SPAN, top: TOP, bottom: BOTTOM, most: step * 4.0 };
    let share = |size: u32| MARGIN + (1.0 - 2.0 * MARGIN) * along(size, sizes);
    body.text("title", [chart.left, TOP - 14.0], title);
    chart.lines(body, (0..=4).map(|line| step * f64::from(line)));
    for size in sizes {
        chart.below(body, "", share(*size), 18.0, thousands(*size));
    }
    chart.below(body, "", 0.5, 38.0, "Workloads");
    for (number, series) in series.iter().enumerate() {
        let at = |(size, values): &(u32, [f64; 2])| [chart.x(share(*size)), chart.y(values[of])];
        let points: Vec<_> = series.points.iter().map(at).collect();
        let line: Vec<_> = points.iter().map(|[x, y]| format!("{x} {y}")).collect();
        let class = format!("s{number}");
        body.path(&class, &format!("M{}", line.join("L")));
        for point in points {
            body.circle(&class, point, 3.0);
        }
    }
}

/// The position of a size between the smallest and the largest, by its logarithm.
fn along(size: u32, sizes: &[u32]) -> f64 {
    let log = |size: u32| f64::from(size.max(1)).ln();
    match (sizes.first(), sizes.last()) {
        (Some(least), Some(most)) if most > least => (log(size) - log(*least)) / (log(*most) - log(*least)),
        _ => 0.5,
    }
}

/// A round step; four of them reach at least this far.
fn step(most: f64) -> f64 {
    let least = (most / 4.0).max(1e-3);
    let decade = 10_f64.powf(least.log10().floor());
    let factors = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|factor| factor * decade);
    factors.into_iter().find(|step| *step >= least).unwrap_or(least)
}

/// The figures as text, for people who can't see the plot.
fn description(series: &[Series]) -> String {
    let mut text = String::new();
    for Series { name, points } in series {
        let _ = write!(text, "{name}:");
        for (size, [cpu, memory]) in points {
            let _ = write!(text, " {} Workloads {cpu:.1} ms each, {memory:.0} MiB;", thousands(*size));
        }
        text.push(' ');
    }
    text.trim_end().to_owned()
}

#[expect(clippy::cast_precision_loss, reason = "there are a few")]
fn as_f64(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_steps_are_round_and_reach_the_largest_value() {
        for (most, expected) in [(0.0, 1e-3), (3.0, 1.0), (4.0, 1.0), (4.1, 2.0), (33.0, 10.0), (171.0, 50.0)]
        {
            let step = step(most);
            assert!((step - expected).abs() < 1e-9, "{most}: {step}");
        }
    }

    #[test]
    fn sizes_lie_on_a_logarithmic_axis() {
        let sizes = [100, 1_000, 10_000];
        for (size, expected) in [(100, 0.0), (1_000, 0.5), (10_000, 1.0)] {
            assert!((along(size, &sizes) - expected).abs() < 1e-9, "{size}");
        }
        assert!((along(7, &[7]) - 0.5).abs() < 1e-9);
    }
}
