//! Custom resources, as apiextensions-apiserver serves them.
#![allow(dead_code)]

mod correlate;
mod crd;
mod definition;
mod embedded;
mod formats;
mod lists;
mod names;
mod numbers;
mod openapi;
mod prune;
mod rules;
mod scale;
mod schema;
mod validate;
