//! Validation of volumes and their mounts.

use std::collections::{BTreeMap, BTreeSet};

use baton_merge::value::Value;

use super::{Scope, check_name, container::PULL_POLICIES, env, projected, systems::check_system};
use crate::field::FieldError;
use crate::kinds::{
    cursor::{Cursor, Errors},
    format,
    metadata::{check_annotations, check_labels},
    quantity::Quantity,
    storage,
};

const FILE_MODE: &str = "must be a number between 0 and 0777 (octal), both inclusive";

/// The highest mode of a file.
const MAX_FILE_MODE: i64 = 0o777;

/// The sources of volumes in the server's order, with their names in the error of several sources.
#[rustfmt::skip]
const SOURCES: [(&str, &str); 30] = [
    ("emptyDir", "emptyDir"), ("hostPath", "hostPath"), ("gitRepo", "gitRepo"),
    ("gcePersistentDisk", "gcePersistentDisk"), ("awsElasticBlockStore", "awsElasticBlockStore"),
    ("secret", "secret"), ("nfs", "nfs"), ("iscsi", "iscsi"), ("glusterfs", "glusterfs"),
    ("flocker", "flocker"), ("persistentVolumeClaim", "persistentVolumeClaim"), ("rbd", "rbd"),
    ("cinder", "cinder"), ("cephfs", "cephFS"), ("quobyte", "quobyte"), ("downwardAPI", "downwarAPI"),
    ("fc", "fc"), ("flexVolume", "flexVolume"), ("configMap", "configMap"), ("azureFile", "azureFile"),
    ("vsphereVolume", "vsphereVolume"), ("photonPersistentDisk", "photonPersistentDisk"),
    ("portworxVolume", "portworxVolume"), ("azureDisk", "azureDisk"), ("storageos", "storageos"),
    ("projected", "projected"), ("scaleIO", "scaleIO"), ("csi", "csi"), ("ephemeral", "ephemeral"),
    ("image", "image"),
];

/// Whether a volume has a source.
pub(in crate::kinds) fn has_source(volume: Value<'_>) -> bool {
    SOURCES.iter().any(|(name, _)| volume.get(name).is_some())
}

/// Validates all volumes of a pod. Returns the valid ones by name.
pub(super) fn check_all<'a>(
    scope: &Scope<'a>,
    metadata: Option<&Cursor<'_>>,
    errors: &mut Errors,
) -> BTreeMap<&'a str, Cursor<'a>> {
    let pod_name = metadata.map(|metadata| metadata.text_of("name")).filter(|name| !name.is_empty());
    let claim_name = |volume: &Cursor<'_>| Some(format!("{}-{}", pod_name?, volume.text_of("name")));
    let volumes = scope.spec.child("volumes");
    let created: BTreeSet<_> = volumes
        .items()
        .filter(|volume| volume.has("ephemeral"))
        .filter_map(|volume| claim_name(&volume))
        .collect();
    let mut sound = BTreeMap::new();
    for volume in volumes.items() {
        let before = errors.len();
        check_source(&volume, scope.is_pod, claim_name(&volume).as_deref(), errors);
        let name = volume.child("name");
        check_name(&name, errors);
        if sound.contains_key(name.text()) {
            errors.push(name.duplicate());
        }
        if errors.len() == before {
            sound.insert(name.text(), volume.clone());
        }
        let claim = volume.at(&["persistentVolumeClaim", "claimName"]);
        if claim.is_set() && created.contains(claim.text()) {
            let detail = "must not reference a PVC that gets created for an ephemeral volume";
            errors.push(claim.invalid_text(detail));
        }
    }
    sound
}

fn check_source(volume: &Cursor<'_>, is_pod: bool, claim_name: Option<&str>, errors: &mut Errors) {
    let mut found = false;
    for (name, shown) in SOURCES {
        let source = volume.child(name);
        if !source.is_set() {
        } else if std::mem::replace(&mut found, true) {
            errors.push(volume.child(shown).forbidden("may not specify more than 1 volume type"));
        } else {
            check_one_source(name, volume, is_pod, errors);
            if let ("ephemeral", Some(claim_name)) = (name, claim_name)
                && !volume.text_of("name").is_empty()
            {
                let name = volume.child("name");
                for problem in format::dns_subdomain(claim_name) {
                    errors.push(name.invalid_text(&format!("PVC name {claim_name:?}: {problem}")));
                }
            }
        }
    }
    if !found {
        errors.push(volume.required("must specify a volume type"));
    }
}

