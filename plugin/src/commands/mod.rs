//! One module for each command.

pub(crate) mod apply;
pub(crate) mod completion;
pub(crate) mod conflicts;
pub(crate) mod diff;
pub(crate) mod handover;
pub(crate) mod migrate;
pub(crate) mod owners;
pub(crate) mod plan;
pub(crate) mod release;
pub(crate) mod reset;
pub(crate) mod share;
pub(crate) mod transfer;
pub(crate) mod watch;
pub(crate) mod why;
pub(crate) mod workloads;
