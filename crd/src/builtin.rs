//! The schemas of the built-in types that a Workload embeds.

use schemars::{Schema, SchemaGenerator, json_schema};

pub(crate) fn pod_template(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object"})
}

pub(crate) fn metrics(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "array"})
}

pub(crate) fn behavior(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object"})
}
