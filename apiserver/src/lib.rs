//! A Kubernetes API server inside a process.

mod custom;
mod field;
