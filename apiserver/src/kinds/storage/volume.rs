//! The rules for persistent volumes.

use baton_merge::{Arena, value::Value};

use super::{VOLUME_MODES, check_access_modes, check_csi_driver_name};
use crate::field::FieldError;
use crate::kinds::{
    check::Check,
    format,
    node::{Errors, Node, same},
    pod::check_host_path,
    selector,
};

/// The sources of persistent volumes in the server's order.
const SOURCES: [&str; 22] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "flocker",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
    "csi",
];

/// The rules for a volume. Those of single storage systems aren't here.
pub(in crate::kinds) fn volume(check: &mut Check<'_>) {
    check.metadata();
    check_volume_spec(&check.spec(), &mut check.errors);
    let Some(old) = check.old.clone() else { return };
    // The server goes through these twice.
    check.metadata();
    check_volume_spec(&check.spec(), &mut check.errors);
    let (spec, old_spec) = (check.spec(), old.child("spec"));
    let arena = Arena::new();
    // A secret for expanding may be added later.
    let adds_secret = !old_spec.at(&["csi", "controllerExpandSecretRef"]).is_set();
    let changed = SOURCES.iter().any(|name| {
        let source = spec.get(name).map(|source| {
            if adds_secret { source.with(&arena, &["controllerExpandSecretRef"], None) } else { source }
        });
        !same(source, old_spec.get(name))
    });
    if changed {
        let place = spec.child("persistentvolumesource");
        check.errors.push(place.forbidden("spec.persistentvolumesource is immutable after creation"));
    }
    let mode = spec.child("volumeMode").shown_at(crate::field::FieldPath::new("volumeMode"));
    mode.check_immutable(&mut check.errors, &old_spec.child("volumeMode"));
    let (affinity, old_affinity) = (spec.child("nodeAffinity"), old_spec.child("nodeAffinity"));
    if old_affinity.is_set() && !same(affinity.value, old_affinity.value) {
        let detail = "field is immutable, except for updating from beta label to GA";
        check.errors.push(affinity.shown_at(crate::field::FieldPath::new("nodeAffinity")).invalid(detail));
    }
    let attributes = spec.child("volumeAttributesClassName");
    if old_spec.has("volumeAttributesClassName") && !attributes.is_set() {
        check.errors.push(attributes.forbidden("update from non-nil value to nil is forbidden"));
    }
}

fn check_volume_spec(spec: &Node<'_>, errors: &mut Errors) {
    let modes = spec.child("accessModes");
    if modes.len() == 0 {
        errors.push(modes.required(""));
    }
    check_access_modes(&modes, errors);
    let capacity = spec.child("capacity");
    if capacity.len() == 0 {
        errors.push(capacity.required(""));
    }
    if capacity.len() != 1 || !capacity.has("storage") {
        let json = crate::field::shown(capacity.value.unwrap_or(Value::Null));
        errors.push(FieldError::not_supported_json(&capacity.path, &json, &["storage"]));
    }
    for (_, amount) in capacity.members() {
        amount.check_positive_quantity(errors);
    }
    let policy = spec.child("persistentVolumeReclaimPolicy");
    policy.check_one_of(errors, &["Delete", "Recycle", "Retain"]);
    let affinity = spec.child("nodeAffinity");
    if affinity.is_set() {
        let required = affinity.child("required");
        if required.is_set() {
            selector::check_node_selector(&required, errors);
        } else {
            errors.push(required.required("must specify required node constraints"));
        }
    }
    check_volume_source(spec, &affinity, errors);
    let root = spec.at(&["hostPath", "path"]);
    if root.is_set() && root.text().trim_matches('/').is_empty() && policy.text() == "Recycle" {
        errors.push(policy.forbidden("may not be 'recycle' for a hostPath mount of '/'"));
    }
    let class = spec.child("storageClassName");
    if !class.text().is_empty() {
        class.check(errors, format::dns_subdomain);
    }
    spec.child("volumeMode").check_one_of(errors, &VOLUME_MODES);
    let attributes = spec.child("volumeAttributesClassName");
    if attributes.is_set() {
        if attributes.text().is_empty() {
            errors.push(attributes.required("an empty string is disallowed"));
        } else {
            attributes.check(errors, format::dns_subdomain);
        }
        if !spec.has("csi") {
            errors
                .push(spec.child("csi").required("has to be specified when using volumeAttributesClassName"));
        }
    }
}

fn check_volume_source(spec: &Node<'_>, affinity: &Node<'_>, errors: &mut Errors) {
    let sources: Vec<_> = SOURCES.iter().filter(|name| spec.has(name)).collect();
    let Some((first, others)) = sources.split_first() else {
        errors.push(spec.required("must specify a volume type"));
        return;
    };
    let source = spec.child(first);
    match **first {
        "hostPath" => check_host_path(&source, errors),
        "nfs" => {
            source.child("server").check_present(errors);
            let path = source.child("path");
            path.check_present(errors);
            if !path.text().starts_with('/') {
                errors.push(path.invalid_text("must be an absolute path"));
            }
        }
        "local" => {
            source.child("path").check_present(errors);
            if !affinity.is_set() {
                errors.push(affinity.required("Local volume requires node affinity"));
            }
        }
        "csi" => {
            check_csi_driver_name(&source.child("driver"), errors);
            source.child("volumeHandle").check_present(errors);
        }
        _ => {}
    }
    errors.extend(
        others.iter().map(|name| spec.child(name).forbidden("may not specify more than 1 volume type")),
    );
}

/// The rules for the status of a volume.
pub(in crate::kinds) fn volume_status(check: &mut Check<'_>) {
    check.metadata_update();
}
