//! What is known of the cluster: caches that watches feed, and an index of autoscalers.

pub mod autoscalers;
mod definition;
mod packed;
mod watched;
mod watches;

pub(crate) use definition::{Definition, Judgement};
pub(crate) use watched::WatchedWorkload;
pub(crate) use watches::{Scope, Stores, Streams, scoped, watch};