/// Validates the source with this name.
fn check_one_source(name: &str, volume: &Cursor<'_>, is_pod: bool, errors: &mut Errors) {
    let source = &volume.child(name);
    match name {
        "emptyDir" => {
            let limit = source.child("sizeLimit");
            if limit.quantity() < Quantity::ZERO {
                errors.push(limit.forbidden("SizeLimit field must be a valid resource quantity"));
            }
        }
        "hostPath" => check_host_path(source, errors),
        "gitRepo" => {
            source.child("repository").check_present(errors);
            check_descending_path(&source.child("directory"), errors);
        }
        "secret" => check_files(source, "secretName", errors),
        "configMap" => check_files(source, "name", errors),
        "nfs" => check_nfs(source, errors),
        "persistentVolumeClaim" => source.child("claimName").check_present(errors),
        "downwardAPI" => {
            check_mode(&source.child("defaultMode"), errors);
            for file in source.child("items").items() {
                check_downward_file(&file.shown_at(source.path.clone()), errors);
            }
        }
        "projected" => {
            check_mode(&source.child("defaultMode"), errors);
            projected::check(source, errors);
        }
        "csi" => {
            storage::check_csi_driver_name(&source.child("driver"), errors);
            let secret = source.child("nodePublishSecretRef");
            let name = secret.child("name");
            if secret.is_set() && name.text().is_empty() {
                errors.push(name.required(""));
            } else if secret.is_set() {
                name.shown_at(source.path.child("name")).check(errors, format::dns_subdomain);
            }
        }
        "ephemeral" => {
            let template = source.child("volumeClaimTemplate");
            if template.is_set() {
                let metadata = template.child("metadata");
                check_annotations(&metadata.child("annotations"), errors);
                check_labels(&metadata.child("labels"), errors);
                for (name, _) in
                    metadata.members().filter(|(name, _)| !matches!(*name, "annotations" | "labels"))
                {
                    errors.push(metadata.child(name).forbidden("cannot be set"));
                }
                storage::check_claim_spec(&template.child("spec"), errors);
            } else {
                errors.push(template.required(""));
            }
        }
        "image" => {
            let reference = source.child("reference");
            if is_pod {
                reference.check_present(errors);
            }
            source.child("pullPolicy").check_choice(errors, &PULL_POLICIES);
        }
        _ => check_system(name, volume, false, errors),
    }
}

pub(in crate::kinds) fn check_nfs(source: &Cursor<'_>, errors: &mut Errors) {
    source.child("server").check_present(errors);
    let path = source.child("path");
    path.check_present(errors);
    if !path.text().starts_with('/') {
        errors.push(path.invalid_text("must be an absolute path"));
    }
}

/// Validates a `hostPath` source.
pub(in crate::kinds) fn check_host_path(source: &Cursor<'_>, errors: &mut Errors) {
    let path = source.child("path");
    if path.text().is_empty() {
        errors.push(path.required(""));
        return;
    }
    check_no_backsteps(&path, errors);
    source.child("type").check_one_of(
        errors,
        &[
            "",
            "BlockDevice",
            "CharDevice",
            "Directory",
            "DirectoryOrCreate",
            "File",
            "FileOrCreate",
            "Socket",
        ],
    );
}

fn check_files(source: &Cursor<'_>, name: &str, errors: &mut Errors) {
    source.child(name).check_present(errors);
    check_mode(&source.child("defaultMode"), errors);
    for item in source.child("items").items() {
        check_key_to_path(&item, errors);
    }
}

/// Validates the projection of a key to a file.
pub(super) fn check_key_to_path(item: &Cursor<'_>, errors: &mut Errors) {
    item.child("key").check_present(errors);
    let path = item.child("path");
    path.check_present(errors);
    check_file_path(&path, errors);
    check_mode(&item.child("mode"), errors);
}

/// Validates a downward API file.
pub(super) fn check_downward_file(file: &Cursor<'_>, errors: &mut Errors) {
    let path = file.child("path");
    path.check_present(errors);
    check_file_path(&path, errors);
    let (field, resource) = (file.child("fieldRef"), file.child("resourceFieldRef"));
    match (field.is_set(), resource.is_set()) {
        (true, both) => {
            env::check_field_reference(&field, &env::FILE_FIELDS, errors);
            if both {
                let detail = "fieldRef and resourceFieldRef can not be specified simultaneously";
                errors.push(FieldError::invalid_text(&file.path, "resource", detail));
            }
        }
        (false, true) => env::check_resource_reference(&resource, true, errors),
        (false, false) => errors.push(file.required("one of fieldRef and resourceFieldRef is required")),
    }
    check_mode(&file.child("mode"), errors);
}

fn check_mode(mode: &Cursor<'_>, errors: &mut Errors) {
    if !(0..=MAX_FILE_MODE).contains(&mode.int()) {
        errors.push(mode.invalid_int(FILE_MODE));
    }
}

/// The path has no `..`.
pub(in crate::kinds) fn check_no_backsteps(path: &Cursor<'_>, errors: &mut Errors) {
    if path.text().split('/').any(|part| part == "..") {
        errors.push(path.invalid_text("must not contain '..'"));
    }
}

