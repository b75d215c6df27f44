//! Sends the same requests to two implementations of the merge core and compares their responses: the Rust core and the
//! Go libraries that a kube-apiserver is made of, or any other two that speak the merge driver protocol.
//!
//! [`generate`] makes the requests from a seed, [`run`] sends them in batches, [`compare`] compares the responses,
//! [`shrink`] makes a case that differs small, and [`corpus`] keeps such cases for good. Nothing here knows a right
//! response by itself.

pub mod corpus;
pub mod generate;
pub mod run;
pub mod shrink;

pub use baton_merge_driver::compare;
