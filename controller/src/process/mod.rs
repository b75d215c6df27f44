//! The process around the loop: command line, start and end, election, self-check, health checks.
//!
//! Nothing outside knows it but the binary.

mod admin;
pub mod cli;
pub mod election;
pub mod permissions;
mod readiness;
mod run;
mod secure_metrics;
pub mod selfcheck;
mod signals;
#[cfg(feature = "otel")]
pub mod telemetry;

pub use run::{RunError, check, run};
