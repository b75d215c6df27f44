//! Whole clusters, simulated from a seed: the real operator on the server inside this process, under paused time, with users,
//! autoscalers, crashes, lost and late responses, wrong clocks, and changes of the leader.
//!
//! [`choice`] makes a [plan](event::Plan) from a seed. A `world` plays it, and `delivery` decides what happens to each request. A
//! `judge` checks every stored version against the promises of the [model checker](crate::handover_model), and `rest` checks the
//! end, when the disturbances are over. [`run`](run::run()) puts them together, [`series`] plays many plans, and [`shrink`] makes a
//! plan smaller that breaks a promise.

pub mod choice;
mod delivery;
pub mod event;
mod faulty;
mod judge;
mod network;
mod observer;
mod origin;
mod people;
mod rest;
pub mod run;
mod series;
mod shrink;
mod tally;
mod trace;
mod world;

pub use self::{
    event::Plan,
    judge::Violation,
    run::{Outcome, run},
    series::{Effort, Failure, Series, series},
    shrink::shrink,
    tally::Tally,
};
