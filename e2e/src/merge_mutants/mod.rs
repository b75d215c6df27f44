//! Shows that the differential harness would see a mistake: breaks the merge core in known ways, one at a time, and looks
//! how soon the corpus or the generated cases tell the broken core from the Go libraries.
//!
//! [`mutations`] are the ways, as data; [`Sandbox`] is a copy of the merge core to break and build; [`Questions`] are what
//! is asked, with the libraries' answers; [`hunt()`] looks for the first that a driver answers differently. Nothing here
//! knows a right answer, and nothing is ever written to the working tree.

mod error;
mod hunt;
pub mod mutations;
mod questions;
mod sandbox;

pub use error::Error;
pub use hunt::{Catch, hunt, leave_out_differing};
pub use mutations::Mutation;
pub use questions::{Origin, Questions};
pub use sandbox::Sandbox;
