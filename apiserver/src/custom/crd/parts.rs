//! Validation of subresources, printer columns, selectable fields and conversion.

use baton_merge::value::Value;
use serde_json::Value as Json;

use super::super::names;
use super::super::schema::Schema;
use super::spec::{one_of, text};
use crate::field::{FieldError, FieldPath};

/// The most selectable fields of a version.
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
    } else if let Some(url) = config["url"].as_str() {
        check_url(url, &config_at.child("url"), errors);
    } else {
        check_service(&config["service"], &config_at.child("service"), errors);
    }
    if versions.is_empty() {
        errors.push(FieldError::required(&versions_at, ""));
    }
    let mut seen = Vec::new();
    for (index, version) in versions.iter().enumerate() {
        let (at, name) = (versions_at.index(index), version.as_str().unwrap_or_default());
        if seen.contains(&name) {
            errors.push(FieldError::invalid_text(&at, name, "duplicate version"));
        } else if let Some(why) = names::dns_1035_label(name) {
            errors.push(FieldError::invalid_text(&at, name, &why));
        }
        seen.push(name);
    }
    let is_known = |version: &Json| version == "v1" || version == "v1beta1";
    if !versions.is_empty() && !versions.iter().any(is_known) {
        let shown = Json::from(versions).to_string();
        errors.push(FieldError::invalid_json(
            &versions_at,
            &shown,
            "must include at least one of v1, v1beta1",
        ));
    }
}

/// Validates the URL of a webhook.
fn check_url(url: &str, at: &FieldPath, errors: &mut Vec<FieldError>) {
    const FORM: &str = "; desired format: https://host[/path]";

    let (rest, fragment) = url.split_once('#').unwrap_or((url, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (scheme, rest) = rest.split_once("://").unwrap_or(("", rest));
    let authority = if scheme.is_empty() { "" } else { rest.split('/').next().unwrap_or_default() };
    let (user, host) =
        authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
    let mut invalid = |part: &str, detail: &str| errors.push(FieldError::invalid_text(at, part, detail));
    if scheme != "https" {
        invalid(scheme, &format!("'https' is the only allowed URL scheme{FORM}"));
    }
    if host.is_empty() {
        invalid(host, &format!("host must be specified{FORM}"));
    }
    if let Some(user) = user {
        invalid(user, "user information is not permitted in the URL");
    }
    if !fragment.is_empty() {
        invalid(fragment, "fragments are not permitted in the URL");
    }
    if !query.is_empty() {
        invalid(query, "query parameters are not permitted in the URL");
    }
}

/// Validates the Service reference of a webhook.
fn check_service(service: &Json, at: &FieldPath, errors: &mut Vec<FieldError>) {
    // Upstream swaps the two paths.
    for (name, shown) in [("namespace", "name"), ("name", "namespace")] {
        if text(service, name).is_empty() {
            errors.push(FieldError::required(&at.child(shown), ""));
        }
    }
    let port = service["port"].as_i64().unwrap_or_default();
    if !(1..=65535).contains(&port) {
        let detail = "port is not valid: must be between 1 and 65535, inclusive";
        errors.push(FieldError::invalid(&at.child("port"), Value::Int(port), detail));
    }
    let path = text(service, "path");
    let mut invalid = |detail: &str| errors.push(FieldError::invalid_text(&at.child("path"), path, detail));
    match path {
        "" | "/" => return,
        "//" => return invalid("segment[0] may not be empty"),
        _ if !path.starts_with('/') => invalid("must start with a '/'"),
        _ => {}
    }
    // Upstream skips the first character.
    let rest = path.get(1..).unwrap_or_default();
    for (index, segment) in rest.strip_suffix('/').unwrap_or(rest).split('/').enumerate() {
        if segment.is_empty() {
            invalid(&format!("segment[{index}] may not be empty"));
        } else if let Some(why) = names::dns_1123_subdomain(segment) {
            invalid(&format!("segment[{index}]: {why}"));
        }
    }
}
