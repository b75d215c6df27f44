//! Transcripts: sequences of writes to the real API server, each response compared with the merge core's prediction.
//!
//! [`run`] sends the testbed's [writes](baton_testbed::writes), and has every prediction judged. Requests and responses can
//! be kept as a transcript, one write a line, which is judged again without a server.

pub mod run;
mod server;

pub use server::Server;
