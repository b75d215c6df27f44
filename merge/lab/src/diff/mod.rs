//! Puts the same questions to two implementations of the merge core and compares their answers: the Rust core and the
//! Go libraries that a kube-apiserver is made of, or any other two that speak the merge driver protocol.
//!
//! [`generate`] makes the questions from a seed, [`run`] asks them in batches, [`compare`] judges the answers,
//! [`shrink`] makes a case that differs small, and [`corpus`] keeps such cases for good. Nothing here knows a right
//! answer by itself.

pub mod corpus;
pub mod generate;
pub mod run;
pub mod shrink;

pub use baton_merge_driver::compare;
