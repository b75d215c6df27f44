//! Validation of projected volumes.

use std::collections::BTreeSet;

use super::volume::{check_downward_file, check_file_path, check_key_to_path};
use crate::field::FieldError;
use crate::kinds::{
    cursor::{Cursor, Errors},
    selector,
};

/// The shortest and the longest lifetime of a token.
const TOKEN_SECONDS: (i64, i64) = (10 * 60, 1 << 32);

/// Validates the sources of a projected volume, except for pod certificates.
pub(super) fn check(volume: &Cursor<'_>, errors: &mut Errors) {
    let mut paths = BTreeSet::new();
    for source in volume.child("sources").items() {
        let mut found = 0;
        for name in ["secret", "configMap"] {
            let projection = source.child(name);
            if !projection.is_set() {
                continue;
            }
            found += 1;
            projection.child("name").check_present(errors);
            for item in projection.child("items").items() {
                check_key_to_path(&item, errors);
                let path = item.text_of("path");
                if !path.is_empty() && !paths.insert(path) {
                    errors.push(conflict(volume, projection.text_of("name")));
                }
            }
        }
        let downward = source.child("downwardAPI");
        found += usize::from(downward.is_set());
        for file in downward.child("items").items() {
            check_downward_file(&file.shown_at(downward.path.clone()), errors);
            let path = file.text_of("path");
            if !path.is_empty() && !paths.insert(path) {
                errors.push(conflict(volume, path));
            }
        }
        let token = source.child("serviceAccountToken");
        if token.is_set() {
            found += 1;
            check_token(volume, &token, errors);
        }
        let bundle = source.child("clusterTrustBundle");
        if bundle.is_set() {
            found += 1;
            check_trust_bundle(&bundle, errors);
            if !paths.insert(bundle.text_of("path")) {
                errors.push(conflict(volume, bundle.text_of("path")));
            }
        }
        found += usize::from(source.has("podCertificate"));
        if found > 1 {
            errors.push(source.forbidden("may not specify more than 1 volume type per source"));
        }
    }
}

fn conflict(volume: &Cursor<'_>, shown: &str) -> FieldError {
    FieldError::invalid_text(&volume.path, shown, "conflicting duplicate paths")
}

fn check_token(volume: &Cursor<'_>, token: &Cursor<'_>, errors: &mut Errors) {
    let seconds = token.child("expirationSeconds");
    if seconds.int() < TOKEN_SECONDS.0 {
        errors.push(seconds.invalid_int("may not specify a duration less than 10 minutes"));
    }
    if seconds.int() > TOKEN_SECONDS.1 {
        errors.push(seconds.invalid_int("may not specify a duration larger than 2^32 seconds"));
    }
    let path = token.child("path").shown_at(volume.path.child("path"));
    if path.text().is_empty() {
        errors.push(path.required(""));
    } else {
        check_file_path(&path, errors);
    }
}

fn check_trust_bundle(bundle: &Cursor<'_>, errors: &mut Errors) {
    let (name, signer) = (bundle.child("name"), bundle.child("signerName"));
    match (name.is_set(), signer.is_set()) {
        (true, true) => errors.push(bundle.invalid("only one of name and signerName may be used")),
        (true, false) => {
            if name.text().is_empty() {
                errors.push(name.required("must be a valid object name"));
            }
            let selector = bundle.child("labelSelector");
            if selector.is_set() {
                errors.push(selector.invalid("labelSelector must be unset if name is specified"));
            }
        }
        (false, true) => {
            if signer.text().is_empty() {
                errors.push(signer.required("must be a valid signer name"));
            }
            selector::check(&bundle.child("labelSelector"), errors);
        }
        (false, false) => errors.push(bundle.required("either name or signerName must be specified")),
    }
    let path = bundle.child("path");
    path.check_present(errors);
    check_file_path(&path, errors);
}
