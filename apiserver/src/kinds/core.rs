//! Validation of the small kinds of the core group: config maps, secrets, namespaces, endpoints and others.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::from_slice;

use super::{
    apps,
    check::Check,
    cursor::{Cursor, Errors, same},
    format, ip, metadata, pod,
};
use crate::field::{FieldError, FieldPath};

/// The limit of a config map's or secret's data.
const DATA_LENGTH: usize = 1 << 20;

const IMMUTABLE_DATA: &str = "field is immutable when `immutable` is set";

fn decoded(value: &Cursor<'_>) -> Vec<u8> {
    BASE64_STANDARD.decode(value.text()).unwrap_or_default()
}

/// With `immutable`, neither the data nor the flag may change.
fn check_immutable_data(check: &mut Check<'_>, names: &[&str]) {
    if !check.old_at(&["immutable"]).flag() {
        return;
    }
    if !check.new.flag_of("immutable") {
        check.errors.push(check.new.child("immutable").forbidden(IMMUTABLE_DATA));
    }
    for name in names {
        let (data, old) = (check.new.child(name), check.old_at(&[name]));
        if !same(data.value, old.value) {
            check.errors.push(data.forbidden(IMMUTABLE_DATA));
        }
    }
}

pub(super) fn config_map(check: &mut Check<'_>) {
    check.metadata_update();
    check_immutable_data(check, &["data", "binaryData"]);
    check.metadata();
    let (data, binary) = (check.new.child("data"), check.new.child("binaryData"));
    let mut length = 0;
    for (key, value) in data.members() {
        check_key(key, &value, &mut check.errors);
        if binary.has(key) {
            let detail = "duplicate of key present in binaryData";
            check.errors.push(FieldError::invalid_text(&value.path, key, detail));
        }
        length += value.text().len();
    }
    for (key, value) in binary.members() {
        check_key(key, &value, &mut check.errors);
        length += decoded(&value).len();
    }
    if length > DATA_LENGTH {
        check.errors.push(FieldError::too_long(&FieldPath::new("[]"), DATA_LENGTH));
    }
}

fn check_key(key: &str, place: &Cursor<'_>, errors: &mut Errors) {
    let problems = format::config_map_key(key);
    errors.extend(problems.iter().map(|problem| FieldError::invalid_text(&place.path, key, problem)));
}

pub(super) fn secret(check: &mut Check<'_>) {
    check.metadata_update();
    if check.old.is_some() && check.new.text_of("type") != check.old_at(&["type"]).text() {
        check.errors.push(check.new.child("type").invalid_text(super::cursor::IMMUTABLE));
    }
    check_immutable_data(check, &["data"]);
    check.metadata();
    let data = check.new.child("data");
    let mut length = 0;
    for (key, value) in data.members() {
        check_key(key, &value, &mut check.errors);
        length += decoded(&value).len();
    }
    if length > DATA_LENGTH {
        check.errors.push(FieldError::too_long(&data.path, DATA_LENGTH));
    }
    check_secret_type(&check.new.clone(), &data, &mut check.errors);
}

fn check_secret_type(secret: &Cursor<'_>, data: &Cursor<'_>, errors: &mut Errors) {
    let entry = |key: &str| data.at_key(key);
    let mut need = |keys: &[&str]| {
        for key in keys.iter().map(|key| entry(key)).filter(|entry| !entry.is_set()) {
            errors.push(key.required(""));
        }
    };
    match secret.text_of("type") {
        "kubernetes.io/service-account-token" => {
            let annotations = secret.at(&["metadata", "annotations"]);
            if annotations.text_of("kubernetes.io/service-account.name").is_empty() {
                let path = annotations.path.key("kubernetes.io/service-account.name");
                errors.push(FieldError::required(&path, ""));
            }
        }
        "kubernetes.io/dockercfg" => check_docker_config(&entry(".dockercfg"), errors),
        "kubernetes.io/dockerconfigjson" => check_docker_config(&entry(".dockerconfigjson"), errors),
        "kubernetes.io/basic-auth" if !data.has("username") && !data.has("password") => {
            need(&["username", "password"]);
        }
        "kubernetes.io/ssh-auth" => entry("ssh-privatekey").check_present(errors),
        "kubernetes.io/tls" => need(&["tls.crt", "tls.key"]),
        _ => {}
    }
}

