//! The enhancement proposal "Apply".

use baton_e2e::scenario::Section;

pub fn sections() -> Vec<Section> {
    Vec::new()
}
