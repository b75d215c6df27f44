//! Paths into an object and sets of them, in the terms of structured-merge-diff.
//!
//! A [`FieldSet`] is what one `managedFields` entry holds. This module reads and writes its wire form (FieldsV1), looks
//! up paths and computes with sets.

mod algebra;
mod builder;
mod element;
mod fields_v1;
mod lookup;
mod path;
mod pattern;
mod plain;
mod read;
mod set;
mod written;

pub(crate) use builder::SetBuilder;
pub use element::{KeyField, PathElement};
pub use lookup::Lookup;
pub(crate) use lookup::ManyTimes;
pub use path::Path;
pub use pattern::{Pattern, PatternElement};
pub use read::FieldsV1Error;
pub(crate) use read::Trailing;
pub use set::{Branch, FieldSet};
pub(crate) use set::{Node, SiblingIndex};
