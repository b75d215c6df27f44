//! The process around the loop: command line, start and end, election, self-check, health checks.
//!
//! Nothing outside knows it but the binary.

mod admin;
pub mod cli;
mod cluster;
pub mod election;
mod lists;
mod logs;
mod operator;
mod passes;
mod port;
mod readiness;
mod run;
mod secure_metrics;
pub mod selfcheck;
mod signals;
#[cfg(feature = "otel")]
pub mod telemetry;

pub use admin::View;
pub use cluster::Cluster;
pub use logs::log_to;
pub use operator::Operator;
pub use run::{RunError, check, run};
pub use signals::{Control, Signals};
