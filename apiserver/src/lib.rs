//! A Kubernetes API server inside a process.

mod field;
mod kinds;
