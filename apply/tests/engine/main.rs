//! The engine's predictions and its comparisons on responses, with the schemas of a real API server.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod common;
mod leftovers;
mod limits;
mod prediction;
mod write;
