//! A custom resource by its CRD: reads, defaults, prepares and validates its objects.

use std::{cmp::Reverse, collections::BTreeSet};

use baton_merge::Arena;
use baton_merge::value::{Map, Value};
use serde_json::Value as Json;

use super::correlate::Correlated;
use super::embedded::{self, CheckMetadata, ReadMetadata};
use super::prune;
use super::rules::{self, Past};
use super::scale::ScalePaths;
use super::schema::{EMPTY, Schema};
use super::{lists, validate};
use crate::field::{FieldError, FieldPath};
use crate::kinds::STANDARD_FINALIZERS;

#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) group: String,
    pub(crate) names: ResourceNames,
    pub(crate) namespaced: bool,
    pub(crate) versions: Vec<CustomVersion>,
}

/// The names of a custom resource.
#[derive(Debug)]
pub(crate) struct ResourceNames {
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) kind: String,
    pub(crate) list_kind: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
}

/// A version of a custom resource.
#[derive(Debug)]
pub(crate) struct CustomVersion {
    pub(crate) name: String,
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) served: bool,
    /// Whether it is the storage version.
    pub(crate) is_stored: bool,
    /// The warning for clients of a deprecated version.
    pub(crate) deprecation: Option<String>,
    /// Whether it has a `status` subresource.
    pub(crate) status: bool,
    pub(crate) scale: Option<ScalePaths>,
    schema: Schema,
}

/// A decoded object.
#[derive(Debug)]
pub(crate) struct Decoded<'a> {
    pub(crate) object: Value<'a>,
    /// The paths of pruned fields.
    pub(crate) unknown_fields: Vec<String>,
}

/// A write of an object.
#[derive(Clone, Copy)]
pub(crate) struct Write<'w> {
    pub(crate) new: Value<'w>,
    /// The old object of an update.
    pub(crate) old: Option<Value<'w>>,
    /// Whether the `status` subresource is written.
    pub(crate) status: bool,
    /// Validates the metadata of embedded objects.
    pub(crate) check_metadata: CheckMetadata<'w>,
}

/// The outcome of a validation.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) errors: Vec<FieldError>,
    pub(crate) warnings: Vec<String>,
}

impl Definition {
    /// Reads a valid CRD; invalid parts are ignored.
    pub(crate) fn new(crd: &Json) -> Self {
        let spec = &crd["spec"];
        let names = &spec["names"];
        let text = |json: &Json, name: &str| json[name].as_str().unwrap_or_default().to_owned();
        let texts = |name| {
            let all = names[name].as_array().into_iter().flatten();
            all.filter_map(Json::as_str).map(str::to_owned).collect()
        };
        let (group, kind) = (text(spec, "group"), text(names, "kind"));
        let version = |json: &Json| {
            let name = text(json, "name");
            let api_version = format!("{group}/{name}");
            let default = || match newer_version(&spec["versions"], &name) {
                Some(newer) => format!("{api_version} {kind} is deprecated; use {group}/{newer} {kind}"),
                None => format!("{api_version} {kind} is deprecated"),
            };
            let subresources = &json["subresources"];
            CustomVersion {
                served: json["served"] == true,
                is_stored: json["storage"] == true,
                deprecation: (json["deprecated"] == true)
                    .then(|| json["deprecationWarning"].as_str().map_or_else(default, str::to_owned)),
                status: subresources["status"].is_object(),
                scale: ScalePaths::read(&subresources["scale"]),
                schema: Schema::read(&json["schema"]["openAPIV3Schema"]),
                kind: kind.clone(),
                name,
                api_version,
            }
        };
        Self {
            versions: spec["versions"].as_array().into_iter().flatten().map(version).collect(),
            namespaced: spec["scope"] == "Namespaced",
            names: ResourceNames {
                plural: text(names, "plural"),
                singular: text(names, "singular"),
                list_kind: text(names, "listKind"),
                short_names: texts("shortNames"),
                categories: texts("categories"),
                kind,
            },
            group,
        }
    }

    /// The version with this name.
    pub(crate) fn version(&self, name: &str) -> Option<&CustomVersion> {
        self.versions.iter().find(|version| version.name == name)
    }
}

