//! The testbed on real clusters. A test that stops or breaks a component has a cluster of its own; all others share one.

#![allow(missing_docs, clippy::unwrap_used)]

mod control_plane;
mod metrics_api;
mod proxy;
mod replica_watch;
