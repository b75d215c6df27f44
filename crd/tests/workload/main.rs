//! The `Workload` as types, as a schema and as the files made from them.

#![allow(clippy::unwrap_used)]

mod builtin_markers;
mod manifests;
mod schema;
mod types;
