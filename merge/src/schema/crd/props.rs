//! The schema of a custom resource as it is stored: `JSONSchemaProps` of apiextensions.k8s.io/v1.
//!
//! Members that aren't part of the type are dropped, as by the API server; empty ones are absent, as after the server
//! stored them. [`structural`](super::structural) checks whether the schema is structural.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::schema::at::{At, present};
use crate::schema::error::SchemaError;

/// A schema, borrowed from the CRD. Schemas that only validate have the same type.
#[derive(Default)]
pub(super) struct Props<'a> {
    /// The names of all members that are set.
    pub(super) set_members: Vec<&'static str>,
    pub(super) type_name: &'a str,
    pub(super) format: &'a str,
    pub(super) default: Option<&'a Value>,
    pub(super) preserve_unknown_fields: Option<bool>,
    pub(super) embedded_resource: bool,
    pub(super) int_or_string: bool,
    pub(super) list_type: Option<&'a Value>,
    pub(super) list_map_keys: Option<&'a Value>,
    pub(super) map_type: Option<&'a Value>,
    pub(super) items: Option<Items<'a>>,
    pub(super) properties: BTreeMap<&'a str, Props<'a>>,
    pub(super) additional: Option<Additional<'a>>,
    pub(super) all_of: Vec<Props<'a>>,
    pub(super) any_of: Vec<Props<'a>>,
    pub(super) one_of: Vec<Props<'a>>,
    pub(super) not: Option<Box<Props<'a>>>,
}

/// `items`.
pub(super) enum Items<'a> {
    One(Box<Props<'a>>),
    Several,
}

/// `additionalProperties`.
pub(super) enum Additional<'a> {
    Allowed(bool),
    Of(Box<Props<'a>>),
}

/// The JSON type of a member, and its empty value.
#[derive(Clone, Copy)]
enum Form {
    /// A string; empty as `""`.
    Text,
    /// A boolean; empty as `false`.
    Flag,
    /// A list; empty as `[]`.
    List,
    /// An object with any names in it; empty as `{}`.
    Table,
    /// A string that counts even if it is empty.
    Word,
    /// A boolean that counts even if it is false.
    Switch,
    /// A number.
    Number,
    /// Any value but null, which its reader checks.
    Any,
}

#[rustfmt::skip]
const MEMBERS: &[(&str, Form)] = &[
    ("$ref", Form::Text), ("$schema", Form::Text), ("additionalItems", Form::Any),
    ("additionalProperties", Form::Any), ("allOf", Form::List), ("anyOf", Form::List), ("default", Form::Any),
    ("definitions", Form::Table), ("dependencies", Form::Table), ("description", Form::Text),
    ("enum", Form::List), ("example", Form::Any), ("exclusiveMaximum", Form::Flag),
    ("exclusiveMinimum", Form::Flag), ("externalDocs", Form::Any), ("format", Form::Text), ("id", Form::Text),
    ("items", Form::Any), ("maxItems", Form::Number), ("maxLength", Form::Number),
    ("maxProperties", Form::Number), ("maximum", Form::Number), ("minItems", Form::Number),
    ("minLength", Form::Number), ("minProperties", Form::Number), ("minimum", Form::Number),
    ("multipleOf", Form::Number), ("not", Form::Any), ("nullable", Form::Flag), ("oneOf", Form::List),
    ("pattern", Form::Text), ("patternProperties", Form::Table), ("properties", Form::Table),
    ("required", Form::List), ("title", Form::Text), ("type", Form::Text), ("uniqueItems", Form::Flag),
    ("x-kubernetes-embedded-resource", Form::Flag), ("x-kubernetes-int-or-string", Form::Flag),
    ("x-kubernetes-list-map-keys", Form::List), ("x-kubernetes-list-type", Form::Word),
    ("x-kubernetes-map-type", Form::Word), ("x-kubernetes-preserve-unknown-fields", Form::Switch),
    ("x-kubernetes-validations", Form::List),
];

impl<'a> Props<'a> {
    /// Reads a schema; null is the empty one.
    pub(super) fn read(value: &'a Value, at: &At<'_>) -> Result<Self, SchemaError> {
        at.check_depth()?;
        if value.is_null() {
            return Ok(Self::default());
        }
        let object = at.object(value)?;
        let mut props = Self { set_members: set_members(object, at)?, ..Self::default() };
        props.type_name = props.member(object, "type").and_then(Value::as_str).unwrap_or_default();
        props.format = props.member(object, "format").and_then(Value::as_str).unwrap_or_default();
        props.default = props.member(object, "default");
        props.preserve_unknown_fields =
            props.member(object, "x-kubernetes-preserve-unknown-fields").and_then(Value::as_bool);
        props.embedded_resource = props.has("x-kubernetes-embedded-resource");
        props.int_or_string = props.has("x-kubernetes-int-or-string");
        props.list_type = props.member(object, "x-kubernetes-list-type");
        props.list_map_keys = props.member(object, "x-kubernetes-list-map-keys");
        props.map_type = props.member(object, "x-kubernetes-map-type");
        check_texts(props.list_map_keys, &at.member("x-kubernetes-list-map-keys"))?;
        check_texts(props.member(object, "required"), &at.member("required"))?;
        props.items = props.read_items(object, at)?;
        props.properties = props.read_properties(object, at)?;
        props.additional = props.read_additional(object, at)?;
        props.all_of = props.read_all(object, "allOf", at)?;
        props.any_of = props.read_all(object, "anyOf", at)?;
        props.one_of = props.read_all(object, "oneOf", at)?;
        if let Some(not) = props.member(object, "not") {
            props.not = Some(Box::new(Self::read(not, &at.member("not"))?));
        }
        Ok(props)
    }

