//! What Baton promises, on a real kube-apiserver: one control plane for all, a namespace and an operator of its own for
//! each test.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod adoption;
mod contention;
mod drift;
mod guards;
mod handover;
mod holders;
mod install;
mod kubectl;
mod lifecycle;
mod load;
mod ownership;
mod permissions;
mod preview;
mod rejection;
mod scene;
mod schema;
mod settled;
mod skew;
mod surprises;
mod takeover;
mod teams;
mod threats;
