//! Puts the same questions to two implementations of the merge core and compares their answers: the Rust core and the
//! Go libraries that a kube-apiserver is made of, or any other two that speak the merge driver protocol.
//!
//! [`generate`] makes the questions from a seed, [`run`] asks them in batches, [`compare`] judges the answers,
//! [`shrink`] makes a case that differs small, and [`corpus`] keeps such cases for good. Nothing here knows a right
//! answer by itself.

mod core;
pub mod corpus;
mod error;
pub mod generate;
pub mod peer;
pub mod run;
pub mod shrink;
pub mod tally;

pub use baton_merge_driver::compare;
pub use core::CorePeer;
pub use error::Error;
pub use peer::{Peer, ProcessPeer};