fn check_docker_config(config: &Cursor<'_>, errors: &mut Errors) {
    if !config.is_set() {
        errors.push(config.required(""));
        return;
    }
    let bytes = decoded(config);
    let problem = match from_slice::<serde_json::Value>(&bytes) {
        Ok(serde_json::Value::Object(_) | serde_json::Value::Null) => return,
        Ok(other) => {
            let sort = match other {
                serde_json::Value::Array(_) => "array",
                serde_json::Value::String(_) => "string",
                serde_json::Value::Bool(_) => "bool",
                _ => "number",
            };
            format!("json: cannot unmarshal {sort} into Go value of type map[string]interface {{}}")
        }
        Err(_) if bytes.iter().all(u8::is_ascii_whitespace) => "unexpected end of JSON input".to_owned(),
        Err(error) if error.is_eof() => "unexpected end of JSON input".to_owned(),
        Err(_) => {
            let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace()).copied().unwrap_or_default();
            format!("invalid character {:?} looking for beginning of value", char::from(first))
        }
    };
    errors.push(FieldError::invalid_text(&config.path, "<secret contents redacted>", &problem));
}

pub(super) fn service_account(check: &mut Check<'_>) {
    check.metadata_update_and_metadata();
}

pub(super) fn namespace(check: &mut Check<'_>) {
    check.metadata();
    let finalizers = check.new.at(&["spec", "finalizers"]);
    for finalizer in finalizers.items() {
        check_finalizer(&finalizer.shown_at(finalizers.path.clone()), &mut check.errors);
    }
    check.metadata_update();
    if check.errors.is_empty() {
        let (mut errors, mut old) = (Errors::new(), Errors::new());
        check_pod_security(&check.new.at(&["metadata", "labels"]), &mut errors);
        check_pod_security(&check.old_at(&["metadata", "labels"]), &mut old);
        if old.is_empty() || errors != old {
            check.errors.extend(errors);
        }
    }
}

/// Validates the Pod Security labels of a namespace.
fn check_pod_security(labels: &Cursor<'_>, errors: &mut Errors) {
    for mode in ["enforce", "audit", "warn"] {
        let level = labels.at_key(&format!("pod-security.kubernetes.io/{mode}"));
        if level.is_set() && !["privileged", "baseline", "restricted"].contains(&level.text()) {
            errors.push(level.invalid_text("must be one of privileged, baseline, restricted"));
        }
        let version = labels.at_key(&format!("pod-security.kubernetes.io/{mode}-version"));
        let minor = version.text().strip_prefix("v1.").unwrap_or_default();
        let is_minor = minor.parse::<u32>().is_ok_and(|number| number.to_string() == minor);
        if version.is_set() && version.text() != "latest" && !is_minor {
            errors.push(version.invalid_text("must be \"latest\" or \"v1.x\""));
        }
    }
}

fn check_finalizer(finalizer: &Cursor<'_>, errors: &mut Errors) {
    finalizer.check(errors, format::qualified_name);
    metadata::check_kube_finalizer(finalizer, errors);
}

pub(super) fn namespace_status(check: &mut Check<'_>) {
    check.metadata_update();
    let phase = check.status().child("phase").shown_at(FieldPath::new("status").child("Phase"));
    let is_terminating = check.new.at(&["metadata", "deletionTimestamp"]).is_set();
    let (wanted, is) = if is_terminating { ("Terminating", "not empty") } else { ("Active", "empty") };
    if phase.text() != wanted {
        let detail = format!("may only be '{wanted}' if `deletionTimestamp` is {is}");
        check.errors.push(phase.invalid_text(&detail));
    }
}

/// Validates the finalizers of a namespace.
pub(super) fn namespace_finalize(check: &mut Check<'_>) {
    check.metadata_update();
    for finalizer in check.new.at(&["spec", "finalizers"]).items() {
        check_finalizer(&finalizer, &mut check.errors);
    }
}

