//! The engine's predictions and its verdicts on responses, with the schemas of a real API server.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod common;
mod forecast;
mod leftovers;
mod limits;
mod write;
