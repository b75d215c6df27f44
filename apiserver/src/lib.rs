//! A Kubernetes API server inside a process.

mod builder;
#[path = "/tmp/custom_stub.rs"]
mod custom;
mod data;

mod discover;
pub mod faults;
mod disruption;
mod field;
mod http;
#[path = "/tmp/kinds_stub.rs"]
mod kinds;
mod metadata;
mod namespaces;
mod objects;
mod options;
mod patch;
mod read;
mod registry;
mod scale;
mod selector;
mod serve;
mod server;
mod service;
mod status;
mod store;
#[path = "/tmp/table_stub.rs"]
mod table;
mod types;
mod write;

pub use crate::{
    builder::{ApiServer, Builder, StartError},
    serve::Serving,
};
pub use baton_merge::Release;
