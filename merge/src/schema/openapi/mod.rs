//! Schemas from an OpenAPI v3 document, as a kube-apiserver serves it under `/openapi/v3/…`.
//!
//! The result is the API server's own schema for server-side apply: the conversion of kube-openapi's `schemaconv`, and the
//! index of kinds of apimachinery's type converter. OpenAPI v2 isn't supported.

pub(super) mod convert;
mod endpoints;
pub(super) mod spec;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

pub use self::endpoints::Endpoints;

use self::convert::Model;
use self::spec::Schema;
use super::at::{At, present};
use super::definition::SchemaDefinition;
use super::error::{Problem, SchemaError};
use super::kinds::GroupVersionKind;

/// The types and kinds of a document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpenApi {
    /// All types, sorted by name, and after them the two untyped ones.
    pub definition: SchemaDefinition,
    /// The kinds with a type.
    pub kinds: BTreeMap<GroupVersionKind, KindInfo>,
}

/// A kind in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindInfo {
    /// The name of its type in the definition.
    pub type_name: String,
    /// Its resource; `None` if the document has no path of a single object.
    pub endpoints: Option<Endpoints>,
}

/// Reads a document.
///
/// # Errors
/// When it isn't an OpenAPI v3 document, or a value that affects merging is unknown. The server would refuse such a type.
///
/// ```
/// use baton_merge::schema::{kinds::GroupVersionKind, openapi};
///
/// let read = openapi::parse(&serde_json::json!({
///     "openapi": "3.0.0",
///     "components": {"schemas": {"rs.baton.v1.Note": {
///         "type": "object",
///         "properties": {"text": {"type": "string"}},
///         "x-kubernetes-group-version-kind": [{"group": "baton.rs", "version": "v1", "kind": "Note"}],
///     }}},
/// }))?;
/// let note = &read.kinds[&GroupVersionKind::new("baton.rs", "v1", "Note")];
/// assert_eq!(note.type_name, "rs.baton.v1.Note");
/// # Ok::<(), baton_merge::schema::SchemaError>(())
/// ```
pub fn parse(document: &Value) -> Result<OpenApi, SchemaError> {
    let root = At::root("$");
    let object = root.object(document)?;
    let components = present(object, "components");
    if components.is_none() && !speaks_version_3(object) {
        return Err(root.error(Problem::NotOpenApiV3));
    }
    let Some(components) = components else { return Ok(OpenApi::without_models()) };
    let root = root.member("components");
    let Some(schemas) = present(root.object(components)?, "schemas") else {
        return Ok(OpenApi::without_models());
    };
    let root = root.member("schemas");
    let schemas = root.object(schemas)?;
    Ok(OpenApi {
        definition: convert::definition(&read_models(schemas, &root)?, false)?,
        kinds: index(schemas, present(object, "paths").and_then(Value::as_object)),
    })
}

impl OpenApi {
    fn without_models() -> Self {
        Self {
            definition: SchemaDefinition { types: convert::common_types().into() },
            kinds: BTreeMap::new(),
        }
    }
}

fn speaks_version_3(document: &Map<String, Value>) -> bool {
    document.get("openapi").and_then(Value::as_str).is_some_and(|version| version.starts_with("3."))
}

/// Reads named schemas; none of them may be null.
pub(super) fn read_models<'a>(
    schemas: &'a Map<String, Value>,
    at: &At<'_>,
) -> Result<Vec<Model<'a>>, SchemaError> {
    schemas
        .iter()
        .map(|(name, schema)| {
            let at = at.member(name);
            at.object(schema)?;
            Ok(Model { name: name.clone(), at: at.to_string(), schema: Schema::read(schema, &at)? })
        })
        .collect()
}

/// Of two types with one kind the first by name counts; in Go that is random.
fn index(
    schemas: &Map<String, Value>,
    paths: Option<&Map<String, Value>>,
) -> BTreeMap<GroupVersionKind, KindInfo> {
    let mut endpoints = paths.map(endpoints::read).unwrap_or_default();
    let mut by_name: Vec<_> = schemas.iter().collect();
    by_name.sort_by_key(|(name, _)| *name);
    let mut kinds = BTreeMap::new();
    for (name, schema) in by_name {
        for kind in endpoints::kinds_of(schema) {
            let endpoints = endpoints.remove(&kind);
            kinds.entry(kind).or_insert_with(|| KindInfo { type_name: name.clone(), endpoints });
        }
    }
    kinds
}
