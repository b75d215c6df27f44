//! Validation of claims, volumes and storage classes.

mod class;
mod volume;

pub(super) use class::class;
pub(super) use volume::{volume, volume_status};

use baton_merge::{Arena, value::Value};

use super::{
    check::Check,
    cursor::{Cursor, Errors, IMMUTABLE},
    format,
    pod::check_amount,
    quantity::Quantity,
    selector,
};
use crate::field::FieldError;

const ACCESS_MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
const RESIZE_STATES: [&str; 5] = [
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
];
const VOLUME_MODES: [&str; 2] = ["Block", "Filesystem"];

/// The annotation that once named a claim's class.
const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

pub(super) fn check_csi_driver_name(name: &Cursor<'_>, errors: &mut Errors) {
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

fn check_access_modes(modes: &Cursor<'_>, errors: &mut Errors) {
    for mode in modes.items() {
        mode.shown_at(modes.path.clone()).check_one_of(errors, &ACCESS_MODES);
    }
    let known: Vec<_> = modes.texts().filter(|mode| ACCESS_MODES.contains(mode)).collect();
    let is_single = |mode: &&str| *mode == "ReadWriteOncePod";
    if known.iter().any(is_single) && !known.iter().all(is_single) {
        errors.push(modes.forbidden("may not use ReadWriteOncePod with other access modes"));
    }
}

/// Validates the spec of a claim or a claim template.
pub(super) fn check_claim_spec(spec: &Cursor<'_>, errors: &mut Errors) {
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
    spec.child("storageClassName").check_unless_empty(errors, format::dns_subdomain);
    spec.child("volumeMode").check_one_of(errors, &VOLUME_MODES);
    check_data_sources(spec, errors);
    spec.child("volumeAttributesClassName").check_unless_empty(errors, format::dns_subdomain);
}

fn check_data_sources(spec: &Cursor<'_>, errors: &mut Errors) {
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
        namespace.check_unless_empty(errors, format::dns_label);
    }
    if !source.is_set() || !reference.is_set() {
        return;
    }
    // The server uses the path of the spec and hides its fields.
    let conflict = |detail| FieldError::invalid_json(&spec.path, "{}", detail);
    if !reference.text_of("namespace").is_empty() {
        errors.push(conflict("may not be specified when dataSourceRef.namespace is specified"));
    } else if ["apiGroup", "kind", "name"].iter().any(|name| source.get(name) != reference.get(name)) {
        errors.push(conflict("must match dataSourceRef"));
    }
}

pub(super) fn claim(check: &mut Check<'_>) {
    check.metadata_update_and_metadata();
    let spec = check.spec();
    check_claim_spec(&spec, &mut check.errors);
    let Some(old) = check.old.clone() else { return };
    let (old_spec, errors) = (old.child("spec"), &mut check.errors);
    let annotation =
        |object: &Cursor<'_>| object.at(&["metadata", "annotations"]).text_of(CLASS_ANNOTATION).to_owned();
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
        if is_bound && spec.at(&["resources", "requests"]).is_set() {
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

pub(super) fn claim_status(check: &mut Check<'_>) {
    check.metadata_update();
    let status = check.status();
    let errors = &mut check.errors;
    for (_, amount) in status.child("capacity").members() {
        check_basic_amount(&amount, errors);
    }
    let resizing = status.child("allocatedResourceStatuses");
    for (name, state) in resizing.members() {
        check_claimed_name(name, &resizing, errors);
        if !RESIZE_STATES.contains(&state.text()) {
            // The server shows the resource's name in place of the status.
            errors.push(FieldError::not_supported(&resizing.path, Value::String(name), &RESIZE_STATES));
        }
    }
    let allocated = status.child("allocatedResources");
    for (name, amount) in allocated.members() {
        let before = errors.len();
        check_claimed_name(name, &allocated, errors);
        if errors.len() == before {
            check_basic_amount(&amount, errors);
        }
        if errors.len() == before {
            check_amount("storage", &amount, errors);
        }
    }
}

/// The name of a claimed resource: storage, or an extended resource.
fn check_claimed_name(name: &str, of: &Cursor<'_>, errors: &mut Errors) {
    let problems = format::qualified_name(name);
    let is_native = !name.contains('/') || name.contains("kubernetes.io/");
    if problems.is_empty() && is_native && name != "storage" {
        errors.push(FieldError::not_supported(&of.path, Value::String(name), &["storage"]));
    }
    errors.extend(problems.iter().map(|problem| FieldError::invalid_text(&of.path, name, problem)));
}

/// A quantity of at least zero; a negative one is shown as an integer.
fn check_basic_amount(amount: &Cursor<'_>, errors: &mut Errors) {
    let whole = amount.quantity().rounded();
    if whole < 0 {
        let detail = "must be a valid resource quantity";
        errors.push(FieldError::invalid(&amount.path, Value::Int(whole), detail));
    }
}
