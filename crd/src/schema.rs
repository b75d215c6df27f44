//! Schemas of fields whose derived schema lacks limits or a type, and the rules that they share.
//!
//! An optional field that takes its schema from here needs `#[serde(default)]`, or the derive calls it required.

use schemars::{Schema, SchemaGenerator, json_schema};

/// A number, or any percentage.
pub(crate) const PERCENT_RULE: &str = "type(self) == int || self.matches('^[0-9]+%$')";
/// The advice if [`PERCENT_RULE`] fails.
pub(crate) const PERCENT_MESSAGE: &str = "write a number such as 2, or a percentage such as 25%";

/// A number, or a percentage of a whole.
pub(crate) const SHARE_RULE: &str = "type(self) == int || self.matches('^(100|[1-9]?[0-9])%$')";
/// The advice if [`SHARE_RULE`] fails.
pub(crate) const SHARE_MESSAGE: &str =
    "write a number such as 2, or a percentage from 0% to 100% such as 25%";

/// The place of a built-in object, of which [`crate::crd`] knows the schema.
pub(crate) fn builtin_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object"})
}

/// The place of a list of built-in objects, of which [`crate::crd`] knows the schema.
pub(crate) fn builtin_objects(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "array", "items": {"type": "object"}})
}

/// A number of pods, or a percentage of them. The percentage is left to the rules, which can say what is wrong with it.
pub(crate) fn count_or_percent(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"x-kubernetes-int-or-string": true, "minimum": 0, "maximum": i32::MAX, "maxLength": 16})
}

/// The number of a port, or its name.
pub(crate) fn port_or_name(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "x-kubernetes-int-or-string": true, "minimum": 1, "maximum": 65535, "minLength": 1, "maxLength": 15
    })
}

/// Names of field managers, as long as the API server allows them.
pub(crate) fn manager_names(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array", "maxItems": 16, "items": {"type": "string", "minLength": 1, "maxLength": 128}
    })
}
