//! Whole clusters, simulated from a seed: the real operator on the server inside this process, under paused time, among people,
//! autoscalers, crashes, lost and late responses, clocks that are off, and changes of the leader.
//!
//! [`choice`] makes a [plan](event::Plan) of a seed; a `world` plays it, and `delivery` tells what becomes of each request; a `judge` holds every stored version against the promises
//! of the [model checker](crate::handover_model), and `rest` what there is once nobody disturbs any more; [`run`](run::run()) puts
//! them together, [`series`] plays many, and [`shrink`] makes a plan smaller that breaks a promise.

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
