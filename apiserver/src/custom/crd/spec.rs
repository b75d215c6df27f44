//! Validation of CRDs, with the messages of apiextensions-apiserver.

use baton_merge::value::Value;
use serde_json::Value as Json;

use super::super::names;
use super::parts::{check_columns, check_conversion, check_selectable, check_subresources};
use super::{Versions, schema, status};
use crate::field::{FieldError, FieldPath};

/// Validates a CRD; errors about its metadata come first.
pub(crate) fn validate(crd: &Json, old: Option<&Json>, metadata: Vec<FieldError>) -> Vec<FieldError> {
    let mut errors = metadata;
    let (spec, path) = (&crd["spec"], FieldPath::new("spec"));
    let name = text(&crd["metadata"], "name");
    if old.is_none() && name != format!("{}.{}", text(&spec["names"], "plural"), text(spec, "group")) {
        let at = FieldPath::new("metadata").child("name");
        errors.push(FieldError::invalid_text(&at, name, "must be spec.names.plural+\".\"+spec.group"));
    }
    check_spec(crd, &path, &mut errors);
    if let Some(old) = old {
        check_fixed(crd, old, &path, &mut errors);
    }
    check_status(crd, &mut errors);
    check_approval(crd, old, &mut errors);
    if spec["preserveUnknownFields"] == true
        && old.is_none_or(|old| old["spec"]["preserveUnknownFields"] != true)
    {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
                      spec.versions[*].schema instead";
        errors.push(FieldError::invalid_json(&path.child("preserveUnknownFields"), "true", detail));
    }
    errors
}

/// Validates an update of a CRD's status; errors about its metadata come first.
pub(crate) fn validate_status(crd: &Json, metadata: Vec<FieldError>) -> Vec<FieldError> {
    let mut errors = metadata;
    check_accepted(crd, &mut errors);
    errors
}

fn check_status(crd: &Json, errors: &mut Vec<FieldError>) {
    check_accepted(crd, errors);
    check_stored(crd, errors);
}

fn check_accepted(crd: &Json, errors: &mut Vec<FieldError>) {
    let accepted = FieldPath::new("status").child("acceptedNames");
    check_names(&crd["status"]["acceptedNames"], &accepted, errors);
}

pub(super) fn text<'j>(json: &'j Json, name: &str) -> &'j str {
    json[name].as_str().unwrap_or_default()
}

/// Immutable fields: always the name of the resource, scope and kind once it is established.
fn check_fixed(crd: &Json, old: &Json, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let names = path.child("names");
    let mut fixed = |at: FieldPath, pointer: &str| {
        let new = crd.pointer(pointer).and_then(Json::as_str).unwrap_or_default();
        if old.pointer(pointer).and_then(Json::as_str).unwrap_or_default() != new {
            errors.push(FieldError::invalid_text(&at, new, "field is immutable"));
        }
    };
    if status::is_true(old, "Established") {
        fixed(path.child("scope"), "/spec/scope");
        fixed(names.child("kind"), "/spec/names/kind");
    }
    fixed(path.child("group"), "/spec/group");
    fixed(names.child("plural"), "/spec/names/plural");
}

fn check_spec(crd: &Json, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let spec = &crd["spec"];
    let group = text(spec, "group");
    let at = path.child("group");
    if group.is_empty() {
        errors.push(FieldError::required(&at, ""));
    } else if let Some(why) = names::dns_1123_subdomain(group) {
        errors.push(FieldError::invalid_text(&at, group, &why));
    } else if !group.contains('.') {
        errors.push(FieldError::invalid_text(&at, group, "should be a domain with at least one dot"));
    }
    one_of(&path.child("scope"), text(spec, "scope"), &["Cluster", "Namespaced"], errors);
    let versions = Versions::of(crd);
    check_versions(versions, path, errors);
    for name in ["plural", "singular", "kind", "listKind"] {
        if text(&spec["names"], name).is_empty() {
            errors.push(FieldError::required(&path.child("names").child(name), ""));
        }
    }
    check_names(&spec["names"], &path.child("names"), errors);
    check_shared(versions, path, errors);
    check_conversion(&spec["conversion"], &path.child("conversion"), errors);
}

