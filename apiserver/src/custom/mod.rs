//! Custom resources, as apiextensions-apiserver serves them.

mod correlate;
pub(crate) mod crd;
mod definition;
mod embedded;
mod formats;
mod lists;
mod names;
mod numbers;
pub(crate) mod openapi;
mod pattern;
mod prune;
mod rules;
mod scale;
mod schema;
mod validate;

pub(crate) use definition::{CustomVersion, Definition, Findings, Write, finalizer_warnings, priority};
pub(crate) use scale::ScalePaths;
