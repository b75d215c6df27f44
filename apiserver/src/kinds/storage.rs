//! The rules for claims of volumes, for volumes, and for their classes.

use baton_merge::{Arena, value::Value};

use super::{
    check::Check,
    format,
    metadata::check_label_key,
    node::{Errors, IMMUTABLE, Node, same},
    pod::{check_amount, check_host_path},
    quantity::Quantity,
    selector,
};
use crate::field::FieldError;

const ACCESS_MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
const VOLUME_MODES: [&str; 2] = ["Block", "Filesystem"];

/// The annotation that used to name the class of a claim.
const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

/// The most parameters that a storage class may have, and the most bytes in them.
const PARAMETERS: usize = 512;
const PARAMETERS_LENGTH: usize = 256 << 10;

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

/// The name of a driver for volumes.
pub(super) fn check_csi_driver_name(name: &Node<'_>, errors: &mut Errors) {
    const LENGTH: usize = 63;

    if name.text().is_empty() {
        errors.push(name.required(""));
        return;
    }
    if name.text().len() > LENGTH {
        errors.push(FieldError::too_long(&name.path, LENGTH));
    }
    let problems = format::dns_subdomain(&name.text().to_lowercase());
    errors.extend(problems.iter().map(|problem| name.invalid_text(problem)));
}

fn check_access_modes(modes: &Node<'_>, errors: &mut Errors) {
    for mode in modes.items() {
        mode.shown_at(modes.path.clone()).check_one_of(errors, &ACCESS_MODES);
    }
    let known: Vec<_> = modes.texts().filter(|mode| ACCESS_MODES.contains(mode)).collect();
    let is_single = |mode: &&str| *mode == "ReadWriteOncePod";
    if known.iter().any(is_single) && !known.iter().all(is_single) {
        errors.push(modes.forbidden("may not use ReadWriteOncePod with other access modes"));
    }
}

/// The rules for the spec of a claim, or of the template of one.
pub(super) fn check_claim_spec(spec: &Node<'_>, errors: &mut Errors) {
    let modes = spec.child("accessModes");
    if modes.len() == 0 {
        errors.push(modes.required("at least 1 access mode is required"));
    }
    selector::check(&spec.child("selector"), errors);
    check_access_modes(&modes, errors);
    let resources = spec.child("resources");
    let storage = resources.at(&["requests", "storage"]).shown_at(resources.path.key("storage"));
    if !storage.is_set() {
        errors.push(storage.required(""));
    } else if storage.quantity() <= Quantity::ZERO {
        storage.check_positive_quantity(errors);
    } else {
        check_amount("storage", &storage, errors);
    }
    let class = spec.child("storageClassName");
    if !class.text().is_empty() {
        class.check(errors, format::dns_subdomain);
    }
    spec.child("volumeMode").check_one_of(errors, &VOLUME_MODES);
    check_data_sources(spec, errors);
    let attributes = spec.child("volumeAttributesClassName");
    if !attributes.text().is_empty() {
        attributes.check(errors, format::dns_subdomain);
    }
}

fn check_data_sources(spec: &Node<'_>, errors: &mut Errors) {
    let (source, reference) = (spec.child("dataSource"), spec.child("dataSourceRef"));
    for from in [&source, &reference].into_iter().filter(|from| from.is_set()) {
        from.child("name").check_present(errors);
        from.child("kind").check_present(errors);
        let group = from.child("apiGroup");
        if !group.text().is_empty() {
            group.check(errors, format::dns_subdomain);
        } else if from.text_of("kind") != "PersistentVolumeClaim" {
            let detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
            errors.push(FieldError::invalid_text(&from.path, from.text_of("kind"), detail));
        }
        let namespace = from.child("namespace");
        if !namespace.text().is_empty() {
            namespace.check(errors, format::dns_label);
        }
    }
    if !source.is_set() || !reference.is_set() {
        return;
    }
    // The server shows the path itself, whose fields are hidden.
    let conflict = |detail| FieldError::invalid_json(&spec.path, "{}", detail);
    if !reference.text_of("namespace").is_empty() {
        errors.push(conflict("may not be specified when dataSourceRef.namespace is specified"));
    } else if ["apiGroup", "kind", "name"].iter().any(|name| source.get(name) != reference.get(name)) {
        errors.push(conflict("must match dataSourceRef"));
    }
}

