//! A Kubernetes API server inside a process.

mod field;
mod patch;
mod selector;
mod table;
