//! Several operators, of which one leads. The leader is killed, asked to stop, cut off from the API server, or paused past its
//! lease and resumed, each in the middle of a handover. The next leader goes on. The API server's audit log shows that no
//! operator wrote without the lease, and a watch shows that no value of `spec.replicas` was too low.
//!
//! With `--nocapture` it prints how long each change of the leader took.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod candidates;
mod failover;
mod judge;
mod many;
mod runtime;
mod suspect;
