//! A Kubernetes API server inside a process.

mod builder;
mod custom;
mod data;
mod definitions;

mod discover;
mod disruption;
pub mod faults;
mod field;
mod http;
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
mod services;
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