impl CustomVersion {
    /// Decodes an object: prunes unknown fields other than nulls, sets defaults, and reads the object's metadata.
    ///
    /// # Errors
    /// When the metadata or an embedded object can't be read.
    pub(crate) fn decode<'a>(
        &'a self,
        arena: &'a Arena,
        object: Value<'a>,
        read_metadata: ReadMetadata<'_, 'a>,
    ) -> Result<Decoded<'a>, String> {
        let mut unknown_fields = Vec::new();
        let mut object = self.default(arena, object);
        if let Some(metadata) = object.get("metadata") {
            let (read, unknown) = read_metadata(metadata)?;
            unknown_fields.extend(unknown.iter().map(|field| format!("metadata.{field}")));
            object = object.with(arena, &["metadata"], Some(read));
        }
        let (pruned, unknown) = prune::prune(arena, &self.schema, object);
        unknown_fields.extend(unknown);
        object = pruned;
        let mut embedded = Vec::new();
        let root = FieldPath::default();
        object = embedded::read(arena, &self.schema, object, &root, read_metadata, &mut embedded)?;
        embedded.sort();
        unknown_fields.extend(embedded);
        Ok(Decoded { object, unknown_fields })
    }

    /// A stored object in this version.
    pub(crate) fn read<'a>(&'a self, arena: &'a Arena, object: Value<'a>) -> Value<'a> {
        let (pruned, _) = prune::prune(arena, &self.schema, object);
        self.without_nulls(arena, self.default(arena, pruned))
    }

    /// Drops nulls that aren't allowed and have no default.
    pub(crate) fn without_nulls<'a>(&self, arena: &'a Arena, object: Value<'a>) -> Value<'a> {
        prune::without_nulls(arena, Some(&self.schema), object)
    }

    /// Sets the defaults.
    pub(crate) fn default<'a>(&'a self, arena: &'a Arena, object: Value<'a>) -> Value<'a> {
        prune::with_defaults(arena, &self.schema, object)
    }

    /// Whether the status has a default. A creation drops the status, so the default is set when the object is read.
    pub(crate) fn fills_in_status(&self) -> bool {
        self.status && self.schema.properties.get("status").is_some_and(|status| status.default.is_some())
    }

    /// Resets the fields that the write may not set, and counts `generation`.
    pub(crate) fn prepare<'a>(
        &self,
        arena: &'a Arena,
        new: Value<'a>,
        old: Option<Value<'a>>,
        to_status: bool,
    ) -> Value<'a> {
        let generation = ["metadata", "generation"];
        let Some(old) = old else {
            let new = if self.status { new.with(arena, &["status"], None) } else { new };
            return new.with(arena, &generation, Some(Value::Int(1)));
        };
        if to_status {
            let managed = ["metadata", "managedFields"];
            return old.with(arena, &managed, new.at(&managed)).with(arena, &["status"], new.get("status"));
        }
        let new = if self.status { new.with(arena, &["status"], old.get("status")) } else { new };
        if rest(arena, new) == rest(arena, old) {
            return new;
        }
        let before = match old.at(&generation) {
            Some(Value::Int(before)) => before,
            _ => 0,
        };
        new.with(arena, &generation, Some(Value::Int(before.saturating_add(1))))
    }

    /// Validates an object; errors about its metadata come first. The order is upstream's.
    pub(crate) fn validate(&self, arena: &Arena, write: Write<'_>, metadata: Vec<FieldError>) -> Findings {
        let type_errors = self.validate_type(write.new);
        if !type_errors.is_empty() {
            return Findings { errors: type_errors, warnings: Vec::new() };
        }
        let Write { new, old, status, check_metadata } = write;
        let past = old.map(|old| Correlated { schema: &self.schema, old, new });
        let root = FieldPath::default();
        let mut errors = metadata;
        if status {
            errors.extend(self.validate_status(new, old, past));
        } else {
            errors.extend(validate::validate(&root, &self.schema, new, past));
        }
        if let Some(scale) = &self.scale {
            if !status {
                scale.validate_spec(new, &mut errors);
            }
            scale.validate_status(new, &mut errors);
        }
        if !status {
            embedded::validate(&self.schema, false, new, &root, check_metadata, &mut errors);
        }
        let was_unique = old.is_none_or(|old| lists::validate(arena, &self.schema, old).is_empty());
        if was_unique {
            errors.extend(lists::validate(arena, &self.schema, new));
        }
        if !self.schema.has_rules() {
            return Findings { errors, warnings: Vec::new() };
        }
        if errors.iter().any(is_blocking) {
            let detail = "some validation rules were not checked because the object was invalid; correct the existing \
                          errors to complete validation";
            errors.push(FieldError::invalid(&root, Value::Null, detail));
            return Findings { errors, warnings: Vec::new() };
        }
        let found = rules::validate(&self.schema, true, &root, new, old, Past::of(past));
        errors.extend(found.errors);
        Findings { errors, warnings: found.warnings }
    }

    fn validate_type(&self, object: Value<'_>) -> Vec<FieldError> {
        let expected = [("kind", &self.kind), ("apiVersion", &self.api_version)];
        let wrong = expected.iter().filter_map(|(name, expected)| {
            let found = object.get(name).and_then(|value| value.as_str()).unwrap_or_default();
            let path = FieldPath::new(name);
            (found != expected.as_str())
                .then(|| FieldError::invalid_text(&path, found, &format!("must be {expected}")))
        });
        wrong.collect()
    }

    fn validate_status(
        &self,
        new: Value<'_>,
        old: Option<Value<'_>>,
        past: Option<Correlated<'_, '_>>,
    ) -> Vec<FieldError> {
        let Some(status) = new.get("status") else { return Vec::new() };
        let schema = self.schema.properties.get("status").unwrap_or(&EMPTY);
        let before = old.and_then(|old| old.get("status")).unwrap_or(Value::Null);
        let past = past.and_then(|past| past.key("status")).or(Some(Correlated {
            schema,
            old: before,
            new: status,
        }));
        validate::validate(&FieldPath::new("status"), schema, status, past)
    }
}

