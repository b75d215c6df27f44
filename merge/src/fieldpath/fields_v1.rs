//! The wire form of a field set: `{"f:spec":{"f:replicas":{}}}`, as in `metadata.managedFields[].fieldsV1`.

use serde_json::{Map, Value};

use super::{FieldSet, PathElement};

/// What is wrong with a FieldsV1 document.
#[derive(Debug, thiserror::Error)]
pub enum FieldsV1Error {
    /// A level of the tree is something else than a JSON object.
    #[error("FieldsV1: expected an object below {at:?}, found {found}")]
    NotAnObject {
        /// The member that holds it; empty at the root.
        at: String,
        /// What was found.
        found: Value,
    },
    /// A member's name isn't `.` and doesn't begin with a known qualifier and a colon.
    #[error("FieldsV1: {0:?} is no path element; it begins with none of f:, k:, v:, i:")]
    UnknownQualifier(String),
    /// What follows the qualifier can't be read.
    #[error("FieldsV1: can't read the path element {element:?}")]
    Element {
        /// The member's name.
        element: String,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl FieldSet {
    /// Reads FieldsV1, as `managedFields` carries it.
    ///
    /// # Errors
    /// When the document isn't what a kube-apiserver writes; nothing is guessed.
    pub fn from_fields_v1(fields: &Value) -> Result<Self, FieldsV1Error> {
        read(fields, "")
    }

    /// Writes FieldsV1, members in the set's order.
    pub fn to_fields_v1(&self) -> Value {
        let mut fields = Map::new();
        for element in &self.members {
            fields.insert(write_element(element), Value::Object(Map::new()));
        }
        for (element, below) in &self.children {
            let mut below = below.to_fields_v1();
            if let (true, Some(below)) = (self.members.contains(element), below.as_object_mut()) {
                below.insert(".".to_owned(), Value::Object(Map::new()));
            }
            fields.insert(write_element(element), below);
        }
        Value::Object(fields)
    }
}

fn read(fields: &Value, at: &str) -> Result<FieldSet, FieldsV1Error> {
    let object = fields
        .as_object()
        .ok_or_else(|| FieldsV1Error::NotAnObject { at: at.to_owned(), found: fields.clone() })?;
    let mut set = FieldSet::default();
    for (name, below) in object.iter().filter(|(name, _)| *name != ".") {
        let element = read_element(name)?;
        let children = read(below, name)?;
        if children.is_empty() || below.get(".").is_some() {
            set.members.insert(element.clone());
        }
        if !children.is_empty() {
            set.children.insert(element, children);
        }
    }
    Ok(set)
}

fn read_element(name: &str) -> Result<PathElement, FieldsV1Error> {
    let unreadable = |source: Box<dyn std::error::Error + Send + Sync>| FieldsV1Error::Element {
        element: name.to_owned(),
        source,
    };
    match name.split_once(':') {
        Some(("f", field)) => Ok(PathElement::from(field)),
        Some(("k", keys)) => {
            let keys: Map<String, Value> =
                serde_json::from_str(keys).map_err(|error| unreadable(error.into()))?;
            Ok(PathElement::key(keys))
        }
        Some(("v", value)) => {
            serde_json::from_str(value).map(PathElement::Value).map_err(|error| unreadable(error.into()))
        }
        Some(("i", index)) => {
            index.parse().map(PathElement::Index).map_err(|error| unreadable(Box::new(error)))
        }
        _ => Err(FieldsV1Error::UnknownQualifier(name.to_owned())),
    }
}

fn write_element(element: &PathElement) -> String {
    match element {
        PathElement::Field(name) => format!("f:{name}"),
        PathElement::Key(keys) => format!("k:{}", Value::Object(keys.iter().cloned().collect())),
        PathElement::Value(value) => format!("v:{value}"),
        PathElement::Index(index) => format!("i:{index}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fieldpath::Path;

    fn fields() -> Value {
        json!({
            "f:metadata": {"f:finalizers": {".": {}, "v:\"keep\"": {}}},
            "f:spec": {
                "f:replicas": {},
                "f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}},
                "f:args": {"i:2": {}},
            },
        })
    }

    #[test]
    fn every_kind_of_element_survives_the_round_trip() {
        let set = FieldSet::from_fields_v1(&fields()).unwrap();
        assert_eq!(set.to_fields_v1(), fields());
    }

    #[test]
    fn the_dot_makes_the_item_itself_a_member() {
        let set = FieldSet::from_fields_v1(&fields()).unwrap();
        let item = PathElement::key([("protocol", json!("TCP")), ("port", json!(80))]);
        assert!(set.contains(&Path::new(["spec".into(), "ports".into(), item])));
        assert!(!set.contains(&Path::of_fields(["spec", "ports"])));
    }

    #[test]
    fn what_is_not_fields_v1_is_refused_with_the_place_named() {
        for (broken, word) in [
            (json!({"f:spec": 1}), "f:spec"),
            (json!({"x:spec": {}}), "x:spec"),
            (json!({"k:{": {}}), "k:{"),
            (json!({"i:two": {}}), "i:two"),
            (json!([]), "expected an object"),
        ] {
            let message = FieldSet::from_fields_v1(&broken).unwrap_err().to_string();
            assert!(message.contains(word), "{message} should name {word}");
        }
    }
}
