//! The actors of a server, as clients see them.
#![allow(clippy::unwrap_used)] // A test that can't go on fails.

mod access;
mod autoscaler;
mod budgets;
mod claims;
mod cluster;
mod deployments;
mod garbage;
mod life;
mod namespaces;
mod pods;
mod quotas;
mod stateful_sets;
