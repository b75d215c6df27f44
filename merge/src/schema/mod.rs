//! Schemas: what a value may be, and how its parts merge.

pub mod definition;
