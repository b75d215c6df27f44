//! The schema of a custom resource: `JSONSchemaProps` of apiextensions.k8s.io/v1, compiled for walks over objects.
//!
//! Empty members are absent, as they are after a server stored them. Validation of schemas is elsewhere.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value as Json;

use super::pattern;
use super::rules::ValidationRule;

/// A schema. Those below `allOf`, `anyOf`, `oneOf` and `not` have the same type and only validate.
#[derive(Debug, Default)]
pub(crate) struct Schema {
    pub(super) type_name: String,
    pub(super) format: String,
    pub(super) nullable: bool,
    pub(super) default: Option<Json>,
    pub(super) maximum: Option<Bound>,
    pub(super) minimum: Option<Bound>,
    pub(super) multiple_of: Option<f64>,
    pub(super) max_length: Option<i64>,
    pub(super) min_length: Option<i64>,
    pub(super) max_items: Option<i64>,
    pub(super) min_items: Option<i64>,
    pub(super) max_properties: Option<i64>,
    pub(super) min_properties: Option<i64>,
    pub(super) pattern: Option<Pattern>,
    pub(super) one_of_values: Vec<Json>,
    pub(super) required: Vec<String>,
    pub(super) items: Option<Box<Schema>>,
    pub(super) properties: BTreeMap<String, Schema>,
    pub(super) additional: Option<Additional>,
    pub(super) all_of: Vec<Schema>,
    pub(super) any_of: Vec<Schema>,
    pub(super) one_of: Vec<Schema>,
    pub(super) not: Option<Box<Schema>>,
    /// `x-kubernetes-preserve-unknown-fields`; `false` is invalid.
    pub(super) preserve: Option<bool>,
    pub(super) embedded: bool,
    pub(super) int_or_string: bool,
    pub(super) list_type: Option<String>,
    pub(super) list_map_keys: Vec<String>,
    pub(super) map_type: Option<String>,
    pub(super) rules: Vec<ValidationRule>,
    /// Members that matter only for the validation of the CRD.
    pub(super) unsupported: Vec<&'static str>,
}

/// The bound of a range.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    pub(super) limit: f64,
    pub(super) exclusive: bool,
}

/// A pattern for strings.
#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) source: String,
    pub(super) regex: Result<Regex, String>,
}

/// `additionalProperties`.
#[derive(Debug)]
pub(super) enum Additional {
    Allowed(bool),
    Of(Box<Schema>),
}

/// Members without an effect on objects: some are invalid, others are documentation.
#[rustfmt::skip]
const UNSUPPORTED: [&str; 9] = [
    "id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref", "uniqueItems",
    "title", "description",
];

/// The schema of a resource without one: all fields are unknown.
pub(super) static EMPTY: LazyLock<Schema> = LazyLock::new(Schema::default);

