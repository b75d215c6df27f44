//! One module for each command.

pub(crate) mod apply;
pub(crate) mod conflicts;
pub(crate) mod diff;
pub(crate) mod owners;
