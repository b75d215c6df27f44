//! Validation of environment variables and their sources.

use crate::field::FieldError;
use crate::kinds::{
    cursor::{Cursor, Errors},
    format,
    quantity::Quantity,
};

use super::{check_name, volume::check_no_backsteps};

/// The pod fields that an environment variable can refer to.
#[rustfmt::skip]
const ENV_FIELDS: [&str; 9] = [
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
    "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
];

/// The pod fields that a file can refer to.
pub(super) const FILE_FIELDS: [&str; 5] =
    ["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];

/// All pod fields with a name.
#[rustfmt::skip]
const KNOWN_FIELDS: [&str; 14] = [
    "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid",
    "spec.nodeName", "spec.restartPolicy", "spec.serviceAccountName", "spec.schedulerName", "status.phase",
    "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
];

const RESOURCES: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

const CPU_DIVISORS: [&str; 2] = ["1m", "1"];
const BYTE_DIVISORS: [&str; 13] =
    ["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];

/// Validates a container's environment variables.
pub(super) fn check_env(env: &Cursor<'_>, errors: &mut Errors) {
    for variable in env.items() {
        variable.child("name").check_required(errors, format::env_name);
        check_value_from(&variable, errors);
    }
}

fn check_value_from(variable: &Cursor<'_>, errors: &mut Errors) {
    let from = variable.child("valueFrom");
    if !from.is_set() {
        return;
    }
    let sources = ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"]
        .map(|name| from.child(name));
    let [field, resource, config_map, secret, file] = &sources;
    if field.is_set() {
        check_field_reference(field, &ENV_FIELDS, errors);
    }
    if resource.is_set() {
        check_resource_reference(resource, false, errors);
    }
    for key in [config_map, secret].into_iter().filter(|source| source.is_set()) {
        key.child("name").check(errors, format::dns_subdomain);
        key.child("key").check_required(errors, format::config_map_key);
    }
    if file.is_set() {
        file.child("key").check_required(errors, format::env_name);
        check_name(&file.child("volumeName"), errors);
        let path = file.child("path");
        path.check_present(errors);
        check_no_backsteps(&path, errors);
    }
    let empty = |detail| FieldError::invalid_text(&from.path, "", detail);
    match sources.iter().filter(|source| source.is_set()).count() {
        0 => errors.push(empty(
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
        )),
        _ if !variable.text_of("value").is_empty() => {
            errors.push(empty("may not be specified when `value` is not empty"));
        }
        1 => {}
        _ => errors.push(empty("may not have more than one field specified at a time")),
    }
}

/// A reference to a field of the pod.
pub(super) fn check_field_reference(reference: &Cursor<'_>, allowed: &[&str], errors: &mut Errors) {
    let (version, field) = (reference.child("apiVersion"), reference.child("fieldPath"));
    for part in [&version, &field] {
        if part.text().is_empty() {
            errors.push(part.required(""));
            return;
        }
    }
    let mut broken = |problem: String| {
        errors.push(field.invalid_text(&format!("error converting fieldPath: {problem}")));
    };
    if version.text() != "v1" {
        broken(format!("unsupported pod version: {}", version.text()));
        return;
    }
    let subscripted = field.text().strip_suffix("']").and_then(|text| text.split_once("['"));
    match subscripted.filter(|(name, _)| !name.is_empty()) {
        Some((name @ ("metadata.annotations" | "metadata.labels"), key)) => {
            let checked = if name == "metadata.labels" { key.to_owned() } else { key.to_lowercase() };
            let problems = format::qualified_name(&checked);
            errors.extend(
                problems.iter().map(|problem| FieldError::invalid_text(&reference.path, &checked, problem)),
            );
        }
        Some(_) => broken(format!("field label does not support subscript: {}", field.text())),
        None if field.text() == "spec.host" || KNOWN_FIELDS.contains(&field.text()) => {
            let name = if field.text() == "spec.host" { "spec.nodeName" } else { field.text() };
            if !allowed.contains(&name) {
                errors.push(FieldError::not_supported(
                    &field.path,
                    baton_merge::value::Value::String(name),
                    allowed,
                ));
            }
        }
        None => broken(format!("field label not supported: {}", field.text())),
    }
}

/// A reference to a resource of a container. In a file it names the container.
pub(super) fn check_resource_reference(reference: &Cursor<'_>, in_file: bool, errors: &mut Errors) {
    let (container, resource) = (reference.child("containerName"), reference.child("resource"));
    let is_huge_pages =
        ["requests.hugepages-", "limits.hugepages-"].iter().any(|prefix| resource.text().starts_with(prefix));
    if in_file && container.text().is_empty() {
        errors.push(container.required(""));
    } else if resource.text().is_empty() {
        errors.push(resource.required(""));
    } else if !RESOURCES.contains(&resource.text()) && !is_huge_pages {
        errors.push(resource.not_supported(&RESOURCES));
    }
    let divisor = reference.child("divisor");
    if divisor.quantity() == Quantity::ZERO {
        return;
    }
    let (divisors, name, listed): (&[&str], _, _) = match resource.text() {
        "limits.cpu" | "requests.cpu" => (&CPU_DIVISORS, "cpu", "1m and 1".to_owned()),
        "limits.memory" | "requests.memory" => (&BYTE_DIVISORS, "memory", BYTE_DIVISORS.join(", ")),
        "limits.ephemeral-storage" | "requests.ephemeral-storage" => {
            (&BYTE_DIVISORS, "local ephemeral storage", BYTE_DIVISORS.join(", "))
        }
        _ if is_huge_pages => (&BYTE_DIVISORS, "hugepages", BYTE_DIVISORS.join(", ")),
        _ => return,
    };
    if !divisors.contains(&divisor.text()) {
        let detail = format!("only divisor's values {listed} are supported with the {name} resource");
        errors.push(FieldError::invalid_text(&divisor.path, resource.text(), &detail));
    }
}

pub(super) fn check_env_from(env_from: &Cursor<'_>, errors: &mut Errors) {
    for source in env_from.items() {
        source.child("prefix").check_unless_empty(errors, format::env_name);
        let references = ["configMapRef", "secretRef"].map(|name| source.child(name));
        for reference in references.iter().filter(|reference| reference.is_set()) {
            let name = reference.child("name");
            if name.text().is_empty() {
                errors.push(name.required(""));
            } else {
                let problems = format::NameRule::Subdomain.problems_of_prefix(name.text());
                errors.extend(problems.iter().map(|problem| name.invalid_text(problem)));
            }
        }
        let empty = |detail| FieldError::invalid_text(&env_from.path, "", detail);
        match references.iter().filter(|reference| reference.is_set()).count() {
            0 => errors.push(empty("must specify one of: `configMapRef` or `secretRef`")),
            1 => {}
            _ => errors.push(empty("may not have more than one field specified at a time")),
        }
    }
}
