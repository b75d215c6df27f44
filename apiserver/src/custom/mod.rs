//! Custom resources, as apiextensions-apiserver serves them.
#![allow(dead_code, unused_imports)]

mod correlate;
pub(crate) mod crd;
mod definition;
mod embedded;
mod formats;
mod lists;
mod names;
mod numbers;
pub(crate) mod openapi;
mod prune;
mod rules;
mod scale;
mod schema;
mod validate;

pub(crate) use definition::{
    CustomVersion, Decoded, Definition, Findings, ResourceNames, Write, finalizer_warnings,
};
pub(crate) use embedded::{CheckMetadata, ReadMetadata};
pub(crate) use scale::ScalePaths;
