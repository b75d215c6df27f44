//! An article about server-side apply as it was in Kubernetes 1.14.

use baton_e2e::scenario::Section;

pub fn sections() -> Vec<Section> {
    Vec::new()
}
