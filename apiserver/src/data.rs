//! Recordings of a real server: its resources and its OpenAPI documents. `cargo openapi-refresh` makes them.

use std::{
    collections::BTreeMap,
    io::Read as _,
    sync::{LazyLock, OnceLock},
};

use baton_merge::server::Resources;
use flate2::read::GzDecoder;
use serde::Deserialize;
use serde_json::Value;

use crate::{patch::PatchSchema, registry};

/// Discovery of the built-in resources.
#[derive(Default, Deserialize)]
pub(crate) struct Discovery {
    /// The groups in the server's order, as `APIGroup`.
    pub(crate) groups: Vec<Value>,
    /// The `APIResourceList` of each group version, by its path.
    pub(crate) resources: BTreeMap<String, Value>,
}

pub(crate) static DISCOVERY: LazyLock<Discovery> =
    LazyLock::new(|| serde_json::from_str(include_str!("../data/discovery.json")).unwrap_or_default());

/// OpenAPI documents other than those of group versions, by their path below `/openapi/v3`: groups, their lists, and the
/// version.
pub(crate) static OTHERS: LazyLock<BTreeMap<String, Other>> = LazyLock::new(|| {
    let text = unpacked(include_bytes!("../data/others.json.gz"));
    let all: BTreeMap<String, Value> = serde_json::from_str(&text).unwrap_or_default();
    all.into_iter().map(|(path, document)| (path, Other::of(document.to_string()))).collect()
});

pub(crate) struct Other {
    pub(crate) text: String,
    pub(crate) hash: String,
}

impl Other {
    fn of(text: String) -> Self {
        Self { hash: registry::hash(text.as_bytes()), text }
    }
}

/// The OpenAPI document of a group version.
pub(crate) struct Document {
    /// Below `/openapi/v3`, such as `apis/apps/v1`.
    pub(crate) path: &'static str,
    recorded: &'static baton_openapi::Document,
    resources: OnceLock<Resources>,
    schemas: OnceLock<Value>,
    text: OnceLock<String>,
    hash: OnceLock<String>,
    patch_schema: OnceLock<PatchSchema>,
}

static DOCUMENTS: LazyLock<Vec<Document>> = LazyLock::new(|| {
    let document = |recorded: &'static baton_openapi::Document| Document {
        path: recorded.path,
        recorded,
        resources: OnceLock::new(),
        schemas: OnceLock::new(),
        text: OnceLock::new(),
        hash: OnceLock::new(),
        patch_schema: OnceLock::new(),
    };
    baton_openapi::DOCUMENTS.iter().map(document).collect()
});

impl Document {
    /// The document of a group version.
    pub(crate) fn of(path: &str) -> Option<&'static Self> {
        DOCUMENTS.iter().find(|document| document.path == path)
    }

    /// The hash of its content.
    pub(crate) fn hash(&self) -> &str {
        self.hash.get_or_init(|| registry::hash(self.recorded.packed))
    }

    /// The document as the server serves it.
    pub(crate) fn text(&self) -> &str {
        self.text.get_or_init(|| self.recorded.text())
    }

    /// The kinds, compiled for the merge core, with the other versions of the group, in which fields may be owned.
    pub(crate) fn resources(&self) -> Option<&Resources> {
        if self.resources.get().is_none() {
            let others: Vec<_> = DOCUMENTS.iter().filter(|other| self.is_of_group(other)).collect();
            let compiled = if others.is_empty() {
                Resources::from_openapi(self.schemas())
            } else {
                let mut whole = self.schemas().clone();
                for other in others {
                    add_missing(&mut whole["paths"], &other.schemas()["paths"]);
                    add_missing(
                        &mut whole["components"]["schemas"],
                        &other.schemas()["components"]["schemas"],
                    );
                }
                Resources::from_openapi(&whole)
            };
            let compiled = compiled.ok()?;
            // Another thread may have set it.
            let _ = self.resources.set(compiled);
        }
        self.resources.get()
    }

    /// Whether another document is of the same group.
    fn is_of_group(&self, other: &Self) -> bool {
        let group = |path: &'static str| path.rsplit_once('/').map(|(group, _)| group);
        self.path != other.path && group(self.path) == group(other.path)
    }

    /// The merge keys of strategic merge patches.
    pub(crate) fn patch_schema(&self) -> &PatchSchema {
        self.patch_schema.get_or_init(|| PatchSchema::of(self.schemas()))
    }

    /// The document without descriptions.
    pub(crate) fn schemas(&self) -> &Value {
        self.schemas.get_or_init(|| serde_json::from_str(&self.recorded.schemas()).unwrap_or_default())
    }
}

/// Adds the members that an object lacks.
fn add_missing(object: &mut Value, other: &Value) {
    let (Some(object), Some(other)) = (object.as_object_mut(), other.as_object()) else { return };
    for (name, value) in other {
        if !object.contains_key(name) {
            object.insert(name.clone(), value.clone());
        }
    }
}

fn unpacked(packed: &[u8]) -> String {
    let mut text = String::new();
    // The compiled-in data can be unpacked; a test reads all of it.
    let _ = GzDecoder::new(packed).read_to_string(&mut text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_document_is_there_and_compiles() {
        for document in &*DOCUMENTS {
            let parsed: Value = serde_json::from_str(document.text()).unwrap();
            assert!(parsed["paths"].is_object(), "{}", document.path);
            assert!(document.resources().is_some(), "{}", document.path);
            assert!(DISCOVERY.resources.contains_key(document.path), "{}", document.path);
        }
        assert_eq!(DOCUMENTS.len(), DISCOVERY.resources.len());
        for group in &DISCOVERY.groups {
            let path = format!("apis/{}", group["name"].as_str().unwrap());
            assert!(OTHERS.contains_key(&path), "{path}");
        }
    }
}
