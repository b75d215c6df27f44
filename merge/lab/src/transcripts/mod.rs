//! Transcripts: sequences of writes to the real API server, each response compared with the merge core's prediction.
//!
//! The testbed's [writes](baton_testbed::writes) are sent by [`run`], which has every prediction judged. Requests and
//! responses can be kept as a transcript, one write a line, so that it is judged again without a server. Nothing here knows
//! how anything merges.

pub mod run;
mod server;

pub use server::Server;