/// Warnings about finalizers that a write adds.
pub(crate) fn finalizer_warnings(new: Value<'_>, old: Option<Value<'_>>) -> Vec<String> {
    let finalizers = |object: Value<'_>| -> BTreeSet<String> {
        let all = object.at(&["metadata", "finalizers"]).and_then(|all| all.as_list()).unwrap_or_default();
        all.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let known = old.map(finalizers).unwrap_or_default();
    let is_plain = |name: &&String| !name.contains('/') && !STANDARD_FINALIZERS.contains(&name.as_str());
    let warning = |name: &String| {
        let path = if name.contains('.') { " including a path (/)" } else { "" };
        format!(
            "metadata.finalizers: {name:?}: prefer a domain-qualified finalizer name{path} to avoid accidental \
             conflicts with other finalizer writers"
        )
    };
    finalizers(new).difference(&known).filter(is_plain).map(warning).collect()
}

/// Whether an error prevents the evaluation of rules.
fn is_blocking(error: &FieldError) -> bool {
    [
        "FieldValueNotSupported",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
    ]
    .contains(&error.reason)
}

/// The members that count for `generation`.
fn rest<'a>(arena: &'a Arena, object: Value<'a>) -> Option<Map<'a>> {
    object.with(arena, &["metadata"], None).as_map()
}

#[cfg(test)]
#[path = "definition_tests.rs"]
mod tests;

/// The version that the deprecation warning recommends.
fn newer_version<'v>(versions: &'v Json, deprecated: &str) -> Option<&'v str> {
    let all = versions.as_array().into_iter().flatten();
    let fit = all.filter(|version| version["served"] == true && version["deprecated"] != true);
    let newer = fit.filter_map(|version| version["name"].as_str());
    newer.filter(|name| priority(name) > priority(deprecated)).max_by_key(|name| priority(name))
}

/// The sort key of versions: `v2`, `v1`, `v1beta2`, `v1beta1`, `v1alpha1`, then others. After
/// `k8s.io/apimachinery/pkg/version`.
pub(crate) fn priority(version: &str) -> (u8, u64, u64, Reverse<String>) {
    let other = || (0, 0, 0, Reverse(version.to_owned()));
    let Some(rest) = version.strip_prefix('v') else { return other() };
    let split = |text: &str| {
        let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
        Some((text[..end].parse::<u64>().ok()?, text[end..].to_owned()))
    };
    let Some((major, rest)) = split(rest) else { return other() };
    let (stage, rest) = match (rest.strip_prefix("beta"), rest.strip_prefix("alpha")) {
        _ if rest.is_empty() => return (3, major, 0, Reverse(String::new())),
        (Some(rest), _) => (2, rest),
        (_, Some(rest)) => (1, rest),
        _ => return other(),
    };
    match rest.parse() {
        Ok(minor) => (stage, major, minor, Reverse(String::new())),
        Err(_) => other(),
    }
}
