//! The plot of [three operators](super::replicas): one panel for each, on the same axes.

use std::fmt::Write as _;

use super::{
    replicas::{Change, Operator, Recording, Track},
    svg::{Body, Chart, DARK_TEXT, TEXT},
};

const SIZE: [f64; 2] = [760.0, 292.0];
/// Each panel's left edge; width, upper and lower edge of all.
const LEFT: [f64; 3] = [34.0, 284.0, 534.0];
const SPAN: f64 = 212.0;
const TOP: f64 = 92.0;
const BOTTOM: f64 = 238.0;
/// The greatest replica count of the axis, and the lines.
const MOST: f64 = 70.0;
const LINES: [f64; 4] = [0.0, 20.0, 40.0, 60.0];

const TITLE: &str = "Three operators turn on autoscaling for 50 pods. The load needs 60.";

/// Draws a recording.
pub fn svg(recording: &Recording) -> String {
    let style = format!(
        "{TEXT}.head{{font-size:15px;font-weight:600}}.small{{font-size:11px}}.on{{stroke:#8c959f;stroke-width:1;stroke-dasharray:3 3}}\
         .area{{stroke:none;opacity:.14}}.bad{{stroke:#d1242f}}.area.bad,circle.bad,text.bad{{fill:#d1242f;stroke:none}}\
         .good{{stroke:#0969da}}.area.good,text.good{{fill:#0969da;stroke:none}}text.bad,text.good{{font-weight:600}}\
         {DARK_TEXT}.bad{{stroke:#ff7b72}}.area.bad,circle.bad,text.bad{{fill:#ff7b72}}\
         .good{{stroke:#4493f8}}.area.good,text.good{{fill:#4493f8}}}}"
    );
    let mut body = Body::default();
    body.text("head", [LEFT[0], 20.0], TITLE);
    for (left, track) in LEFT.into_iter().zip(&recording.tracks) {
        panel(&mut body, left, track, recording);
    }
    body.document(SIZE, TITLE, &description(recording), &style)
}

fn panel(body: &mut Body, left: f64, track: &Track, recording: &Recording) {
    let (name, what, class) = match track.operator {
        Operator::StopsApplying => {
            ("One stops applying replicas", "The API server resets the field to 1.", "bad")
        }
        Operator::KeepsApplying => {
            ("One keeps applying replicas: 50", "It overwrites the autoscaler forever.", "bad")
        }
        Operator::Baton => ("Baton hands the field over", "The count never drops.", "good"),
    };
    let chart = Chart { left, width: SPAN, top: TOP, bottom: BOTTOM, most: MOST };
    let at = |seconds: f64| seconds / recording.end;
    body.text("title", [left, 48.0], name);
    body.text("small", [left, 64.0], what);
    chart.lines(body, LINES);
    body.path("on", &format!("M{} {TOP}V{BOTTOM}", chart.x(at(recording.autoscaling))));
    body.text("small", [left, TOP - 6.0], "autoscaling on");
    for (minutes, label) in [(0.0, "0"), (1.0, "1 min"), (2.0, "2 min")] {
        chart.below(body, "small", at(recording.autoscaling + 60.0 * minutes), 16.0, label);
    }
    let line = line(&chart, &track.changes, at);
    body.path(&format!("area {class}"), &format!("{line}V{BOTTOM}H{left}Z"));
    body.path(class, &line);
    let lowest = track.changes.iter().min_by_key(|change| change.replicas);
    if let Some(fall) = lowest.filter(|fall| fall.replicas <= 1) {
        body.circle(class, [chart.x(at(fall.at)), chart.y(fall.replicas.into())], 4.0);
    }
    chart.below(body, class, 0.5, 40.0, note(track));
}

/// A replica count holds until the next one.
fn line(chart: &Chart, changes: &[Change], at: impl Fn(f64) -> f64) -> String {
    let mut line = String::new();
    for change in changes {
        let y = chart.y(change.replicas.into());
        let _ = if line.is_empty() {
            write!(line, "M{} {y}", chart.left)
        } else {
            write!(line, "H{}V{y}", chart.x(at(change.at)))
        };
    }
    let _ = write!(line, "H{}", chart.x(1.0));
    line
}

/// The text below a chart.
fn note(track: &Track) -> String {
    let counts = counts(track);
    match track.operator {
        Operator::StopsApplying => format!("spec.replicas fell to {}", counts.iter().min().unwrap_or(&0)),
        Operator::KeepsApplying => {
            format!(
                "spec.replicas overwritten {} times",
                counts.windows(2).filter(|pair| pair[1] < pair[0]).count()
            )
        }
        Operator::Baton => format!("spec.replicas: {}", joined(&counts, " → ")),
    }
}

/// Each replica count once.
fn counts(track: &Track) -> Vec<i32> {
    let mut counts: Vec<i32> = track.changes.iter().map(|change| change.replicas).collect();
    counts.dedup();
    counts
}

fn joined(counts: &[i32], by: &str) -> String {
    counts.iter().map(ToString::to_string).collect::<Vec<_>>().join(by)
}

/// The recording as text.
fn description(recording: &Recording) -> String {
    let mut text = String::new();
    for track in &recording.tracks {
        let operator = match track.operator {
            Operator::StopsApplying => "An operator that stops applying spec.replicas",
            Operator::KeepsApplying => "An operator that keeps applying spec.replicas",
            Operator::Baton => "Baton",
        };
        let _ = write!(text, "{operator}: {}. ", joined(&counts(track), ", "));
    }
    let _ = write!(text, "Recorded on Kubernetes {}.", recording.kubernetes);
    text
}
