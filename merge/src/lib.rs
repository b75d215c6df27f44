//! The embedded merge core: what a kube-apiserver does to the fields of an object, as a library without I/O.

mod arena;
pub mod fieldpath;
mod noop;
pub mod predict;
mod release;
pub mod schema;
pub mod server;
pub mod typed;
pub mod updater;
pub mod value;

pub use arena::Arena;
pub use release::{Release, ReleaseError};