pub(super) fn one_of(at: &FieldPath, value: &str, known: &[&str], errors: &mut Vec<FieldError>) {
    if value.is_empty() {
        errors.push(FieldError::required(at, ""));
    } else if !known.contains(&value) {
        errors.push(FieldError::not_supported(at, Value::String(value), known));
    }
}

fn schema_of(version: &Json) -> Option<&Json> {
    version["schema"].get("openAPIV3Schema")
}

fn subresources_of(version: &Json) -> Option<&Json> {
    version.get("subresources")
}

fn columns_of(version: &Json) -> Option<&Json> {
    version.get("additionalPrinterColumns")
}

fn selectable_of(version: &Json) -> Option<&Json> {
    version.get("selectableFields")
}

fn check_versions(versions: Versions<'_>, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let at = path.child("versions");
    for (index, version) in versions.0.iter().enumerate() {
        if schema_of(version).is_none_or(Json::is_null) {
            let at = at.index(index).child("schema").child("openAPIV3Schema");
            errors.push(FieldError::required(&at, ""));
        }
    }
    let mut seen = Vec::new();
    let mut is_unique = true;
    for (index, version) in versions.0.iter().enumerate() {
        let at = at.index(index);
        let name = text(version, "name");
        is_unique &= !seen.contains(&name);
        seen.push(name);
        if let Some(why) = names::dns_1035_label(name) {
            errors.push(FieldError::invalid_text(&at.child("name"), name, &why));
        }
        check_deprecation(version, &at.child("deprecationWarning"), errors);
        let own =
            |part: fn(&Json) -> Option<&Json>| (!versions.is_shared(part)).then(|| part(version)).flatten();
        if let Some(json) = own(schema_of) {
            let subresources =
                if versions.is_shared(subresources_of) { versions.0.first() } else { Some(version) };
            let has_status =
                subresources.is_some_and(|version| version["subresources"]["status"].is_object());
            errors.extend(schema::check(json, &at.child("schema").child("openAPIV3Schema"), has_status));
        }
        check_subresources(own(subresources_of), &at.child("subresources"), errors);
        check_columns(own(columns_of), &at.child("additionalPrinterColumns"), errors);
        check_selectable(own(selectable_of), schema_of(version), &at.child("selectableFields"), errors);
    }
    if !is_unique {
        errors.push(FieldError::invalid_json(&at, &shown(versions), "must contain unique version names"));
    }
    if versions.0.iter().filter(|version| version["storage"] == true).count() != 1 {
        let detail = "must have exactly one version marked as storage version";
        errors.push(FieldError::invalid_json(&at, &shown(versions), detail));
    }
    // Go's internal type has a `version`, which is the first one.
    let first = versions.0.first().map(|version| text(version, "name")).filter(|name| !name.is_empty());
    if let Some((name, why)) = first.and_then(|name| Some((name, names::dns_1035_label(name)?))) {
        errors.push(FieldError::invalid_text(&path.child("version"), name, &why));
    }
}

/// The versions as Go prints its internal type. Shared parts are elsewhere; other parts aren't printed here.
fn shown(versions: Versions<'_>) -> String {
    let shown = versions.0.iter().map(|version| {
        format!(
            r#"{{"Name":{},"Served":{},"Storage":{},"Deprecated":{},"DeprecationWarning":{},"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null}}"#,
            Json::from(text(version, "name")),
            version["served"] == true,
            version["storage"] == true,
            version["deprecated"] == true,
            version["deprecationWarning"],
        )
    });
    if versions.0.is_empty() {
        "null".to_owned()
    } else {
        format!("[{}]", shown.collect::<Vec<_>>().join(","))
    }
}

fn check_deprecation(version: &Json, at: &FieldPath, errors: &mut Vec<FieldError>) {
    let Some(warning) = version["deprecationWarning"].as_str() else { return };
    let mut wrong = |detail: &str| errors.push(FieldError::invalid_text(at, warning, detail));
    if version["deprecated"] != true {
        return wrong("can only be set for deprecated versions");
    }
    if warning.len() > 256 {
        wrong("must be <= 256 characters long");
    }
    if warning.is_empty() {
        wrong("must not be an empty string");
    }
    if let Some((index, _)) = warning.char_indices().find(|(_, each)| each.is_control()) {
        wrong(&format!(
            "must only contain printable UTF-8 characters; non-printable character found at index {index}"
        ));
    }
}

