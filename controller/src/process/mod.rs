//! The process around the loop: command line, start and end, self-check, readiness.
//!
//! Nothing outside knows it but the binary.

pub mod cli;
mod crd;
mod gate;
mod operator;
mod passes;
mod run;
pub mod selfcheck;
mod view;

pub use operator::Operator;
pub use passes::SPANS;
pub use run::{RunError, check, run};
pub use view::View;
