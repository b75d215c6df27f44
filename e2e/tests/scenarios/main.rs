//! What Baton promises, on the API server inside this process and on a real control plane that all tests share. A test that breaks
//! its cluster starts one of its own.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod administration;
mod admission;
mod adoption;
mod author_policy;
mod beside;
mod contention;
mod crash;
mod drift;
mod emptied;
mod engine;
mod fairness;
#[cfg(target_os = "linux")]
mod footprint;
mod guards;
mod handover;
mod health;
mod install;
mod kubectl;
mod leftovers;
mod lifecycle;
mod load;
mod owners;
mod ownership;
mod permissions;
mod preview;
mod refusals;
mod rejection;
mod schema;
mod scope;
mod secure_metrics;
mod selfcheck;
mod settled;
mod shards;
mod skew;
mod soak;
mod surprises;
mod takeover;
mod teams;
mod templates;
mod threats;
mod write_rate;