    /// Whether a member is set.
    pub(super) fn has(&self, member: &str) -> bool {
        self.set_members.contains(&member)
    }

    /// The schema of the items.
    pub(super) fn one_item(&self) -> Option<&Self> {
        match &self.items {
            Some(Items::One(items)) => Some(items),
            Some(Items::Several) | None => None,
        }
    }

    /// The schema of the additional properties.
    pub(super) fn additional_schema(&self) -> Option<&Self> {
        match &self.additional {
            Some(Additional::Of(schema)) => Some(schema),
            Some(Additional::Allowed(_)) | None => None,
        }
    }

    fn member(&self, object: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
        object.get(name).filter(|_| self.has(name))
    }

    fn read_items(
        &mut self,
        object: &'a Map<String, Value>,
        at: &At<'_>,
    ) -> Result<Option<Items<'a>>, SchemaError> {
        Ok(match self.member(object, "items") {
            Some(items @ Value::Object(_)) => {
                Some(Items::One(Box::new(Self::read(items, &at.member("items"))?)))
            }
            Some(Value::Array(items)) if !items.is_empty() => {
                self.read_all(object, "items", at)?;
                Some(Items::Several)
            }
            _ => {
                self.set_members.retain(|name| *name != "items");
                None
            }
        })
    }

    fn read_properties(
        &self,
        object: &'a Map<String, Value>,
        at: &At<'_>,
    ) -> Result<BTreeMap<&'a str, Self>, SchemaError> {
        let Some(properties) = self.member(object, "properties") else { return Ok(BTreeMap::new()) };
        let at = at.member("properties");
        let properties = at.object(properties)?.iter();
        properties.map(|(name, value)| Ok((name.as_str(), Self::read(value, &at.member(name))?))).collect()
    }

    fn read_additional(
        &self,
        object: &'a Map<String, Value>,
        at: &At<'_>,
    ) -> Result<Option<Additional<'a>>, SchemaError> {
        let at = at.member("additionalProperties");
        Ok(match self.member(object, "additionalProperties") {
            None => None,
            Some(Value::Bool(allowed)) => Some(Additional::Allowed(*allowed)),
            Some(schema @ Value::Object(_)) => Some(Additional::Of(Box::new(Self::read(schema, &at)?))),
            Some(other) => return at.refuse("a schema or a boolean", other),
        })
    }

    fn read_all(
        &self,
        object: &'a Map<String, Value>,
        member: &str,
        at: &At<'_>,
    ) -> Result<Vec<Self>, SchemaError> {
        let Some(all) = self.member(object, member) else { return Ok(Vec::new()) };
        let at = at.member(member);
        let all = at.list(all)?.iter().enumerate();
        all.map(|(index, value)| Self::read(value, &at.index(index))).collect()
    }
}

/// The members that are set, each with its JSON type checked.
fn set_members(object: &Map<String, Value>, at: &At<'_>) -> Result<Vec<&'static str>, SchemaError> {
    let mut set_members = Vec::new();
    for (name, form) in MEMBERS {
        let Some(value) = present(object, name) else { continue };
        let at = at.member(name);
        let is_set = match form {
            Form::Text => !at.text(value)?.is_empty(),
            Form::Flag => at.flag(value)?,
            Form::List => !at.list(value)?.is_empty(),
            Form::Table => !at.object(value)?.is_empty(),
            Form::Word => at.text(value).map(|_| true)?,
            Form::Switch => at.flag(value).map(|_| true)?,
            Form::Number if !value.is_number() => return at.refuse("a number", value),
            Form::Number | Form::Any => true,
        };
        if is_set {
            set_members.push(*name);
        }
    }
    Ok(set_members)
}

fn check_texts(list: Option<&Value>, at: &At<'_>) -> Result<(), SchemaError> {
    let mut texts = list.and_then(Value::as_array).into_iter().flatten().enumerate();
    texts.try_for_each(|(index, text)| at.index(index).text(text).map(|_| ()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn members_of(value: &Value) -> Vec<&'static str> {
        Props::read(value, &At::root("$")).map(|props| props.set_members).unwrap()
    }

    #[test]
    fn empty_and_unknown_members_are_not_set() {
        let value = json!({
            "type": "", "nullable": false, "required": [], "properties": {}, "default": null, "items": [],
            "x-kubernetes-patch-strategy": "merge", "x-custom": 1,
        });
        assert_eq!(members_of(&value), [""; 0]);
    }

    #[test]
    fn pointers_are_set_even_when_they_are_empty() {
        let value = json!({
            "items": {}, "additionalProperties": false, "not": {}, "default": {},
            "x-kubernetes-preserve-unknown-fields": false,
        });
        let expected =
            ["additionalProperties", "default", "items", "not", "x-kubernetes-preserve-unknown-fields"];
        assert_eq!(members_of(&value), expected);
    }

    #[test]
    fn a_wrong_type_is_refused_with_its_place() {
        for (value, message) in [
            (json!({"type": ["string"]}), "$.type: expected a string, found a list"),
            (json!({"properties": {"a.b": 1}}), "$.properties[\"a.b\"]: expected an object, found a number"),
            (json!({"allOf": [{"nullable": 1}]}), "$.allOf[0].nullable: expected a boolean, found a number"),
            (json!({"required": [1]}), "$.required[0]: expected a string, found a number"),
            (json!({"maximum": "1"}), "$.maximum: expected a number, found a string"),
            (
                json!({"additionalProperties": 1}),
                "$.additionalProperties: expected a schema or a boolean, found a number",
            ),
        ] {
            assert_eq!(Props::read(&value, &At::root("$")).err().unwrap().to_string(), message);
        }
    }
}
