//! The base of all pictures: an SVG document that browsers and code hosts show in a light and in a dark theme.
//!
//! No library draws it: those for plots write fixed colours, and no description for people who can't see the picture.

use std::fmt::{Display, Write as _};

/// Text has the reader's font.
pub(crate) const TEXT: &str = "\
text{font:12px system-ui,sans-serif;fill:#24292f}.title{font-weight:600}.end{text-anchor:end}.middle{text-anchor:middle}\
.axis{stroke:#8c959f}.grid{stroke:#8c959f;opacity:.25}path{fill:none;stroke-width:2}";

/// The same in a dark theme; what follows in the style is for a dark theme too, and a `}` ends it.
pub(crate) const DARK_TEXT: &str = "@media(prefers-color-scheme:dark){text{fill:#d1d7e0}";

/// The shapes. Each has classes of the style.
#[derive(Default)]
pub(crate) struct Body(String);

impl Body {
    pub(crate) fn text(&mut self, class: &str, [x, y]: [f64; 2], text: impl Display) {
        let (x, y, text) = (tenths(x), tenths(y), escaped(&text.to_string()));
        let _ = writeln!(self.0, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{text}</text>");
    }

    pub(crate) fn path(&mut self, class: &str, path: &str) {
        let _ = writeln!(self.0, "<path class=\"{class}\" d=\"{path}\"/>");
    }

    pub(crate) fn circle(&mut self, class: &str, [x, y]: [f64; 2], radius: f64) {
        let (x, y) = (tenths(x), tenths(y));
        let _ = writeln!(self.0, "<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"/>");
    }

    pub(crate) fn rect(&mut self, class: &str, [x, y]: [f64; 2], [width, height]: [f64; 2]) {
        let [x, y, width, height] = [x, y, width, height].map(tenths);
        let _ = writeln!(
            self.0,
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>"
        );
    }

    /// The picture, with a title and a description for those who don't see it.
    pub(crate) fn document(
        &self,
        [width, height]: [f64; 2],
        title: &str,
        description: &str,
        style: &str,
    ) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"title desc\">\n\
             <title id=\"title\">{}</title>\n<desc id=\"desc\">{}</desc>\n<style>{style}</style>\n{}</svg>\n",
            escaped(title),
            escaped(description),
            self.0
        )
    }
}

/// A chart: its edges in the picture, and the value at its upper edge; zero is at the lower one.
#[derive(Clone, Copy)]
pub(crate) struct Chart {
    pub(crate) left: f64,
    pub(crate) width: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
    pub(crate) most: f64,
}

impl Chart {
    /// The position of this share of the width.
    pub(crate) fn x(&self, share: f64) -> f64 {
        tenths(self.left + self.width * share)
    }

    /// The position of a value.
    pub(crate) fn y(&self, value: f64) -> f64 {
        tenths(self.bottom - (self.bottom - self.top) * value / self.most)
    }

    /// The axis at zero, and lines at other values, each with its value.
    pub(crate) fn lines(&self, body: &mut Body, values: impl IntoIterator<Item = f64>) {
        for value in values {
            let (class, y) = (if value == 0.0 { "axis" } else { "grid" }, self.y(value));
            body.path(class, &format!("M{} {y}h{}", self.left, self.width));
            body.text("end small", [self.left - 6.0, y + 4.0], value);
        }
    }

    /// A text below the chart.
    pub(crate) fn below(&self, body: &mut Body, class: &str, share: f64, down: f64, text: impl Display) {
        body.text(&format!("middle {class}"), [self.x(share), self.bottom + down], text);
    }
}

/// A coordinate with one decimal at most.
fn tenths(coordinate: f64) -> f64 {
    (coordinate * 10.0).round() / 10.0
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
