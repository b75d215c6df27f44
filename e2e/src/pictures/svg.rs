//! What all pictures have in common: an SVG document that browsers and code hosts show in a light and in a dark theme.

/// Text has the reader's font.
pub(crate) const TEXT: &str = "\
text{font:12px system-ui,sans-serif;fill:#24292f}.title{font-weight:600}.end{text-anchor:end}.middle{text-anchor:middle}\
.axis{stroke:#8c959f}.grid{stroke:#8c959f;opacity:.25}path{fill:none;stroke-width:2}";

/// The same in a dark theme; what follows in the style is for a dark theme too, and a `}` ends it.
pub(crate) const DARK_TEXT: &str = "@media(prefers-color-scheme:dark){text{fill:#d1d7e0}";

/// A picture, with a title and a description for those who don't see it.
pub(crate) fn document(
    [width, height]: [f64; 2],
    title: &str,
    description: &str,
    style: &str,
    body: &str,
) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"title desc\">\n\
         <title id=\"title\">{}</title>\n<desc id=\"desc\">{}</desc>\n<style>{style}</style>\n{body}</svg>\n",
        escaped(title),
        escaped(description)
    )
}

pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
