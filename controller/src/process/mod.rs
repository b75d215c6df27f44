//! The process around the loop: command line, start and end, self-check, readiness.
//!
//! Nothing outside knows it but the binary.

pub mod cli;
mod crd;
mod error;
mod gate;
mod operator;
mod passes;
mod run;
pub mod selfcheck;
mod view;

pub use error::RunError;
pub use operator::Operator;
pub use passes::SPANS;
pub use run::{check, run};
pub use view::View;
