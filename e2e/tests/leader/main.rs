//! Several operators of which one works: the leader is killed, asked to end, cut off from the API server, or stopped past its
//! lease and woken, each in the middle of a handover. The next one goes on; the API server's audit log shows that nobody
//! wrote without the lease, and a watch that no value of `spec.replicas` was too low.
//!
//! With `--nocapture` it tells how long each change took.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod candidates;
mod failover;
mod judge;
mod many;
