//! The engine's predictions, its comparisons with responses and its requests, with the schemas of a real API server.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod apply;
mod cache;
mod common;
mod leftovers;
mod limits;
mod prediction;
mod write;
