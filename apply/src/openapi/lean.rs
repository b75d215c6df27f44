//! Reads an OpenAPI document without what nobody asks for: descriptions, and all of an operation but the kind it is about.
//!
//! That is nine tenths of it, a megabyte and a half for the core group alone, and would be held ten times over while it is
//! read.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// What says which kind an operation is about.
const KIND: &str = "x-kubernetes-group-version-kind";

/// Reads a document.
///
/// # Errors
/// When it isn't JSON.
pub(super) fn read(text: &str) -> Result<Value, serde_json::Error> {
    let mut json = serde_json::Deserializer::from_str(text);
    let document = Part::Document.deserialize(&mut json)?;
    json.end()?;
    Ok(document)
}

/// Where in the document a value is.
#[derive(Clone, Copy)]
enum Part {
    Document,
    Paths,
    Path,
    Operation,
    /// Everything else, in which only descriptions are left out.
    Rest,
}

impl Part {
    /// What a member is; nothing where nobody asks for it.
    fn member(self, name: &str) -> Option<Self> {
        match self {
            Self::Document if name == "paths" => Some(Self::Paths),
            Self::Document | Self::Rest => Some(Self::Rest),
            Self::Paths => Some(Self::Path),
            Self::Path => Some(Self::Operation),
            Self::Operation => (name == KIND).then_some(Self::Rest),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Part {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Part {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        // What is in a list of parameters is as little asked for as a member would be.
        while let Some(item) = sequence.next_element_seed(self)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            let Some(part) = self.member(&name) else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            let value = map.next_value_seed(part)?;
            // A schema may have a property of this name, which is no text.
            if !(name == "description" && value.is_string()) {
                members.insert(name, value);
            }
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn descriptions_and_what_operations_take_and_return_are_left_out() {
        let kind = json!({"group": "apps", "version": "v1", "kind": "Deployment"});
        let document = json!({
            "openapi": "3.0.0",
            "info": {"title": "x", "description": "about"},
            "paths": {"/apis/apps/v1/deployments/{name}": {
                "get": {KIND: kind, "description": "reads", "parameters": [{"name": "a"}], "responses": {"200": {}}},
                "parameters": [{"name": "name", "in": "path"}],
            }},
            "components": {"schemas": {"a": {
                "description": "about a",
                "properties": {
                    "description": {"type": "string", "description": "a property"},
                    "n": {"default": 1.5, "enum": ["b", null, true, -3]},
                },
            }}},
        });
        let lean = json!({
            "openapi": "3.0.0",
            "info": {"title": "x"},
            "paths": {"/apis/apps/v1/deployments/{name}": {"get": {KIND: kind}, "parameters": [{}]}},
            "components": {"schemas": {"a": {
                "properties": {
                    "description": {"type": "string"},
                    "n": {"default": 1.5, "enum": ["b", null, true, -3]},
                },
            }}},
        });
        assert_eq!(read(&document.to_string()).unwrap(), lean);
        assert!(read("{").is_err() && read("{} {}").is_err());
    }
}
