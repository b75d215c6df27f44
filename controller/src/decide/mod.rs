//! Decisions, as pure functions and state machines without I/O: no request, no clock, no memory between two passes.
//!
//! - [`snapshot`] is what a pass has read;
//! - [`plan`] says which [steps](plan::Step) come next: [`replicas`] decides about `spec.replicas`, [`adoption`] about objects that
//!   another manager created, and [`intent`] builds the children;
//! - [`course`] is a pass: what to read, what to write, and what each response means;
//! - [`rehearsal`] is a course with predictions in the place of the API server.

pub mod adoption;
pub mod child;
pub mod course;
pub mod intent;
pub mod lacking;
pub mod plan;
pub mod rehearsal;
pub mod replicas;
pub mod snapshot;
