//! The picture of [a handover's moments](super::ownership): the same Deployment, column by column, each field with its owner.

use std::fmt::Write as _;

use super::{
    ownership::{Moment, Recording, Shown},
    svg::{Body, DARK_TEXT, TEXT},
};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 236.0;
/// A column's width, and from one to the next.
const COLUMN: f64 = 182.0;
const STEP: f64 = 190.0;
/// The first line, and from one to the next: a field that has an owner takes two.
const TOP: f64 = 72.0;
const LINE: f64 = 18.0;

const TITLE: &str = "Who owns which field of the Deployment, while autoscaling is turned on";
const HEADS: [&str; 4] =
    ["1. before", "2. both own the count", "3. Baton releases it", "4. the autoscaler writes"];

/// Owners by their classes; any other is a part of the cluster. The colours are Okabe and Ito's, which people with a colour-vision
/// deficiency can distinguish.
const OWNERS: [(&str, &str); 3] = [("baton", "a"), ("handover-to-hpa", "b"), ("mesh", "d")];

/// Draws a recording.
pub fn svg(recording: &Recording) -> String {
    let style = format!(
        "{TEXT}.head{{font-size:15px;font-weight:600}}.code{{font:12px ui-monospace,monospace;white-space:pre}}\
         .owner{{font-size:11px;font-weight:600}}.faint{{opacity:.6}}.tint{{opacity:.2}}\
         .a{{fill:#0072b2}}.b{{fill:#d55e00}}.c{{fill:#009e73}}.d{{fill:#cc79a7}}\
         {DARK_TEXT}.tint{{opacity:.3}}}}"
    );
    let mut body = Body::default();
    body.text("head", [4.0, 20.0], TITLE);
    for (number, (head, moment)) in (0_i32..).zip(HEADS.iter().zip(&recording.moments)) {
        let left = 4.0 + STEP * f64::from(number);
        body.text("title", [left, 50.0], head);
        column(&mut body, left, moment);
    }
    body.document([WIDTH, HEIGHT], TITLE, &description(recording), &style)
}

fn column(body: &mut Body, left: f64, moment: &Moment) {
    let lines = [
        ("spec:", None),
        ("  replicas: ", Some(&moment.replicas)),
        ("  template… containers:", None),
        ("  - image: ", Some(&moment.image)),
        ("  - image: ", Some(&moment.sidecar)),
    ];
    let mut y = TOP;
    for (key, field) in lines {
        let Some(Shown { value, owners }) = field else {
            body.text("code faint", [left, y], key);
            y += LINE + 4.0;
            continue;
        };
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let height = 2.0 * LINE + 4.0;
        // Owners share the background, by the lengths of their names.
        let names: Vec<&str> =
            owners.iter().map(|owner| owner.split_once(' ').map_or(&**owner, |(name, _)| name)).collect();
        let mut x = left;
        for name in &names {
            let share = COLUMN * letters(name) / names.iter().copied().map(letters).sum::<f64>();
            let class = class(name);
            body.rect(&format!("tint {class}"), [x, y - 14.0], [share, height]);
            body.rect(class, [x, y - 14.0], [4.0, height]);
            body.text("owner", [x + 9.0, y + LINE], name);
            x += share;
        }
        body.text("code", [left + 9.0, y], format!("{key}{value}"));
        y += height + 4.0;
    }
}

/// With the margin around a name.
fn letters(name: &str) -> f64 {
    f64::from(u32::try_from(name.len()).unwrap_or(u32::MAX)) + 2.0
}

fn class(owner: &str) -> &'static str {
    OWNERS.iter().find(|(known, _)| *known == owner).map_or("c", |(_, class)| class)
}

/// The recording as text.
fn description(recording: &Recording) -> String {
    let mut text = String::new();
    for (head, moment) in HEADS.iter().zip(&recording.moments) {
        let fields = [("replicas", &moment.replicas), ("image", &moment.image), ("sidecar", &moment.sidecar)];
        let fields = fields
            .map(|(name, field)| format!("{name} {} owned by {}", field.value, field.owners.join(" and ")));
        let _ = write!(text, "{head}: {}. ", fields.join(", "));
    }
    let _ = write!(text, "Recorded on Kubernetes {}.", recording.kubernetes);
    text
}
