//! Baton on a real node: its image from the Dockerfile, installed by the commands of the docs, with pods that run.
//!
//! One node serves all tests, one after the other. If there can be no node, the tests print why and do nothing. With
//! `BATON_E2E_NODE=require` in the environment they fail then, and with `BATON_E2E_NODE=skip` they always do nothing.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod autoscaling;
mod chart;
mod failover;
mod footprint;
mod image;
mod install;
mod keep;
mod reboot;
mod shared;
mod uninstall;
mod upgrade;
mod workload;
