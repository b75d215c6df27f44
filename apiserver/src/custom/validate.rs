//! Validation of objects against their schemas, with the messages of kube-openapi.

use baton_merge::value::{Map, Value};

use super::correlate::Correlated;
use super::formats;
use super::numbers;
use super::schema::{Additional, Schema};
use crate::field::{FieldError, FieldPath};

/// Validates a value. With an old value, errors that were there before are tolerated.
pub(super) fn validate(
    base: &FieldPath,
    schema: &Schema,
    value: Value<'_>,
    past: Option<Correlated<'_, '_>>,
) -> Vec<FieldError> {
    Validator { base }.with_past(schema, value, "", past).errors
}

/// The outcome for a value. `matches` decides which of several alternatives fits best.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) errors: Vec<FieldError>,
    matches: usize,
}

impl Outcome {
    pub(super) fn add(&mut self, error: FieldError) {
        if !self.errors.contains(&error) {
            self.errors.push(error);
        }
    }

    fn merge(&mut self, other: Self) {
        other.errors.into_iter().for_each(|error| self.add(error));
        self.matches += other.matches;
    }

    fn is_valid(&self) -> bool {
        self.errors.is_empty()
    }
}

#[derive(Clone, Copy)]
pub(super) struct Validator<'s> {
    base: &'s FieldPath,
}

/// The JSON schema type of a value, with the format that Go's type implies.
fn type_of(value: Value<'_>) -> (&'static str, &'static str) {
    match value {
        Value::Null => ("null", ""),
        Value::Bool(_) => ("boolean", ""),
        Value::Int(_) => ("integer", "int64"),
        Value::Float(_) => ("number", "float64"),
        Value::String(_) => ("string", ""),
        Value::List(_) => ("array", ""),
        Value::Map(_) => ("object", ""),
    }
}

