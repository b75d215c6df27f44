//! Validation of persistent volumes.

use baton_merge::{Arena, value::Value};

use super::{VOLUME_MODES, check_access_modes, check_basic_amount, check_csi_driver_name};
use crate::field::{FieldError, FieldPath};
use crate::kinds::{
    check::Check,
    cursor::{Cursor, Errors, same},
    format,
    go_json::{GoField, GoType, go_json},
    pod::{check_host_path, check_nfs, check_no_backsteps, check_system},
    selector,
};

/// The sources of persistent volumes, in the server's order.
#[rustfmt::skip]
const SOURCES: [&str; 22] = [
    "hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs", "rbd", "quobyte",
    "cephfs", "iscsi", "cinder", "fc", "flexVolume", "azureFile", "vsphereVolume", "photonPersistentDisk",
    "portworxVolume", "azureDisk", "scaleIO", "local", "storageos", "csi",
];

/// The sources with mount options.
#[rustfmt::skip]
const MOUNTABLE: [&str; 13] = [
    "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "nfs", "rbd", "quobyte", "iscsi", "cinder",
    "cephfs", "azureFile", "vsphereVolume", "azureDisk", "photonPersistentDisk",
];
/// The secrets of a CSI driver that are validated.
const SECRETS: [&str; 4] = [
    "controllerPublishSecretRef",
    "controllerExpandSecretRef",
    "nodePublishSecretRef",
    "nodeExpandSecretRef",
];
/// The node affinity as Go prints it.
const AFFINITY: &[GoField] = &[(
    "Required",
    "required",
    GoType::Pointer(&[(
        "NodeSelectorTerms",
        "nodeSelectorTerms",
        GoType::List(&[
            ("MatchExpressions", "matchExpressions", GoType::List(REQUIREMENT)),
            ("MatchFields", "matchFields", GoType::List(REQUIREMENT)),
        ]),
    )]),
)];
const REQUIREMENT: &[GoField] = &[
    ("Key", "key", GoType::Plain("\"\"")),
    ("Operator", "operator", GoType::Plain("\"\"")),
    ("Values", "values", GoType::Plain("null")),
];
const MOUNT_OPTIONS: &str = "volume.beta.kubernetes.io/mount-options";

pub(in crate::kinds) fn volume(check: &mut Check<'_>) {
    check_volume(check);
    let Some(old) = check.old.clone() else { return };
    // The server validates these twice.
    check_volume(check);
    let (spec, old_spec) = (check.spec(), old.child("spec"));
    let arena = Arena::new();
    // `controllerExpandSecretRef` can be added later.
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
    let mode = spec.child("volumeMode").shown_at(FieldPath::new("volumeMode"));
    mode.check_immutable(&mut check.errors, &old_spec.child("volumeMode"));
    let (affinity, old_affinity) = (spec.child("nodeAffinity"), old_spec.child("nodeAffinity"));
    if old_affinity.is_set() && !same(affinity.value, old_affinity.value) {
        let detail = "field is immutable, except for updating from beta label to GA";
        let json = affinity.value.map_or_else(|| "null".to_owned(), |value| go_json(Some(value), AFFINITY));
        check.errors.push(FieldError::invalid_json(&FieldPath::new("nodeAffinity"), &json, detail));
    }
    let attributes = spec.child("volumeAttributesClassName");
    if old_spec.has("volumeAttributesClassName") && !attributes.is_set() {
        check.errors.push(attributes.forbidden("update from non-nil value to nil is forbidden"));
    }
}

fn check_volume(check: &mut Check<'_>) {
    check.metadata();
    let spec = check.spec();
    check_volume_spec(&spec, &mut check.errors);
    let annotations = check.new.at(&["metadata", "annotations"]);
    if annotations.has(MOUNT_OPTIONS) && !MOUNTABLE.iter().any(|name| spec.has(name)) {
        let detail = "may not specify mount options for this volume type";
        check.errors.push(annotations.child(MOUNT_OPTIONS).forbidden(detail));
    }
}

fn check_volume_spec(spec: &Cursor<'_>, errors: &mut Errors) {
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
        check_basic_amount(&amount, errors);
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
    let is_root = root.text().starts_with('/') && root.text().trim_matches('/').is_empty();
    if is_root && policy.text() == "Recycle" {
        errors.push(policy.forbidden("may not be 'recycle' for a hostPath mount of '/'"));
    }
    spec.child("storageClassName").check_unless_empty(errors, format::dns_subdomain);
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

fn check_volume_source(spec: &Cursor<'_>, affinity: &Cursor<'_>, errors: &mut Errors) {
    let sources: Vec<_> = SOURCES.iter().filter(|name| spec.has(name)).collect();
    let Some((first, others)) = sources.split_first() else {
        errors.push(spec.required("must specify a volume type"));
        return;
    };
    let source = spec.child(first);
    match **first {
        "hostPath" => check_host_path(&source, errors),
        "nfs" => check_nfs(&source, errors),
        "local" => {
            let path = source.child("path");
            path.check_present(errors);
            check_no_backsteps(&path, errors);
            affinity.check_set(errors, "Local volume requires node affinity");
        }
        "csi" => {
            check_csi_driver_name(&source.child("driver"), errors);
            source.child("volumeHandle").check_present(errors);
            for name in SECRETS {
                let secret = source.child(name);
                if secret.is_set() {
                    secret.child("name").check_required(errors, format::dns_subdomain);
                    secret.child("namespace").check_required(errors, format::dns_label);
                }
            }
        }
        name => check_system(name, spec, true, errors),
    }
    errors.extend(
        others.iter().map(|name| spec.child(name).forbidden("may not specify more than 1 volume type")),
    );
}

pub(in crate::kinds) fn volume_status(check: &mut Check<'_>) {
    check.metadata_update();
}
