//! Transcripts: sequences of writes to the real API server, each answer held against what the merge core predicts.
//!
//! [`kinds`] says what objects there are and what may be written into them, [`sequence`] chooses writes from a seed, [`run`]
//! sends them, and [`judge`] says of every prediction whether it came true. A [`transcript`] keeps what was asked and
//! answered, so that it can be judged again without a server. Nothing here knows how anything merges.

pub(crate) mod answer;
mod defaults;
mod edit;
pub mod judge;
pub mod kinds;
pub(crate) mod question;
mod resource;
pub mod run;
pub mod sequence;
mod server;
pub mod tally;
pub(crate) mod time;
pub mod transcript;
mod write;

pub(crate) use edit::{overlaid, perform};
pub use resource::{Resource, Schema};
pub use server::Server;
pub use write::{Method, Owners, Write};
