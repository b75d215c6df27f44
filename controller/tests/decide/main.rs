//! The decisions of a pass, as a pure function, with the merge core in the API server's place.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod adoption;
mod applied;
mod common;
mod course;
mod golden;
mod intent;
mod limits;
mod plan;
mod preview;
mod replicas;
mod report;
