//! Limits how many names of field managers become labels.
//!
//! Baton doesn't control these names: a manager with a new name for each write must not fill Prometheus with series.

use std::collections::BTreeSet;

/// How many managers have a label of their own.
const MOST: usize = 50;

/// The label of all other managers.
pub(super) const OTHER: &str = "other";

/// The managers that have a label of their own: the first ones.
#[derive(Debug, Default)]
pub(super) struct ManagerLabels(BTreeSet<String>);

impl ManagerLabels {
    /// The label of this manager.
    pub(super) fn label<'a>(&mut self, manager: &'a str) -> &'a str {
        if self.0.contains(manager) {
            return manager;
        }
        if self.0.len() == MOST {
            return OTHER;
        }
        self.0.insert(manager.to_owned());
        manager
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_managers_keep_their_names_and_later_ones_share_a_label() {
        let mut labels = ManagerLabels::default();
        for number in 0..MOST {
            let manager = format!("manager-{number}");
            assert_eq!(labels.label(&manager), manager);
        }
        assert_eq!(labels.label("late"), OTHER);
        assert_eq!(labels.label("later"), OTHER);
        assert_eq!(labels.label("manager-0"), "manager-0");
    }
}
