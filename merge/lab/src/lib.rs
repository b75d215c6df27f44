//! What the merge core is compared with: the Go libraries that a kube-apiserver is made of, and a kube-apiserver itself.
//!
//! [`diff`] asks the core and the libraries the same, [`transcripts`] predicts what a server makes of generated writes, and
//! [`bench`](mod@bench) measures the core beside the libraries. Each is a program, of the same name behind `cargo merge-`.

pub mod bench;
pub mod diff;
pub mod oracle;
pub mod peer;
pub mod tally;
mod traits;
pub mod transcripts;
