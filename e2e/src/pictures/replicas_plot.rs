//! The plot of [three operators](super::replicas): one panel for each, on the same axes.

use std::fmt::Write as _;

use super::{
    replicas::{Change, Operator, Recording, Track},
    svg::{DARK_TEXT, TEXT, document},
};

const SIZE: [f64; 2] = [760.0, 292.0];
/// Each panel's left edge; width, upper and lower edge of all.
const LEFT: [f64; 3] = [34.0, 284.0, 534.0];
const SPAN: f64 = 212.0;
const TOP: f64 = 92.0;
const BOTTOM: f64 = 238.0;
/// The greatest replica count of the axis, and the lines.
const MOST: i32 = 70;
const LINES: [i32; 4] = [0, 20, 40, 60];

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
    let mut body = format!("<text class=\"head\" x=\"{}\" y=\"20\">{TITLE}</text>\n", LEFT[0]);
    for (left, track) in LEFT.into_iter().zip(&recording.tracks) {
        panel(&mut body, left, track, recording);
    }
    document(SIZE, TITLE, &description(recording), &style, &body)
}

fn panel(body: &mut String, left: f64, track: &Track, recording: &Recording) {
    let (name, what, class) = match track.operator {
        Operator::StopsApplying => {
            ("One stops applying replicas", "The API server resets the field to 1.", "bad")
        }
        Operator::KeepsApplying => {
            ("One keeps applying replicas: 50", "It overwrites the autoscaler forever.", "bad")
        }
        Operator::Baton => ("Baton hands the field over", "The count never drops.", "good"),
    };
    let x = |at: f64| left + SPAN * at / recording.end;
    let y = |replicas: i32| BOTTOM - (BOTTOM - TOP) * f64::from(replicas) / f64::from(MOST);
    let _ = writeln!(body, "<text class=\"title\" x=\"{left}\" y=\"48\">{name}</text>");
    let _ = writeln!(body, "<text class=\"small\" x=\"{left}\" y=\"64\">{what}</text>");
    for line in LINES {
        let class = if line == 0 { "axis" } else { "grid" };
        let _ = writeln!(
            body,
            "<path class=\"{class}\" d=\"M{left} {:.1}h{SPAN}\"/><text class=\"end small\" x=\"{}\" y=\"{:.1}\">{line}</text>",
            y(line),
            left - 6.0,
            y(line) + 4.0
        );
    }
    let on = x(recording.autoscaling);
    let _ = writeln!(
        body,
        "<path class=\"on\" d=\"M{on:.1} {TOP}V{BOTTOM}\"/><text class=\"small\" x=\"{left}\" y=\"{}\">autoscaling on</text>",
        TOP - 6.0
    );
    for (minutes, at) in
        [0_i32, 1, 2].map(|minutes| (minutes, recording.autoscaling + 60.0 * f64::from(minutes)))
    {
        let label = if minutes == 0 { "0".to_owned() } else { format!("{minutes} min") };
        let _ = writeln!(
            body,
            "<text class=\"middle small\" x=\"{:.1}\" y=\"{}\">{label}</text>",
            x(at),
            BOTTOM + 16.0
        );
    }
    let line = line(&track.changes, recording.end, x, y);
    let _ = writeln!(
        body,
        "<path class=\"area {class}\" d=\"{line}V{BOTTOM}H{left}Z\"/><path class=\"{class}\" d=\"{line}\"/>"
    );
    if let Some(fall) =
        track.changes.iter().min_by_key(|change| change.replicas).filter(|fall| fall.replicas <= 1)
    {
        let _ = writeln!(
            body,
            "<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\"/>",
            x(fall.at),
            y(fall.replicas)
        );
    }
    let _ = writeln!(
        body,
        "<text class=\"middle {class}\" x=\"{:.1}\" y=\"{}\">{}</text>",
        left + SPAN / 2.0,
        BOTTOM + 40.0,
        note(track)
    );
}

/// A replica count holds until the next one.
fn line(changes: &[Change], end: f64, x: impl Fn(f64) -> f64, y: impl Fn(i32) -> f64) -> String {
    let mut line = String::new();
    for change in changes {
        let _ = if line.is_empty() {
            write!(line, "M{:.1} {:.1}", x(0.0), y(change.replicas))
        } else {
            write!(line, "H{:.1}V{:.1}", x(change.at), y(change.replicas))
        };
    }
    let _ = write!(line, "H{:.1}", x(end));
    line
}

/// What came of it.
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