pub(super) fn endpoints(check: &mut Check<'_>) {
    check.metadata_update_and_metadata();
    let subsets = check.new.child("subsets");
    if check.old.is_some() && same(subsets.value, check.old_at(&["subsets"]).value) {
        return;
    }
    let errors = &mut check.errors;
    for subset in subsets.items() {
        let addresses = ["addresses", "notReadyAddresses"].map(|name| subset.child(name));
        if addresses.iter().all(|addresses| addresses.len() == 0) {
            errors.push(subset.required("must specify `addresses` or `notReadyAddresses`"));
        }
        for address in addresses.iter().flat_map(|addresses| addresses.items().collect::<Vec<_>>()) {
            let (ip, hostname, node) =
                (address.child("ip"), address.child("hostname"), address.child("nodeName"));
            ip::check_address(&ip, errors, &[]);
            hostname.check_unless_empty(errors, format::dns_label);
            node.check_if_set(errors, format::dns_subdomain);
            ip::check_endpoint(&ip, errors);
        }
        let ports = subset.child("ports");
        for port in ports.items() {
            check_endpoint_port(&port, ports.len() > 1, errors);
        }
    }
}

fn check_endpoint_port(port: &Cursor<'_>, needs_name: bool, errors: &mut Errors) {
    let name = port.child("name");
    if !name.text().is_empty() {
        name.check(errors, format::dns_label);
    } else if needs_name {
        errors.push(name.required(""));
    }
    let number = port.child("port");
    errors.extend(format::port_number(number.int()).map(|problem| number.invalid_int(problem)));
    port.child("protocol").check_choice(errors, &["SCTP", "TCP", "UDP"]);
    port.child("appProtocol").check_if_set(errors, format::qualified_name);
}

pub(super) fn pod(check: &mut Check<'_>) {
    if let Some(old) = check.old.clone() {
        check.metadata_update_and_metadata();
        pod::check_pod_update(&check.new, &old, &mut check.errors);
    } else {
        check.metadata();
        pod::check_new_pod(&check.new, &mut check.errors);
    }
}

pub(super) fn pod_status(check: &mut Check<'_>) {
    check.metadata_update();
    if let Some(old) = &check.old {
        pod::check_status_update(&check.new, old, &mut check.errors);
    }
}

pub(super) fn pod_ephemeral_containers(check: &mut Check<'_>) {
    check.metadata_update_and_metadata();
    if let Some(old) = &check.old {
        pod::check_ephemeral_containers_update(&check.new, old, &mut check.errors);
    }
}

/// Validates an update of a pod's resources.
pub(super) fn pod_resize(check: &mut Check<'_>) {
    check.metadata_update();
    if let Some(old) = &check.old {
        pod::check_resize(&check.new, old, &mut check.errors);
    }
}

/// Validates a template of pods that is an object of its own.
pub(super) fn pod_template(check: &mut Check<'_>) {
    check.metadata_or_update();
    pod::check_template(&check.new.child("template"), &mut check.errors);
}

pub(super) fn replication_controller(check: &mut Check<'_>) {
    check.metadata_or_update();
    let (spec, errors) = (check.spec(), &mut check.errors);
    spec.child("minReadySeconds").check_non_negative(errors);
    let (selector, template) = (spec.child("selector"), spec.child("template"));
    if selector.len() == 0 {
        errors.push(selector.required(""));
    }
    let replicas = spec.child("replicas");
    if replicas.is_set() {
        replicas.check_non_negative(errors);
    } else {
        errors.push(replicas.required(""));
    }
    if !template.is_set() {
        errors.push(template.required(""));
        return;
    }
    let labels = template.at(&["metadata", "labels"]);
    if !super::selector::map_matches(&selector, &labels) {
        errors.push(labels.invalid("`selector` does not match template `labels`"));
    }
    pod::check_template(&template, errors);
    apps::check_runs_on(&template, "ReplicationController", errors);
}

pub(super) fn replication_controller_status(check: &mut Check<'_>) {
    check.metadata_update();
    apps::check_replica_counts(check);
}
