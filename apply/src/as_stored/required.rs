//! Fields that the API server requires.
//!
//! A custom resource has to have all that its schema requires. The server doesn't check the schemas of built-in kinds, but has its own
//! rules, which agree with what the schemas require of the items of lists that are merged by keys.

use serde_json::Value;

use crate::types::{Type, Types, is_built_in, is_zero};

/// The fields that the server requires though the schemas don't: `validateContainerCommon` in pkg/apis/core/validation.
const ALSO_REQUIRED: [(&str, &str); 2] =
    [("io.k8s.api.core.v1.Container", "image"), ("io.k8s.api.core.v1.EphemeralContainer", "image")];

/// The required fields that an object of a type lacks, as the server spells their paths. What the live object lacks as well is left out:
/// the server may tolerate it.
pub(super) fn missing(types: &Types, of: &str, object: &Value, live: Option<&Value>) -> Vec<String> {
    let mut search = Search { types, found: Vec::new() };
    search.value(object, live, types.named(of), Place { path: String::new(), name: of, keys: &[] });
    search.found
}

struct Search<'t> {
    types: &'t Types,
    found: Vec<String>,
}

/// The place of a value in an object.
struct Place<'t> {
    path: String,
    /// The name of its type, or of the one that it is in.
    name: &'t str,
    /// The keys of the list that it is an item of.
    keys: &'t [String],
}

impl<'t> Search<'t> {
    fn value(&mut self, value: &Value, live: Option<&Value>, of: &'t Type, place: Place<'t>) {
        let Place { path, name, keys } = place;
        match (of, value) {
            _ if live == Some(value) => {}
            (Type::Named(name), _) => {
                self.value(value, live, self.types.named(name), Place { path, name, keys });
            }
            (Type::Struct { fields, required, .. }, Value::Object(members)) => {
                let is_built_in = is_built_in(name);
                let lacks = |object: &Value, field: &str| {
                    object.get(field).is_none_or(|value| is_built_in && is_zero(value))
                };
                if !is_built_in || !keys.is_empty() {
                    let also = ALSO_REQUIRED.iter().filter(|(of, _)| *of == name).map(|(_, field)| *field);
                    let required = required.iter().map(String::as_str).chain(also);
                    let missing = required
                        .filter(|field| lacks(value, field) && !live.is_some_and(|live| lacks(live, field)));
                    self.found.extend(missing.map(|field| joined(&path, field)));
                }
                for (field, value) in members {
                    if let Some(of) = fields.get(field) {
                        let place = Place { path: joined(&path, field), name, keys: &[] };
                        self.value(value, live.and_then(|live| live.get(field)), of, place);
                    }
                }
            }
            (Type::Map { values, .. }, Value::Object(members)) => {
                for (key, value) in members {
                    let place = Place { path: format!("{path}[{key}]"), name, keys: &[] };
                    self.value(value, live.and_then(|live| live.get(key)), values, place);
                }
            }
            (Type::List { items: of, keys, .. }, Value::Array(items)) => {
                let live = live.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
                for (index, item) in items.iter().enumerate() {
                    let is_same = |live: &&Value| keys.iter().all(|key| live.get(key) == item.get(key));
                    let live = live.iter().filter(|_| !keys.is_empty()).find(is_same);
                    self.value(item, live, of, Place { path: format!("{path}[{index}]"), name, keys });
                }
            }
            _ => {}
        }
    }
}

fn joined(path: &str, field: &str) -> String {
    if path.is_empty() { field.to_owned() } else { format!("{path}.{field}") }
}
