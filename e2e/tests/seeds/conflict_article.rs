//! An article on how conflicts are resolved.

use baton_e2e::scenario::Section;

pub fn sections() -> Vec<Section> {
    Vec::new()
}
