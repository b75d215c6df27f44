//! What is decided, as pure functions and machines without I/O: no request, no clock, no memory between two passes.
//!
//! - [`snapshot`] is what a pass has seen;
//! - [`plan`] says which [steps](plan::Step) come next: [`replicas`] is its part about `spec.replicas`, [`adoption`] its part about
//!   what somebody else made, and [`intent`] its part about what a child should look like;
//! - [`course`] is a pass: what to read, what to write, and what to make of each response;
//! - [`rehearsal`] is a course with forecasts in the API server's place.

pub mod adoption;
pub mod child;
pub mod course;
pub mod intent;
pub mod plan;
pub mod rehearsal;
pub mod replicas;
pub mod snapshot;
