//! The excerpt of the API server's `OpenAPI` document, as data.
//!
//! It reads the file and follows references, and doesn't know what the schemas mean.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// An excerpt of the `OpenAPI` v3 documents that an API server serves.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Document {
    /// The documents that the schemas are from, such as `apis/apps/v1`.
    pub documents: Vec<String>,

    /// The release of the API server that served them, such as `v1.36.3`.
    pub release: String,

    /// The schemas by name, such as `io.k8s.api.core.v1.Container`, with everything that they refer to.
    pub schemas: BTreeMap<String, Map<String, Value>>,
}

impl Document {
    /// The document in this crate, from which the Workload's schema is compiled. It is read each time: only the compiled schemas are
    /// kept, which take a tenth of its memory.
    pub fn shipped() -> Self {
        serde_json::from_str(include_str!("../../openapi/builtin.json"))
            .expect("crd/openapi/builtin.json is a document of schemas")
    }

    /// The name of the schema that a schema refers to, if it does. In `OpenAPI` v3 a reference that has siblings, such
    /// as a description, is wrapped into an `allOf` of one element; it is still a reference.
    pub(super) fn reference(schema: &Map<String, Value>) -> Option<&str> {
        let direct = schema.get("$ref");
        let wrapped = || match schema.get("allOf")?.as_array()?.as_slice() {
            [only] => only.get("$ref"),
            _ => None,
        };
        direct.or_else(wrapped)?.as_str()?.strip_prefix("#/components/schemas/")
    }
}
