//! Names, with their errors joined as CRDs show them.

use crate::kinds::format;

/// The errors of a text that isn't an RFC 1035 label.
pub(super) fn dns_1035_label(text: &str) -> Option<String> {
    joined(&format::dns_1035_label(text))
}

/// The errors of a text that isn't an RFC 1123 subdomain.
pub(super) fn dns_1123_subdomain(text: &str) -> Option<String> {
    joined(&format::dns_subdomain(text))
}

fn joined(errors: &[String]) -> Option<String> {
    (!errors.is_empty()).then(|| errors.join(","))
}
