//! What is done: the passes of the loop, with the API server and with what is remembered for the sake of pace.

mod context;
mod enforce;
mod observer;
pub mod pace;
mod preview;
pub mod queue;
mod reconcile;
mod turn;

pub(crate) use context::Context;
pub(crate) use reconcile::reconcile;
pub(crate) use turn::{Turn, Turns};