/// Validates the parts that all versions share.
fn check_shared(versions: Versions<'_>, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let Some(first) = versions.0.first() else { return };
    let shared = |part: fn(&Json) -> Option<&Json>| {
        versions.is_shared(part).then(|| part(first)).flatten().filter(|json| !json.is_null())
    };
    if let Some(json) = shared(schema_of) {
        let has_status = versions.0.iter().any(|version| version["subresources"]["status"].is_object());
        errors.extend(schema::check(json, &path.child("validation").child("openAPIV3Schema"), has_status));
    }
    check_subresources(shared(subresources_of), &path.child("subresources"), errors);
    check_columns(shared(columns_of), &path.child("additionalPrinterColumns"), errors);
    check_selectable(shared(selectable_of), schema_of(first), &path.child("selectableFields"), errors);
}

fn check_names(names: &Json, at: &FieldPath, errors: &mut Vec<FieldError>) {
    for name in ["plural", "singular", "kind", "listKind"] {
        let text = text(names, name);
        let (text_to_check, prefix) = match name {
            "kind" | "listKind" => (text.to_lowercase(), "may have mixed case, but should otherwise match: "),
            _ => (text.to_owned(), ""),
        };
        if let Some(why) = names::dns_1035_label(&text_to_check).filter(|_| !text.is_empty()) {
            errors.push(FieldError::invalid_text(&at.child(name), text, &format!("{prefix}{why}")));
        }
    }
    let mut check_all = |name: &str| {
        let all = names[name].as_array().into_iter().flatten().filter_map(Json::as_str).enumerate();
        for (index, text) in all {
            if let Some(why) = names::dns_1035_label(text) {
                errors.push(FieldError::invalid_text(&at.child(name).index(index), text, &why));
            }
        }
    };
    check_all("shortNames");
    check_all("categories");
    let kind = text(names, "kind");
    if !kind.is_empty() && kind == text(names, "listKind") {
        let detail = "kind and listKind may not be the same";
        errors.push(FieldError::invalid_text(&at.child("listKind"), kind, detail));
    }
}

/// Stored versions can't be removed.
fn check_stored(crd: &Json, errors: &mut Vec<FieldError>) {
    let at = FieldPath::new("status").child("storedVersions");
    let stored = crd["status"]["storedVersions"].as_array().map(Vec::as_slice).unwrap_or_default();
    if stored.is_empty() {
        errors.push(FieldError::invalid_json(&at, "null", "must have at least one stored version"));
        return;
    }
    let versions = crd["spec"]["versions"].as_array().map(Vec::as_slice).unwrap_or_default();
    for version in
        versions.iter().filter(|version| version["storage"] == true && !stored.contains(&version["name"]))
    {
        let detail = format!("must have the storage version {}", text(version, "name"));
        errors.push(FieldError::invalid_json(&at, &Json::from(stored).to_string(), &detail));
    }
    for (index, name) in stored.iter().enumerate() {
        if versions.iter().any(|version| version["name"] == *name) {
            continue;
        }
        let name = name.as_str().unwrap_or_default();
        let detail = format!(
            "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions \
             until a storage migration ensures no data remains persisted in {name} and removes {name} from \
             status.storedVersions"
        );
        errors.push(FieldError::invalid_text(&at.index(index), name, &detail));
    }
}

fn check_approval(crd: &Json, old: Option<&Json>, errors: &mut Vec<FieldError>) {
    let Some((reason, message)) = status::approval(crd) else { return };
    if old.and_then(status::approval).is_some_and(|(before, _)| before == reason) {
        return;
    }
    let at = FieldPath::new("metadata").child("annotations").key(status::APPROVAL);
    match reason {
        "MissingAnnotation" => errors.push(FieldError::required(&at, &message)),
        "InvalidAnnotation" => {
            let text = crd["metadata"]["annotations"][status::APPROVAL].as_str().unwrap_or_default();
            errors.push(FieldError::invalid_text(&at, text, &message));
        }
        _ => {}
    }
}
