//! A Kubernetes API server inside a process.

mod builder;
mod custom;
mod definitions;
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
mod table;
mod types;
mod write;

pub use crate::{
    builder::{ApiServer, Builder, StartError},
    serve::Serving,
};
pub use baton_merge::Release;
