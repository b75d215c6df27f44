//! Decisions, as pure functions and state machines without I/O: no request, no clock, no memory between two passes.
//!
//! - [`snapshot`]: what a pass has read;
//! - [`plan`]: the next [steps](plan::Step). [`replicas`] decides about `spec.replicas`, [`adoption`] about objects that another
//!   manager created, and [`intent`] builds the children;
//! - [`course`]: what to read, what to write, and what each response means, until a [`pass`] is complete;
//! - [`rehearsal`]: a course with predictions in the place of the API server.

pub mod adoption;
pub mod autoscaler;
pub mod child;
pub mod course;
pub mod intent;
pub mod lacking;
pub mod owners;
pub mod pass;
pub mod plan;
pub mod rehearsal;
pub mod replicas;
pub mod snapshot;
