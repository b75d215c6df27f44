//! Validation of storage classes.

use std::collections::{BTreeMap, BTreeSet};

use baton_merge::value::Value;

use crate::field::FieldError;
use crate::kinds::{
    check::Check,
    cursor::{Cursor, Errors},
    format,
    metadata::check_label_key,
};

/// The limits of parameters: their count and their bytes.
const PARAMETERS: usize = 512;
const PARAMETERS_LENGTH: usize = 256 << 10;

/// Validates a storage class.
pub(in crate::kinds) fn class(check: &mut Check<'_>) {
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
    check_topologies(&new.child("allowedTopologies"), errors);
    check.metadata_update();
    for name in ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] {
        check.immutable(&[name]);
    }
}

/// Validates `allowedTopologies`.
fn check_topologies(topologies: &Cursor<'_>, errors: &mut Errors) {
    let mut known: Vec<BTreeMap<&str, BTreeSet<&str>>> = vec![];
    for term in topologies.items() {
        let mut own = BTreeMap::new();
        for requirement in term.child("matchLabelExpressions").items() {
            let (key, values) = (requirement.child("key"), requirement.child("values"));
            if values.len() == 0 {
                errors.push(values.required(""));
            }
            let mut all = BTreeSet::new();
            errors.extend(
                values.items().filter(|value| !all.insert(value.text())).map(|value| value.duplicate()),
            );
            check_label_key(&key, key.text(), errors);
            if own.insert(key.text(), all).is_some() {
                errors.push(key.duplicate());
            }
        }
        // The server also compares each term with as many empty ones as there are terms.
        let empty = if own.is_empty() { topologies.len() } else { 0 };
        let times = empty + known.iter().filter(|other| **other == own).count();
        let place = term.child("matchLabelExpressions").path;
        errors.extend((0..times).map(|_| FieldError::duplicate(&place, Value::String(""))));
        known.push(own);
    }
}
