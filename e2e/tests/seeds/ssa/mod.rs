//! The documentation of server-side apply.

mod fields;

use baton_e2e::scenario::{Document, Section};

const DOCUMENT: Document = Document { title: "Server-Side Apply" };

pub fn sections() -> Vec<Section> {
    vec![fields::SECTION]
}
