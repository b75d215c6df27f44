//! The plot of [three operators](super::replicas): one panel for each, on the same axes.

use std::fmt::Write as _;

use super::{
    replicas::{Change, Operator, Recording, Track},
    svg::{DARK_TEXT, TEXT, document, escaped},
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

const TITLE: &str = "Autoscaling is turned on for a Deployment of fifty pods";

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
        Operator::StopsApplying => ("stops applying replicas", "the server resets it to 1", "bad"),
        Operator::KeepsApplying => ("keeps applying replicas: 50", "and overwrites the autoscaler", "bad"),
        Operator::Baton => ("Baton", "hands the field over", "good"),
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
    let (note, at, replicas) = note(track);
    let _ = match at {
        Some(at) => writeln!(
            body,
            "<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\"/><text class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\">{note}</text>",
            x(at),
            y(replicas),
            x(at) + 8.0,
            y(replicas) - 5.0
        ),
        None => writeln!(
            body,
            "<text class=\"middle {class}\" x=\"{:.1}\" y=\"{}\">{note}</text>",
            left + SPAN / 2.0,
            BOTTOM + 40.0
        ),
    };
}

/// A replica count holds until the next one.
fn line(changes: &[Change], end: f64, x: impl Fn(f64) -> f64, y: impl Fn(i32) -> f64) -> String {
    let mut line = String::new();
    for change in changes {
        let _ = match line.is_empty() {
            true => write!(line, "M{:.1} {:.1}", x(0.0), y(change.replicas)),
            false => write!(line, "H{:.1}V{:.1}", x(change.at), y(change.replicas)),
        };
    }
    let _ = write!(line, "H{:.1}", x(end));
    line
}

/// What is worth a remark, and where: a fall has a place.
fn note(track: &Track) -> (String, Option<f64>, i32) {
    let counts: Vec<i32> = track.changes.iter().map(|change| change.replicas).collect();
    match track.operator {
        Operator::StopsApplying => {
            let lowest = track.changes.iter().min_by_key(|change| change.replicas);
            let (at, replicas) = lowest.map_or((0.0, 0), |lowest| (lowest.at, lowest.replicas));
            let pods = if replicas == 1 { "1 pod".to_owned() } else { format!("{replicas} pods") };
            (pods, Some(at), replicas)
        }
        Operator::KeepsApplying => {
            let overwritten = counts.windows(2).filter(|pair| pair[1] < pair[0]).count();
            (format!("overwritten {overwritten} times"), None, 0)
        }
        Operator::Baton => {
            let mut counts = counts;
            counts.dedup();
            let counts: Vec<String> = counts.iter().map(ToString::to_string).collect();
            (counts.join(" → "), None, 0)
        }
    }
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
        let mut counts: Vec<i32> = track.changes.iter().map(|change| change.replicas).collect();
        counts.dedup();
        let counts: Vec<String> = counts.iter().map(ToString::to_string).collect();
        let _ = write!(text, "{operator}: {}. ", counts.join(", "));
    }
    let _ = write!(text, "Recorded on Kubernetes {}.", escaped(&recording.kubernetes));
    text
}
