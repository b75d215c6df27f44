//! What is wrong with the parts of a definition around its schemas: subresources, columns, selectable fields, conversion.

use baton_merge::value::Value;
use serde_json::Value as Json;

use super::super::schema::Schema;
use super::spec::{one_of, text};
use crate::field::{FieldError, FieldPath};

/// How many fields of a version objects may be selected by.
const MAX_SELECTABLE: usize = 8;

pub(super) fn check_subresources(subresources: Option<&Json>, at: &FieldPath, errors: &mut Vec<FieldError>) {
    let Some(scale) = subresources.map(|json| &json["scale"]).filter(|scale| scale.is_object()) else {
        return;
    };
    for (name, roots, detail) in [
        ("specReplicasPath", &[".spec."][..], "should be a json path under .spec"),
        ("statusReplicasPath", &[".status."], "should be a json path under .status"),
        ("labelSelectorPath", &[".spec.", ".status."], "should be a json path under either .spec or .status"),
    ] {
        let (path, at) = (text(scale, name), at.child("scale").child(name));
        if path.is_empty() {
            if name != "labelSelectorPath" {
                errors.push(FieldError::required(&at, ""));
            }
        } else if !path.starts_with('.') {
            errors.push(FieldError::invalid_text(&at, path, "must be a simple json path starting with ."));
        } else if !roots.iter().any(|root| path.starts_with(root)) {
            errors.push(FieldError::invalid_text(&at, path, detail));
        }
    }
}

pub(super) fn check_columns(columns: Option<&Json>, at: &FieldPath, errors: &mut Vec<FieldError>) {
    let all = columns.and_then(Json::as_array).into_iter().flatten().enumerate();
    for (index, column) in all {
        let at = at.index(index);
        if text(column, "name").is_empty() {
            errors.push(FieldError::required(&at.child("name"), ""));
        }
        let types = ["boolean", "date", "integer", "number", "string"];
        let must_be = |known: &[&str]| format!("must be one of {}", known.join(","));
        let type_name = text(column, "type");
        if type_name.is_empty() {
            errors.push(FieldError::required(&at.child("type"), &must_be(&types)));
        } else if !types.contains(&type_name) {
            errors.push(FieldError::invalid_text(&at.child("type"), type_name, &must_be(&types)));
        }
        let formats = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
        let format = text(column, "format");
        if !format.is_empty() && !formats.contains(&format) {
            errors.push(FieldError::invalid_text(&at.child("format"), format, &must_be(&formats)));
        }
        let (path, at) = (text(column, "jsonPath"), at.child("JSONPath"));
        if path.is_empty() {
            errors.push(FieldError::required(&at, ""));
        } else if !path.starts_with('.') {
            errors.push(FieldError::invalid_text(&at, path, "must be a simple json path starting with ."));
        }
    }
}

pub(super) fn check_selectable(
    fields: Option<&Json>,
    schema: Option<&Json>,
    at: &FieldPath,
    errors: &mut Vec<FieldError>,
) {
    let Some(fields) = fields.and_then(Json::as_array) else { return };
    let schema = schema.map(Schema::read).unwrap_or_default();
    let mut seen = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        let (path, at) = (text(field, "jsonPath"), at.index(index).child("jsonPath"));
        if path.is_empty() {
            errors.push(FieldError::required(&at, ""));
            continue;
        }
        let mut invalid = |detail: &str| errors.push(FieldError::invalid_text(&at, path, detail));
        let found = match path.strip_prefix('.') {
            None => Err(format!("expected [ or . but got: {}", path.split('.').next().unwrap_or_default())),
            Some(_) if path.contains('[') => Err("array notation is not allowed".to_owned()),
            Some(rest) => rest
                .split('.')
                .try_fold(&schema, |schema, name| {
                    if schema.properties.is_empty() { schema.values() } else { schema.properties.get(name) }
                })
                .ok_or_else(|| "does not refer to a valid field".to_owned()),
        };
        let found = match found {
            Ok(found) => found,
            Err(why) => {
                invalid(&format!("is an invalid path: {why}"));
                continue;
            }
        };
        if path.starts_with(".metadata") {
            invalid("must not point to fields in metadata");
        }
        if !["string", "boolean", "integer"].contains(&found.type_name.as_str()) {
            invalid(
                "must point to a field of type string, boolean or integer. Enum string fields and strings with formats \
                 are allowed.",
            );
        }
        if seen.contains(&path) {
            errors.push(FieldError::duplicate(&at, Value::String(path)));
        } else {
            seen.push(path);
        }
    }
    if seen.len() > MAX_SELECTABLE {
        errors.push(FieldError::too_many(at, seen.len(), MAX_SELECTABLE));
    }
}

pub(super) fn check_conversion(conversion: &Json, at: &FieldPath, errors: &mut Vec<FieldError>) {
    if !conversion.is_object() {
        return;
    }
    let strategy = text(conversion, "strategy");
    one_of(&at.child("strategy"), strategy, &["None", "Webhook"], errors);
    let webhook = &conversion["webhook"];
    let config = &webhook["clientConfig"];
    let (config_at, versions_at) = (at.child("webhookClientConfig"), at.child("conversionReviewVersions"));
    let versions = webhook["conversionReviewVersions"].as_array().map(Vec::as_slice).unwrap_or_default();
    if strategy != "Webhook" {
        let detail = "should not be set when strategy is not set to Webhook";
        if config.is_object() {
            errors.push(FieldError::forbidden(&config_at, detail));
        }
        if !versions.is_empty() {
            errors.push(FieldError::forbidden(&versions_at, detail));
        }
        return;
    }
    if !config.is_object() {
        errors.push(FieldError::required(&config_at, "required when strategy is set to Webhook"));
    } else if config["url"].is_string() == config["service"].is_object() {
        errors.push(FieldError::required(&config_at, "exactly one of url or service is required"));
    }
    if versions.is_empty() {
        errors.push(FieldError::required(&versions_at, ""));
    } else if !versions.iter().any(|version| version == "v1" || version == "v1beta1") {
        let shown = Json::from(versions).to_string();
        errors.push(FieldError::invalid_json(
            &versions_at,
            &shown,
            "must include at least one of v1, v1beta1",
        ));
    }
}
