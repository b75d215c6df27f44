//! The API server inside a process, with the real kubectl: each test has what a user types, and what kubectl prints.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod apply;
mod custom;
mod kubectl;
mod terminal;
mod versions;
mod writes;
