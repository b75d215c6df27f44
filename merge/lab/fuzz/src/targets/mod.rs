//! The fuzz targets: functions that panic if the merge core breaks a promise.
//!
//! They use the crates' public API only, and run without libFuzzer as well.

mod choices;
mod documents;
mod driver;
mod field_sets;
mod json_trees;
mod releases;
mod values;

pub use documents::{crd, openapi, smd_schema};
pub use driver::{driver_line, driver_request};
pub use field_sets::{field_sets, fields_v1};
pub use releases::release;
pub use values::values;

/// A target, which runs with an input.
pub type Target = fn(&[u8]);

/// All targets by name.
#[rustfmt::skip]
pub const ALL: &[(&str, Target)] = &[
    ("fields_v1", fields_v1), ("field_sets", field_sets), ("values", values), ("release", release),
    ("openapi", openapi), ("crd", crd), ("smd_schema", smd_schema), ("driver_line", driver_line),
    ("driver_request", driver_request),
];
