//! Validation of label keys and values, after `k8s.io/apimachinery/pkg/api/validate/content`.

/// The longest value of a label, and the longest name in its key.
const MAX_NAME: usize = 63;
/// The longest DNS subdomain.
const MAX_SUBDOMAIN: usize = 253;

const NAME: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
                    character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
                    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
                     start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used \
                     for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and \
                         must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation \
                         is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// The errors of a label key.
pub(crate) fn label_key_errors(key: &str) -> Vec<String> {
    let (prefix, name) = match key.split_once('/') {
        None => (None, key),
        Some((_, name)) if name.contains('/') => {
            return vec![format!(
                "a valid label key {NAME} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
        Some((prefix, name)) => (Some(prefix), name),
    };
    let mut errors: Vec<String> =
        prefix.into_iter().flat_map(prefix_errors).map(|error| format!("prefix part {error}")).collect();
    if name.is_empty() {
        errors.push("name part must be non-empty".to_owned());
    } else if name.len() > MAX_NAME {
        errors.push(format!("name part {}", too_long(MAX_NAME)));
    }
    if !is_name(name) {
        errors.push(format!("name part {NAME}"));
    }
    errors
}

/// The errors of a label value.
pub(crate) fn label_value_errors(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > MAX_NAME {
        errors.push(too_long(MAX_NAME));
    }
    if !value.is_empty() && !is_name(value) {
        errors.push(VALUE.to_owned());
    }
    errors
}

fn prefix_errors(prefix: &str) -> Vec<String> {
    if prefix.is_empty() {
        return vec!["must be non-empty".to_owned()];
    }
    let mut errors = Vec::new();
    if prefix.len() > MAX_SUBDOMAIN {
        errors.push(too_long(MAX_SUBDOMAIN));
    }
    let is_lower = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    if !prefix.split('.').all(|part| is_framed(part, is_lower, |byte| is_lower(byte) || byte == b'-')) {
        errors.push(SUBDOMAIN.to_owned());
    }
    errors
}

fn is_name(name: &str) -> bool {
    let is_inside = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    is_framed(name, |byte| byte.is_ascii_alphanumeric(), is_inside)
}

/// Whether the first and the last byte are of one class and those between of another. False for an empty text.
fn is_framed(text: &str, is_end: impl Fn(u8) -> bool, is_inside: impl Fn(u8) -> bool) -> bool {
    match text.as_bytes() {
        [] => false,
        [only] => is_end(*only),
        [first, inside @ .., last] => {
            is_end(*first) && is_end(*last) && inside.iter().all(|byte| is_inside(*byte))
        }
    }
}

fn too_long(limit: usize) -> String {
    format!("must be no more than {limit} bytes")
}