/// The rules for a claim.
pub(super) fn claim(check: &mut Check<'_>) {
    check.metadata_update_and_metadata();
    let spec = check.spec();
    check_claim_spec(&spec, &mut check.errors);
    let Some(old) = check.old.clone() else { return };
    let (old_spec, errors) = (old.child("spec"), &mut check.errors);
    let annotation =
        |object: &Node<'_>| object.at(&["metadata", "annotations"]).text_of(CLASS_ANNOTATION).to_owned();
    let (class, old_class) = (annotation(&check.new), annotation(&old));
    let (new_name, old_name) = (spec.child("storageClassName"), old_spec.child("storageClassName"));
    let upgrades_annotation = !old_class.is_empty()
        && !old_name.is_set()
        && new_name.text() == old_class
        && (class.is_empty() || class == old_class);
    let upgrades_nothing =
        new_name.is_set() && !old_name.is_set() && (old_class.is_empty() || new_name.text() == old_class);
    if !upgrades_annotation && class != old_class {
        let path = check.new.at(&["metadata", "annotations"]).path.child(CLASS_ANNOTATION);
        errors.push(FieldError::invalid_text(&path, &class, IMMUTABLE));
    }
    let arena = Arena::new();
    let mut kept = vec![];
    if old_spec.text_of("volumeName").is_empty() {
        kept.push("volumeName");
    }
    if upgrades_annotation || upgrades_nothing {
        kept.push("storageClassName");
    }
    let is_bound = check.new.at(&["status", "phase"]).text() == "Bound";
    if is_bound {
        kept.push("volumeAttributesClassName");
    }
    if let (Some(new), Some(before)) = (spec.value, old_spec.value) {
        let mut munged = kept.iter().fold(new, |spec, name| spec.with(&arena, &[name], before.get(name)));
        if is_bound {
            let storage = ["resources", "requests", "storage"];
            munged = munged.with(&arena, &storage, before.at(&storage));
        }
        if munged != before {
            let detail = "spec is immutable after creation except resources.requests and \
                          volumeAttributesClassName for bound claims";
            errors.push(spec.forbidden(detail));
        }
    }
    let storage = spec.at(&["resources", "requests", "storage"]);
    let smallest = old.at(&["status", "capacity", "storage"]).quantity();
    let is_less = storage.quantity() < old_spec.at(&["resources", "requests", "storage"]).quantity();
    if is_less && storage.quantity() <= smallest {
        errors.push(storage.forbidden("field can not be less than status.capacity"));
    }
    let mode = spec.child("volumeMode").shown_at(crate::field::FieldPath::new("volumeMode"));
    mode.check_immutable(errors, &old_spec.child("volumeMode"));
    let attributes = spec.child("volumeAttributesClassName");
    if attributes.text() != old_spec.text_of("volumeAttributesClassName")
        && old.child("status").has("currentVolumeAttributesClassName")
        && attributes.text().is_empty()
    {
        let what = if attributes.is_set() { "empty string" } else { "nil" };
        errors.push(attributes.forbidden(&format!(
            "update to {what} is forbidden when status.currentVolumeAttributesClassName is not nil"
        )));
    }
}

/// The rules for the status of a claim.
pub(super) fn claim_status(check: &mut Check<'_>) {
    check.metadata_update();
    for (_, amount) in check.new.at(&["status", "capacity"]).members() {
        if amount.quantity() < Quantity::ZERO {
            check.errors.push(amount.invalid("must be a valid resource quantity"));
        }
    }
}

/// The rules for a volume. Those of single storage systems aren't here.
pub(super) fn volume(check: &mut Check<'_>) {
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
pub(super) fn volume_status(check: &mut Check<'_>) {
    check.metadata_update();
}

/// The rules for a storage class.
pub(super) fn class(check: &mut Check<'_>) {
    check.metadata();
    let (new, errors) = (check.new.clone(), &mut check.errors);
    let provisioner = new.child("provisioner");
    if provisioner.text().is_empty() {
        errors.push(provisioner.required(""));
    } else {
        let name = provisioner.text().to_lowercase();
        let problems = format::qualified_name(&name);
        errors.extend(
            problems.iter().map(|problem| FieldError::invalid_text(&provisioner.path, &name, problem)),
        );
    }
    let parameters = new.child("parameters");
    if parameters.len() > PARAMETERS {
        errors.push(FieldError::too_long(&parameters.path, PARAMETERS));
    } else {
        let length: usize = parameters.members().map(|(key, value)| key.len() + value.text().len()).sum();
        if parameters.has("") {
            errors.push(FieldError::invalid_text(&parameters.path, "", "field can not be empty."));
        }
        if length > PARAMETERS_LENGTH {
            errors.push(FieldError::too_long(&parameters.path, PARAMETERS_LENGTH));
        }
    }
    let policy = new.child("reclaimPolicy");
    if !policy.text().is_empty() {
        policy.check_one_of(errors, &["Delete", "Retain"]);
    }
    let mode = new.child("volumeBindingMode");
    if mode.is_set() {
        mode.check_one_of(errors, &["Immediate", "WaitForFirstConsumer"]);
    } else {
        errors.push(mode.required(""));
    }
    for term in new.child("allowedTopologies").items() {
        for requirement in term.child("matchLabelExpressions").items() {
            let values = requirement.child("values");
            if values.len() == 0 {
                errors.push(values.required(""));
            }
            check_label_key(&requirement.child("key"), requirement.text_of("key"), errors);
        }
    }
    check.metadata_update();
    for name in ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] {
        check.immutable(&[name]);
    }
}
