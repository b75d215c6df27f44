//! Puts the same questions to two implementations of the merge core and compares their answers: the Rust core and the
//! Go libraries that a kube-apiserver is made of, or any other two that speak the merge driver protocol.
//!
//! [`generate`] makes the questions from a seed, [`run`] asks them in batches, [`compare`] judges the answers,
//! [`shrink`] makes a case that differs small, and [`corpus`] keeps such cases for good. Nothing here knows a right
//! answer by itself.

pub mod compare;
mod core;
pub mod corpus;
mod error;
pub mod generate;
pub mod json;
pub mod peer;
pub mod random;
pub mod releases;
pub mod run;
pub mod shrink;
pub mod tally;

use std::path::Path;

use crate::assets::Release;

pub use core::CorePeer;
pub use error::Error;
pub use json::Json;
pub use peer::{Peer, ProcessPeer};

/// The release whose rules are asked for unless another is wanted: that of the API server of the tests.
pub const PROFILE: &str = Release::V1_36_3.name();

/// The root of the workspace. Paths in requests are relative to it, so that a case can be replayed on any machine.
pub fn workspace() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package)
}