/// The path is relative, without `..`.
pub(super) fn check_descending_path(path: &Cursor<'_>, errors: &mut Errors) {
    if path.text().starts_with('/') {
        errors.push(path.invalid_text("must be a relative path"));
    }
    check_no_backsteps(path, errors);
}

/// The path is relative, without `..`, and doesn't clash with the kubelet's files.
pub(super) fn check_file_path(path: &Cursor<'_>, errors: &mut Errors) {
    check_descending_path(path, errors);
    if path.text().starts_with("..") && !path.text().starts_with("../") {
        errors.push(path.invalid_text("must not start with '..'"));
    }
}

pub(super) fn check_mounts(
    container: &Cursor<'_>,
    volumes: &BTreeMap<&str, Cursor<'_>>,
    errors: &mut Errors,
) {
    let mounts = container.child("volumeMounts");
    let devices: Vec<_> = container.child("volumeDevices").items().collect();
    let privileged = container.at(&["securityContext", "privileged"]).flag();
    let mut paths = BTreeSet::new();
    for mount in mounts.items() {
        let (name, path) = (mount.child("name"), mount.child("mountPath"));
        name.check_present(errors);
        if !volumes.contains_key(name.text()) {
            errors.push(name.not_found());
        }
        path.check_present(errors);
        if !paths.insert(path.text()) {
            errors.push(path.invalid_text("must be unique"));
        }
        if devices.iter().any(|device| device.text_of("name") == name.text()) {
            errors.push(name.invalid_text("must not already exist in volumeDevices"));
        }
        if devices.iter().any(|device| device.text_of("devicePath") == path.text()) {
            errors.push(path.invalid_text("must not already exist as a path in volumeDevices"));
        }
        // The server omits the index.
        let at_list = |name: &str| mount.child(name).shown_at(mounts.path.child(name));
        let (sub_path, sub_path_expr) = (at_list("subPath"), at_list("subPathExpr"));
        check_descending_path(&sub_path, errors);
        if !sub_path_expr.text().is_empty() && !sub_path.text().is_empty() {
            let detail = "subPathExpr and subPath are mutually exclusive";
            errors.push(mount.child("subPathExpr").invalid_text(detail));
        }
        check_descending_path(&sub_path_expr, errors);
        let propagation = at_list("mountPropagation");
        propagation.check_one_of(errors, &["Bidirectional", "HostToContainer", "None"]);
        if propagation.text() == "Bidirectional" && !privileged {
            let detail = "Bidirectional mount propagation is available only to privileged containers";
            errors.push(propagation.forbidden(detail));
        }
        check_recursive_read_only(&mount, &at_list("recursiveReadOnly"), errors);
    }
}

fn check_recursive_read_only(mount: &Cursor<'_>, recursive: &Cursor<'_>, errors: &mut Errors) {
    recursive.check_one_of(errors, &["Disabled", "Enabled", "IfPossible"]);
    if matches!(recursive.text(), "Enabled" | "IfPossible") {
        if !mount.flag_of("readOnly") {
            errors.push(recursive.forbidden("may only be specified when readOnly is true"));
        }
        if !matches!(mount.text_of("mountPropagation"), "" | "None") {
            let detail = "may only be specified when mountPropagation is None or not specified";
            errors.push(recursive.forbidden(detail));
        }
    }
}

pub(super) fn check_devices(
    container: &Cursor<'_>,
    volumes: &BTreeMap<&str, Cursor<'_>>,
    errors: &mut Errors,
) {
    let mounts: Vec<_> = container.child("volumeMounts").items().collect();
    let (mut names, mut paths) = (BTreeSet::new(), BTreeSet::new());
    for device in container.child("volumeDevices").items() {
        let (name, path) = (device.child("name"), device.child("devicePath"));
        name.check_present(errors);
        if names.contains(name.text()) {
            errors.push(name.invalid_text("must be unique"));
        }
        match volumes.get(name.text()) {
            None => errors.push(name.not_found()),
            Some(volume) if volume.has("persistentVolumeClaim") || volume.has("ephemeral") => {}
            Some(_) => errors.push(name.invalid_text(
                "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode",
            )),
        }
        path.check_present(errors);
        if paths.contains(path.text()) {
            errors.push(path.invalid_text("must be unique"));
        }
        if path.text().split('/').any(|part| part == "..") {
            errors.push(path.invalid_text("can not contain backsteps ('..')"));
        } else {
            paths.insert(path.text());
        }
        if mounts.iter().any(|mount| mount.text_of("name") == name.text()) {
            errors.push(name.invalid_text("must not already exist in volumeMounts"));
        }
        if mounts.iter().any(|mount| mount.text_of("mountPath") == path.text()) {
            errors.push(path.invalid_text("must not already exist as a path in volumeMounts"));
        }
        names.insert(name.text());
    }
}
