//! Models for merging custom resources, from the schemas of a CRD.
//!
//! Follows `buildOpenAPIModelsForApply` and the OpenAPI builder of apiextensions-apiserver: the server's own
//! `apiVersion`, `kind` and `metadata` at the root and in embedded resources, and the types that these refer to.
//! Junctors (`allOf`, `anyOf`, …) only validate, so nothing of them is left here.

use std::sync::LazyLock;

use serde_json::Value;

use super::props::{Additional as PropsAdditional, Props};
use crate::schema::at::At;
use crate::schema::error::SchemaError;
use crate::schema::openapi::convert::Model;
use crate::schema::openapi::read_models;
use crate::schema::openapi::spec::{Additional, Extensions, Items, Schema};

/// The type of a Scale in the static models.
pub(super) const SCALE: &str = "io.k8s.api.autoscaling.v1.Scale";

const OBJECT_META: &str = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

static SHIPPED: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../data/object-meta.json"))
        .expect("merge/data/object-meta.json is JSON; the tests read it")
});

/// The server's models that custom resources refer to; those of Scale only if one is served.
pub(super) fn shipped(with_scale: bool) -> Result<Vec<Model<'static>>, SchemaError> {
    let at = At::root("$shipped");
    let mut models = read_models(at.object(&SHIPPED["components"]["schemas"])?, &at)?;
    models.retain(|model| with_scale || !model.name.starts_with(SCALE));
    Ok(models)
}

/// The model of a version without a schema: an object with any fields.
pub(super) fn free_form<'a>() -> Schema<'a> {
    Schema::of_type("object")
}

/// The model of a version, from its structural schema.
pub(super) fn resource<'a>(root: &Props<'a>) -> Schema<'a> {
    let mut schema = convert(root);
    add_object_fields(&mut schema);
    schema
}

fn convert<'a>(props: &Props<'a>) -> Schema<'a> {
    let mut schema = Schema {
        type_name: props.type_name,
        format: props.format,
        default: props.default,
        items: props.one_item().map_or(Items::Absent, |items| Items::One(Box::new(convert(items)))),
        properties: props.properties.iter().map(|(name, property)| (*name, convert(property))).collect(),
        additional: match &props.additional {
            None => Additional::Absent,
            Some(PropsAdditional::Allowed(allowed)) => Additional::Allowed(*allowed),
            Some(PropsAdditional::Of(schema)) => Additional::Of(Box::new(convert(schema))),
        },
        extensions: Extensions {
            preserve_unknown_fields: props.preserve_unknown_fields == Some(true),
            list_type: props.list_type,
            list_map_keys: props.list_map_keys,
            map_type: props.map_type,
            ..Extensions::default()
        },
        ..Schema::default()
    };
    if props.embedded_resource {
        add_object_fields(&mut schema);
    }
    schema
}

/// Adds the fields of every object.
fn add_object_fields(schema: &mut Schema<'_>) {
    schema.properties.insert("apiVersion", Schema::of_type("string"));
    schema.properties.insert("kind", Schema::of_type("string"));
    schema.properties.insert("metadata", Schema::refer_to(OBJECT_META));
}
