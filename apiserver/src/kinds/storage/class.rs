//! The rules for storage classes.

use crate::field::FieldError;
use crate::kinds::{check::Check, format, metadata::check_label_key};

/// The most parameters that a storage class may have, and the most bytes in them.
const PARAMETERS: usize = 512;
const PARAMETERS_LENGTH: usize = 256 << 10;

/// The rules for a storage class.
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
