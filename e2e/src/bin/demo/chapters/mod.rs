//! The chapters of the demo, one file each. A chapter announces what is about to happen, makes it happen, shows what was seen, and
//! checks its claims.

pub(crate) mod adoption;
pub(crate) mod children;
pub(crate) mod cluster;
pub(crate) mod edit;
pub(crate) mod foresight;
pub(crate) mod handover;
pub(crate) mod in_process;
pub(crate) mod install;
pub(crate) mod node;
pub(crate) mod sidecar;
pub(crate) mod summary;
pub(crate) mod way_back;