impl Validator<'_> {
    /// The path of an error.
    fn at(self, path: &str) -> FieldPath {
        let path = path.strip_prefix('.').unwrap_or(path);
        if path.is_empty() { self.base.clone() } else { self.base.child(path) }
    }

    pub(super) fn invalid(self, path: &str, value: Value<'_>, rest: &str) -> FieldError {
        FieldError::invalid(&self.at(path), value, &format!("{path} in body {rest}"))
    }

    /// An error without a path of its own.
    pub(super) fn plain(self, message: &str) -> FieldError {
        FieldError::invalid_text(self.base, "", message)
    }

    fn wrong_type(self, path: &str, expected: &str, found: &str) -> Outcome {
        let message = format!("{path} in body must be of type {expected}: {found:?}");
        let error = FieldError::type_invalid(&self.at(path), Value::String(found), &message);
        Outcome { errors: vec![error], matches: 0 }
    }

    fn with_past(
        self,
        schema: &Schema,
        value: Value<'_>,
        path: &str,
        past: Option<Correlated<'_, '_>>,
    ) -> Outcome {
        let outcome = self.value(schema, value, path, past);
        match past {
            Some(past) if !outcome.is_valid() && past.is_unchanged() => Outcome::default(),
            _ => outcome,
        }
    }

    fn value(
        self,
        schema: &Schema,
        value: Value<'_>,
        path: &str,
        past: Option<Correlated<'_, '_>>,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        if value.is_null() {
            outcome.merge(self.type_of_null(schema, path));
            outcome.merge(self.enumeration(schema, value, path));
            return outcome;
        }
        let format = enforced_format(schema);
        if !schema.types().is_empty() || !format.is_empty() {
            outcome.merge(self.type_and_format(schema, format, value, path));
            outcome.matches += 1;
        }
        outcome.merge(self.junctors(schema, value, path));
        outcome.matches += 1;
        match value {
            Value::String(text) => {
                outcome.merge(self.text(schema, text, path));
                outcome.matches += 1;
                if let Some(holds) = formats::of(format) {
                    if !holds(text) {
                        outcome.merge(self.wrong_format(path, format, text));
                    }
                    outcome.matches += 1;
                }
            }
            Value::Int(_) | Value::Float(_) => {
                numbers::check(self, schema, format, value, path, &mut outcome);
                outcome.matches += 2;
            }
            Value::List(items) => {
                outcome.merge(self.items(schema, items, path, past));
                outcome.matches += 2;
            }
            Value::Null | Value::Bool(_) | Value::Map(_) => {}
        }
        outcome.merge(self.enumeration(schema, value, path));
        outcome.matches += 1;
        if let Value::Map(map) = value {
            outcome.merge(self.members(schema, map, path, past));
            outcome.matches += 1;
        }
        outcome.matches += 1;
        outcome
    }

    fn type_of_null(self, schema: &Schema, path: &str) -> Outcome {
        if schema.types().is_empty() || schema.nullable {
            return Outcome { errors: Vec::new(), matches: 1 };
        }
        self.wrong_type(path, &schema.types().join(","), "null")
    }

    fn type_and_format(self, schema: &Schema, format: &str, value: Value<'_>, path: &str) -> Outcome {
        let types = schema.types();
        let (found, implied) = type_of(value);
        let is_whole =
            matches!(value, Value::Float(float) if float.fract() == 0.0) && types.contains(&"integer");
        let is_number = found == "integer" && types.contains(&"number");
        let fits = types.contains(&found) || is_whole || is_number;
        let is_text = matches!(value, Value::String(_) | Value::List(_));
        if !is_text && !format.is_empty() && !fits && implied != format {
            return self.wrong_type(path, format, implied);
        }
        let is_numeric = types.iter().any(|name| ["integer", "number"].contains(name));
        if fits || (!is_numeric && !format.is_empty() && is_text) {
            return Outcome { errors: Vec::new(), matches: 1 };
        }
        self.wrong_type(path, &types.join(","), found)
    }

    fn wrong_format(self, path: &str, format: &str, text: &str) -> Outcome {
        let message = format!("{path} in body must be of type {format}: {text:?}");
        let error = FieldError::type_invalid(&self.at(path), Value::String(text), &message);
        Outcome { errors: vec![error], matches: 0 }
    }

    fn text(self, schema: &Schema, text: &str, path: &str) -> Outcome {
        let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
        let value = Value::String(text);
        let error = if let Some(limit) = schema.max_length.filter(|limit| length > *limit) {
            let limit = usize::try_from(limit).unwrap_or_default();
            Some(FieldError::too_long(&self.at(path), limit))
        } else if let Some(limit) = schema.min_length.filter(|limit| length < *limit) {
            Some(self.invalid(path, value, &format!("should be at least {limit} chars long")))
        } else {
            schema.pattern.as_ref().and_then(|pattern| match &pattern.regex {
                Ok(regex) if regex.is_match(text) => None,
                Ok(_) => Some(self.invalid(path, value, &format!("should match '{}'", pattern.source))),
                Err(why) => {
                    let source = &pattern.source;
                    let rest = format!("should match '{source}, but pattern is invalid: {why}'");
                    Some(self.invalid(path, value, &rest))
                }
            })
        };
        Outcome { errors: error.into_iter().collect(), matches: 0 }
    }

    fn enumeration(self, schema: &Schema, value: Value<'_>, path: &str) -> Outcome {
        let is_one = |allowed: &serde_json::Value| numbers::is_json(value, allowed);
        if schema.one_of_values.is_empty() || (!value.is_null() && schema.one_of_values.iter().any(is_one)) {
            return Outcome::default();
        }
        let shown: Vec<_> = (schema.one_of_values.iter())
            .map(|allowed| allowed.as_str().map_or_else(|| allowed.to_string(), str::to_owned))
            .collect();
        let shown: Vec<_> = shown.iter().map(String::as_str).collect();
        Outcome { errors: vec![FieldError::not_supported(&self.at(path), value, &shown)], matches: 0 }
    }

    fn items(
        self,
        schema: &Schema,
        items: &[Value<'_>],
        path: &str,
        past: Option<Correlated<'_, '_>>,
    ) -> Outcome {
        let mut outcome = Outcome { errors: Vec::new(), matches: 1 };
        if let Some(below) = &schema.items {
            for (index, item) in items.iter().enumerate() {
                let past = past.and_then(|past| past.index(index));
                outcome.merge(self.with_past(below, *item, &format!("{path}[{index}]"), past));
            }
        }
        let size = i64::try_from(items.len()).unwrap_or(i64::MAX);
        if let Some(limit) = schema.min_items.filter(|limit| size < *limit) {
            let rest = format!("should have at least {limit} items");
            outcome.add(self.invalid(path, Value::Int(size), &rest));
        }
        if let Some(limit) = schema.max_items.filter(|limit| size > *limit) {
            outcome.add(self.too_many(path, items.len(), limit));
        }
        outcome
    }

    fn too_many(self, path: &str, found: usize, limit: i64) -> FieldError {
        FieldError::too_many(&self.at(path), found, usize::try_from(limit).unwrap_or_default())
    }

    fn members(self, schema: &Schema, map: Map<'_>, path: &str, past: Option<Correlated<'_, '_>>) -> Outcome {
        let mut outcome = Outcome::default();
        let size = i64::try_from(map.len()).unwrap_or(i64::MAX);
        if let Some(limit) = schema.min_properties.filter(|limit| size < *limit) {
            let rest = format!("should have at least {limit} properties");
            outcome.add(self.invalid(path, Value::Int(size), &rest));
        }
        if let Some(limit) = schema.max_properties.filter(|limit| size > *limit) {
            outcome.add(self.too_many(path, map.len(), limit));
        }
        let others = map.members().iter().filter(|(name, _)| !schema.properties.contains_key(*name));
        for (name, value) in others {
            match &schema.additional {
                Some(Additional::Allowed(false)) => {
                    let message = format!("{path}.{name} in body is a forbidden property");
                    outcome.add(FieldError::invalid_text(&self.at(path), name, &message));
                }
                Some(Additional::Of(values)) => {
                    let past = past_of(path, past, name);
                    outcome.merge(self.with_past(values, *value, &format!("{path}.{name}"), past));
                }
                Some(Additional::Allowed(true)) | None => {}
            }
        }
        for (name, property) in &schema.properties {
            let Some(value) = map.get(name) else { continue };
            let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            outcome.merge(self.with_past(property, value, &below, past_of(path, past, name)));
        }
        for name in schema.required.iter().filter(|name| !map.contains(name)) {
            outcome.add(FieldError::required(&self.at(&format!("{path}.{name}")), ""));
        }
        outcome
    }

    /// `allOf`, `anyOf`, `oneOf` and `not`, which tolerate nothing.
    fn junctors(self, schema: &Schema, value: Value<'_>, path: &str) -> Outcome {
        let mut outcome = Outcome::default();
        let try_all = |schemas: &[Schema]| -> Vec<Outcome> {
            schemas.iter().map(|schema| self.value(schema, value, path, None)).collect()
        };
        if !schema.any_of.is_empty() {
            let (valid, invalid) = split(try_all(&schema.any_of));
            if valid.is_empty() {
                outcome.add(self.plain(&format!("{path:?} must validate at least one schema (anyOf)")));
            }
            if let Some(chosen) = valid.into_iter().next().or_else(|| best(invalid)) {
                outcome.merge(chosen);
            }
        }
        if !schema.one_of.is_empty() {
            let (valid, invalid) = split(try_all(&schema.one_of));
            let how_many = match valid.len() {
                0 => "Found none valid".to_owned(),
                many => format!("Found {many} valid alternatives"),
            };
            if valid.len() != 1 {
                let message = format!("{path:?} must validate one and only one schema (oneOf). {how_many}");
                outcome.add(self.plain(&message));
            }
            let chosen = match valid.len() {
                0 => best(invalid),
                1 => valid.into_iter().next(),
                _ => None,
            };
            if let Some(chosen) = chosen {
                outcome.merge(chosen);
            }
        }
        if !schema.all_of.is_empty() {
            let outcomes = try_all(&schema.all_of);
            let valid = outcomes.iter().filter(|each| each.is_valid()).count();
            for each in outcomes {
                outcome.merge(each);
            }
            if valid != schema.all_of.len() {
                let none = if valid == 0 { ". None validated" } else { "" };
                outcome.add(self.plain(&format!("{path:?} must validate all the schemas (allOf){none}")));
            }
        }
        if schema.not.as_ref().is_some_and(|not| self.value(not, value, path, None).is_valid()) {
            outcome.add(self.plain(&format!("{path:?} must not validate the schema (not)")));
        }
        outcome.matches += 1;
        outcome
    }
}

/// The old value of a member. `apiVersion` and `kind` count as unchanged: both objects are of one version.
fn past_of<'s, 'a>(path: &str, past: Option<Correlated<'s, 'a>>, name: &str) -> Option<Correlated<'s, 'a>> {
    let is_hidden = path.is_empty() && ["apiVersion", "kind"].contains(&name);
    past.filter(|_| !is_hidden)?.key(name)
}

/// The format, if it is enforced for values of this type.
fn enforced_format(schema: &Schema) -> &str {
    let type_name = if schema.int_or_string { "" } else { &schema.type_name };
    if formats::is_known(type_name, &schema.format) { &schema.format } else { "" }
}

fn split(outcomes: Vec<Outcome>) -> (Vec<Outcome>, Vec<Outcome>) {
    outcomes.into_iter().partition(Outcome::is_valid)
}

/// The best alternative, the first of several.
fn best(outcomes: Vec<Outcome>) -> Option<Outcome> {
    outcomes.into_iter().reduce(|best, each| if each.matches > best.matches { each } else { best })
}

#[cfg(test)]
#[path = "validate_tests.rs"]
mod tests;
