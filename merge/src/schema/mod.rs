//! Schemas: the types of values, and how they merge.

mod at;
mod compiled;
pub mod crd;
pub mod definition;
mod error;
mod fields;
pub mod kinds;
pub mod openapi;

pub use self::error::{Problem, SchemaError};

pub(crate) use compiled::{Atom, Key, KeyDefault, List, Map};
pub use compiled::{Schema, TypeId};
