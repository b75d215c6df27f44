//! Compares the merge core with the Go libraries of a kube-apiserver, and with a kube-apiserver itself.
//!
//! [`diff`] asks the core and the libraries the same, [`transcripts`] predicts generated writes to a server, and
//! [`bench`](mod@bench) measures the core and the libraries. Each is a program with the same name behind `cargo merge-`.

pub mod bench;
pub mod diff;
pub mod oracle;
pub mod peer;
pub mod tally;
mod traits;
pub mod transcripts;
