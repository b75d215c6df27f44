//! Baton on a real node: its image from the Dockerfile, installed as the docs say, with pods that run.
//!
//! One node serves all tests, one after the other. Where there can be none, they say so and do nothing; with
//! `BATON_E2E_NODE=require` in the environment they fail, and with `BATON_E2E_NODE=skip` they do nothing anywhere.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod autoscaling;
mod chart;
mod failover;
mod footprint;
mod image;
mod install;
mod keep;
mod reboot;
mod stage;
mod uninstall;
mod upgrade;
mod workload;
