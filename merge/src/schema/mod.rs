//! Schemas: what a value may be, and how its parts merge.

mod at;
pub mod definition;
mod error;
pub mod kinds;
pub mod openapi;

pub use self::error::{Problem, SchemaError};
