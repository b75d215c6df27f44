//! The owners of an object's paths, read from its `managedFields`.

use std::fmt;

use baton_merge::{Arena, fieldpath::FieldSet};
use baton_testbed::Json;

/// One field manager of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    /// The field manager and how it wrote: `kubectl (Apply)`, `kube-controller-manager (Update scale)`.
    pub(super) name: String,
    /// The fields that it owns, spelled as in conflicts and in the order of the field set.
    pub(super) paths: Vec<String>,
}

/// The entries of `managedFields`.
pub(super) fn entries(object: Option<&Json>) -> &[Json] {
    object.and_then(|object| object.at(&["metadata", "managedFields"])).map(Json::items).unwrap_or_default()
}

/// The field managers of an object, in the order of its `managedFields`. A field set that can't be read is empty.
pub(super) fn owners(object: Option<&Json>) -> Vec<Owner> {
    entries(object).iter().map(Owner::read).collect()
}

/// The name of an entry.
pub(super) fn name(entry: &Json) -> String {
    let text = |member: &str| entry.get(member).and_then(Json::as_str).unwrap_or_default();
    let how = [text("operation"), text("subresource")].join(" ");
    format!("{} ({})", text("manager"), how.trim_end())
}

impl Owner {
    fn read(entry: &Json) -> Self {
        let arena = Arena::new();
        let fields = entry.get("fieldsV1").map(Json::to_string).unwrap_or_default();
        let mut paths = Vec::new();
        if let Ok(set) = FieldSet::from_fields_v1_text(&arena, &fields) {
            set.for_each_path(|path| paths.push(path.to_string()));
        }
        Self { name: name(entry), paths }
    }

    pub(super) fn owns(&self, path: &str) -> bool {
        self.paths.iter().any(|own| own == path)
    }
}

/// The name, and below it the paths.
impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.name)?;
        self.paths.iter().try_for_each(|path| writeln!(f, "  {path}"))
    }
}