impl Schema {
    /// Reads a schema. Members of a wrong type are ignored.
    pub(super) fn read(json: &Json) -> Self {
        let text = |name| json[name].as_str().unwrap_or_default().to_owned();
        let flag = |name| json[name].as_bool().unwrap_or_default();
        let number = |name| json[name].as_i64();
        let bound =
            |name, exclusive| json[name].as_f64().map(|limit| Bound { limit, exclusive: flag(exclusive) });
        let schemas = |name| json[name].as_array().into_iter().flatten().map(Self::read).collect();
        let below = |name| json[name].is_object().then(|| Box::new(Self::read(&json[name])));
        let texts = |name| {
            let all = json[name].as_array().into_iter().flatten();
            all.filter_map(Json::as_str).map(str::to_owned).collect()
        };
        let mut unsupported: Vec<_> = UNSUPPORTED.into_iter().filter(|name| is_set(&json[*name])).collect();
        if json["items"].as_array().is_some_and(|items| !items.is_empty()) {
            unsupported.push("items");
        }
        Self {
            type_name: text("type"),
            format: text("format"),
            nullable: flag("nullable"),
            default: Some(&json["default"]).filter(|value| !value.is_null()).cloned(),
            maximum: bound("maximum", "exclusiveMaximum"),
            minimum: bound("minimum", "exclusiveMinimum"),
            multiple_of: json["multipleOf"].as_f64(),
            max_length: number("maxLength"),
            min_length: number("minLength"),
            max_items: number("maxItems"),
            min_items: number("minItems"),
            max_properties: number("maxProperties"),
            min_properties: number("minProperties"),
            pattern: json["pattern"].as_str().filter(|pattern| !pattern.is_empty()).map(Pattern::new),
            one_of_values: json["enum"].as_array().cloned().unwrap_or_default(),
            required: texts("required"),
            items: below("items"),
            properties: Self::read_properties(&json["properties"]),
            additional: match &json["additionalProperties"] {
                Json::Bool(allowed) => Some(Additional::Allowed(*allowed)),
                schema @ Json::Object(_) => Some(Additional::Of(Box::new(Self::read(schema)))),
                _ => None,
            },
            all_of: schemas("allOf"),
            any_of: schemas("anyOf"),
            one_of: schemas("oneOf"),
            not: below("not"),
            preserve: json["x-kubernetes-preserve-unknown-fields"].as_bool(),
            embedded: flag("x-kubernetes-embedded-resource"),
            int_or_string: flag("x-kubernetes-int-or-string"),
            list_type: json["x-kubernetes-list-type"].as_str().map(str::to_owned),
            list_map_keys: texts("x-kubernetes-list-map-keys"),
            map_type: json["x-kubernetes-map-type"].as_str().map(str::to_owned),
            rules: json["x-kubernetes-validations"]
                .as_array()
                .into_iter()
                .flatten()
                .map(ValidationRule::read)
                .collect(),
            unsupported,
        }
    }

    fn read_properties(json: &Json) -> BTreeMap<String, Self> {
        let all = json.as_object().into_iter().flatten();
        all.map(|(name, property)| (name.clone(), Self::read(property))).collect()
    }

    /// The schema of a map's values.
    pub(super) fn values(&self) -> Option<&Self> {
        match &self.additional {
            Some(Additional::Of(schema)) => Some(schema),
            Some(Additional::Allowed(_)) | None => None,
        }
    }

    /// The schema of a member, a field or a value of a map.
    pub(super) fn member(&self, name: &str) -> Option<&Self> {
        self.properties.get(name).or_else(|| self.values())
    }

    /// Whether unknown fields are preserved.
    pub(super) fn preserves(&self) -> bool {
        self.preserve == Some(true)
    }

    /// Whether it has this list type.
    pub(super) fn is_list(&self, list_type: &str) -> bool {
        self.list_type.as_deref() == Some(list_type)
    }

    /// The types of values, as messages show them.
    pub(super) fn types(&self) -> &[&str] {
        if self.int_or_string {
            return &["integer", "string"];
        }
        match self.type_name.as_str() {
            "" => &[],
            "array" => &["array"],
            "boolean" => &["boolean"],
            "integer" => &["integer"],
            "number" => &["number"],
            "object" => &["object"],
            "string" => &["string"],
            _ => &["unknown"],
        }
    }

    /// Whether it has rules; those below `allOf` and the like don't count.
    pub(super) fn has_rules(&self) -> bool {
        let below = self.properties.values().chain(self.items.as_deref()).chain(self.values());
        !self.rules.is_empty() || below.into_iter().any(Self::has_rules)
    }

    /// Calls `visit` with this schema and all below.
    pub(super) fn each(&self, visit: &mut impl FnMut(&Self)) {
        visit(self);
        let lists = [&self.all_of, &self.any_of, &self.one_of];
        let below = lists.into_iter().flatten().chain(self.properties.values());
        for schema in below.chain(self.items.as_deref()).chain(self.values()).chain(self.not.as_deref()) {
            schema.each(visit);
        }
    }
}

fn is_set(value: &Json) -> bool {
    match value {
        Json::Null => false,
        Json::Bool(set) => *set,
        Json::String(text) => !text.is_empty(),
        Json::Array(items) => !items.is_empty(),
        Json::Number(_) | Json::Object(_) => true,
    }
}

impl Pattern {
    fn new(source: &str) -> Self {
        Self { source: source.to_owned(), regex: pattern::compile(source) }
    }
}
