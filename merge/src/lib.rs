//! The embedded merge core: what a kube-apiserver does to the fields of an object, as a library without I/O.

mod arena;
pub mod fieldpath;
pub mod schema;
pub mod value;

pub use arena::Arena;
