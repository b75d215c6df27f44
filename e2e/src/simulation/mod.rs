//! Whole clusters, simulated from a seed: the real operator on the server inside this process, under paused time, with users,
//! autoscalers, crashes, lost and late responses, wrong clocks, and changes of the leader.
//!
//! [`choice`] makes a [plan](plan::Plan) from a seed, of the events in the table of [`events`]. A `SimulatedCluster` plays it, and
//! `delivery` decides what happens to each request. A `judge` checks every stored version against the promises of the [model
//! checker](crate::handover_model), and `rest` checks the end, when the disturbances are over. [`run`](run::run()) puts them
//! together, [`series`] plays many plans, and [`shrink`] makes a plan smaller that breaks a promise. [`soak`](crate::soak) plays
//! such plans on a real cluster.

pub mod choice;
mod cluster;
mod delivery;
pub mod events;
mod faulty;
pub(crate) mod judge;
mod network;
pub(crate) mod observer;
mod origin;
pub mod plan;
mod requests;
pub(crate) mod rest;
pub mod run;
mod series;
mod shrink;
mod tally;
mod trace;

pub use self::{
    judge::Violation,
    plan::Plan,
    run::{Outcome, run},
    series::{Effort, Failure, Series, series},
    shrink::shrink,
    tally::{Judged, Tally},
};
