//! Transcripts: sequences of writes to the real API server, each answer held against what the merge core predicts.
//!
//! [`kinds`] says what objects there are and what may be written into them, [`sequence`] chooses writes from a seed, and [`run`]
//! sends them and has every prediction judged. What was asked and answered can be kept as a transcript, one write a line, so that
//! it is judged again without a server. Nothing here knows how anything merges.

mod edit;
pub mod kinds;
pub mod run;
pub mod sequence;
mod server;

pub use server::Server;
