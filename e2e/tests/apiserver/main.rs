//! The API server inside a process, as the real kubectl sees it: each test is what somebody types, and what kubectl says.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod apply;
mod custom;
mod kubectl;
mod terminal;
mod versions;
mod writes;
