#![doc = include_str!("../README.md")]

pub mod access;
pub mod admin;
pub mod clock;
pub mod cluster;
pub mod election;
mod lists;
mod lock;
pub mod logs;
pub mod metrics;
pub mod pace;
mod port;
pub mod readiness;
pub mod secure_metrics;
pub mod signals;
#[cfg(feature = "otel")]
pub mod telemetry;
pub mod text;
mod timeout;

pub use lock::lock;
