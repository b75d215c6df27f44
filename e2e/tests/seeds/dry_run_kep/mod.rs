//! The enhancement proposal "Dry-run".

use baton_e2e::scenario::Section;

pub fn sections() -> Vec<Section> {
    Vec::new()
}
