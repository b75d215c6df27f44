//! Paths into an object and sets of them: who owns what, in the words of structured-merge-diff.
//!
//! A [`FieldSet`] is what one `managedFields` entry holds. This module reads and writes its wire form (FieldsV1),
//! asks it questions and takes paths out of it. It refuses to know values of objects and their schemas.

mod element;
mod fields_v1;
mod path;
mod set;

pub use element::PathElement;
pub use fields_v1::FieldsV1Error;
pub use path::Path;
pub use set::FieldSet;
