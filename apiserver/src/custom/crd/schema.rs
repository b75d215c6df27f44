//! Validation of schemas, besides that they are structural.

use baton_merge::value::Value;
use serde_json::Value as Json;

use super::super::prune::OBJECT_FIELDS;
use super::super::schema::{Additional, Schema};
use super::rules::{RuleContext, Total};
use super::{defaults, lists, rules, structural};
use crate::field::{FieldError, FieldPath};

/// The members that the root may have beside a status subresource, in upstream's message.
const AT_ROOT: &str = "[Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength \
    MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example \
    XPreserveUnknownFields XValidations]";

/// The members that the root may not have.
#[rustfmt::skip]
const NOT_AT_ROOT: [&str; 21] = [
    "id", "$schema", "$ref", "nullable", "default", "maxProperties", "minProperties", "enum", "allOf",
    "anyOf", "oneOf", "not", "additionalProperties", "patternProperties", "dependencies", "additionalItems",
    "definitions", "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string", "x-kubernetes-list-type",
    "x-kubernetes-map-type",
];

/// Validates the schema of a version.
pub(super) fn check(json: &Json, path: &FieldPath, has_status: bool) -> Vec<FieldError> {
    let schema = Schema::read(json);
    let mut errors = Vec::new();
    if has_status {
        if schema.type_name != "object" && !schema.type_name.is_empty() {
            let detail = "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
            errors.push(FieldError::invalid_text(&path.child("type"), &schema.type_name, detail));
        } else if NOT_AT_ROOT.iter().any(|name| is_set(&json[*name])) {
            let detail = format!(
                "only {AT_ROOT} fields are allowed at the root of the schema if the status subresource is enabled"
            );
            errors.push(FieldError::invalid_json(path, &json.to_string(), &detail));
        }
    }
    if schema.nullable {
        errors.push(FieldError::forbidden(&path.child("nullable"), "nullable cannot be true at the root"));
    }
    let mut has_sound_structure = false;
    if !structural::is_unsupported(&schema) {
        let found = structural::validate(&schema, path);
        let found = if found.is_empty() { defaults::check(&schema, path) } else { found };
        has_sound_structure = found.is_empty();
        errors.extend(found);
    }
    let mut walk = Walk {
        errors: Vec::new(),
        rule_errors: Vec::new(),
        costs: Total::default(),
        root: &schema,
        has_sound_structure,
    };
    walk.schema(&schema, path, &Inherited { most: Some(1), ..Inherited::default() }, true);
    errors.extend(walk.errors);
    errors.extend(walk.rule_errors);
    walk.costs.check(path, &mut errors);
    errors
}

fn is_set(value: &Json) -> bool {
    match value {
        Json::Null | Json::Bool(false) => false,
        Json::String(text) => !text.is_empty(),
        Json::Array(items) => !items.is_empty(),
        Json::Object(_) | Json::Bool(true) | Json::Number(_) => true,
    }
}

/// Context that schemas inherit from those above.
#[derive(Clone, Default)]
struct Inherited {
    /// The reason why defaults aren't allowed.
    no_defaults: Option<String>,
    inside_metadata: bool,
    /// The outermost schema below which old values can't be correlated.
    no_old_self: Option<FieldPath>,
    /// Whether it is below `allOf` and the like, where rules don't count.
    only_validates: bool,
    /// The most values of the schema in an object, if there is a limit.
    most: Option<u64>,
}

impl Inherited {
    /// The context of items or values with this limit.
    fn many(&self, limit: Option<i64>) -> Self {
        let limit = limit.map(|limit| u64::try_from(limit).unwrap_or(0));
        let most = self.most.zip(limit).map(|(most, limit)| most.saturating_mul(limit));
        Self { most, ..self.clone() }
    }
}

struct Walk<'s> {
    errors: Vec<FieldError>,
    rule_errors: Vec<FieldError>,
    costs: Total,
    root: &'s Schema,
    has_sound_structure: bool,
}

impl Walk<'_> {
    fn schema(&mut self, schema: &Schema, path: &FieldPath, inherited: &Inherited, is_root: bool) {
        self.standard(schema, path, inherited);
        if schema.unsupported.contains(&"uniqueItems") {
            let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            self.errors.push(FieldError::forbidden(&path.child("uniqueItems"), detail));
        }
        self.additional(schema, path, inherited);
        for (name, property) in &schema.properties {
            let mut below = inherited.clone();
            if !matches!(schema.map_type.as_deref(), None | Some("granular" | "atomic")) {
                below.no_old_self.get_or_insert_with(|| path.clone());
            }
            if (is_root || schema.embedded) && OBJECT_FIELDS.contains(&name.as_str()) {
                below.inside_metadata = true;
                if is_root {
                    below.no_defaults = Some(format!("in top-level {name}"));
                }
            }
            self.schema(property, &path.child("properties").key(name), &below, false);
        }
        let validating = Inherited { only_validates: true, ..inherited.clone() };
        if let Some(not) = &schema.not {
            self.schema(not, &path.child("not"), &validating, false);
        }
        for (name, list) in [("allOf", &schema.all_of), ("oneOf", &schema.one_of), ("anyOf", &schema.any_of)]
        {
            for (index, each) in list.iter().enumerate() {
                self.schema(each, &path.child(name).index(index), &validating, false);
            }
        }
        if let Some(items) = &schema.items {
            let mut below = inherited.many(schema.max_items);
            if !schema.is_list("map") {
                below.no_old_self.get_or_insert_with(|| path.clone());
            }
            self.schema(items, &path.child("items"), &below, false);
        }
        if schema.preserve == Some(false) {
            let at = path.child("x-kubernetes-preserve-unknown-fields");
            self.errors.push(FieldError::invalid_json(&at, "false", "must be true or undefined"));
        }
        self.map_type(schema, path);
        self.list_type(schema, path);
        lists::check(schema, path, &mut self.errors);
        if !schema.rules.is_empty() {
            rules::check(schema, path, &mut self.errors);
            if self.errors.is_empty() && self.has_sound_structure && !inherited.only_validates {
                let is_object = std::ptr::eq(schema, self.root) || schema.embedded;
                let context = RuleContext {
                    path,
                    is_object,
                    no_old_self: inherited.no_old_self.as_ref(),
                    most: inherited.most,
                };
                rules::compile(schema, context, &mut self.costs, &mut self.rule_errors);
            }
        }
    }

    fn standard(&mut self, schema: &Schema, path: &FieldPath, inherited: &Inherited) {
        let types = ["array", "boolean", "integer", "number", "object", "string"];
        let type_name = schema.type_name.as_str();
        if !type_name.is_empty() && !types.contains(&type_name) {
            let error = FieldError::not_supported(&path.child("type"), Value::String(type_name), &types);
            self.errors.push(error);
        }
        if schema.default.is_some()
            && let Some(reason) = &inherited.no_defaults
        {
            let detail = format!("must not be set {reason}");
            self.errors.push(FieldError::forbidden(&path.child("default"), &detail));
        }
        for name in &schema.unsupported {
            let detail = match *name {
                "uniqueItems" | "title" | "description" => continue,
                "items" => "items must be a schema object and not an array".to_owned(),
                other => format!("{other} is not supported"),
            };
            self.errors.push(FieldError::forbidden(&path.child(name), &detail));
        }
        if type_name == "null" {
            let detail = "type cannot be set to null, use nullable as an alternative";
            self.errors.push(FieldError::forbidden(&path.child("type"), detail));
        }
        if inherited.inside_metadata && schema.embedded {
            let at = path.child("x-kubernetes-embedded-resource");
            self.errors.push(FieldError::forbidden(&at, "must not be used inside of resource meta"));
        }
    }

    fn additional(&mut self, schema: &Schema, path: &FieldPath, inherited: &Inherited) {
        let at = path.child("additionalProperties");
        let excludes = matches!(schema.additional, Some(Additional::Allowed(false) | Additional::Of(_)));
        if excludes && !schema.properties.is_empty() {
            let detail = "additionalProperties and properties are mutual exclusive";
            self.errors.push(FieldError::forbidden(&at, detail));
        }
        if let Some(values) = schema.values() {
            let mut below = inherited.many(schema.max_properties);
            if inherited.inside_metadata {
                below.no_defaults =
                    Some("inside additionalProperties applying to object metadata".to_owned());
            }
            self.schema(values, &at, &below, false);
        }
    }

    /// Requires the type that an extension is for.
    fn needs_type(&mut self, schema: &Schema, path: &FieldPath, type_name: &str, extension: &str) -> bool {
        let detail = format!("must be {type_name} if {extension} is specified");
        let at = path.child("type");
        let fits = schema.type_name == type_name;
        if schema.type_name.is_empty() {
            self.errors.push(FieldError::required(&at, &detail));
        } else if !fits {
            self.errors.push(FieldError::invalid_text(&at, &schema.type_name, &detail));
        }
        fits
    }

    fn map_type(&mut self, schema: &Schema, path: &FieldPath) {
        let Some(map_type) = &schema.map_type else { return };
        self.needs_type(schema, path, "object", "x-kubernetes-map-type");
        let known = ["atomic", "granular"];
        if !known.contains(&map_type.as_str()) {
            let at = path.child("x-kubernetes-map-type");
            self.errors.push(FieldError::not_supported(&at, Value::String(map_type), &known));
        }
    }

    fn list_type(&mut self, schema: &Schema, path: &FieldPath) {
        let Some(list_type) = &schema.list_type else { return };
        let fits = self.needs_type(schema, path, "array", "x-kubernetes-list-type");
        if let Some(items) = schema.items.as_ref().filter(|_| fits && list_type == "set") {
            let (wrong, name) = match items.type_name.as_str() {
                "array" => {
                    (items.list_type.as_ref().is_some_and(|each| each != "atomic"), "x-kubernetes-list-type")
                }
                "object" => (items.map_type.as_deref() != Some("atomic"), "x-kubernetes-map-type"),
                _ => (false, ""),
            };
            if wrong {
                // Upstream shows the list type in both cases.
                let shown =
                    items.list_type.as_ref().map_or_else(|| "null".to_owned(), |each| format!("{each:?}"));
                let at = path.child("items").child(name);
                let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
                self.errors.push(FieldError::invalid_json(&at, &shown, detail));
            }
        }
        let known = ["atomic", "set", "map"];
        if !known.contains(&list_type.as_str()) {
            let at = path.child("x-kubernetes-list-type");
            self.errors.push(FieldError::not_supported(&at, Value::String(list_type), &known));
        }
    }
}
