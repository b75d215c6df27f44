//! Names, with the messages of `k8s.io/apimachinery/pkg/util/validation`.

use std::sync::LazyLock;

use regex::Regex;

static LABEL: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("^[a-z]([-a-z0-9]*[a-z0-9])?$").ok());
static SUBDOMAIN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$").ok());

/// The error of a text that isn't an RFC 1035 label, joined as CRDs show it.
pub(super) fn dns_1035_label(text: &str) -> Option<String> {
    let form = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
                character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
                validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
    check(text, 63, &LABEL, form)
}

/// The error of a text that isn't an RFC 1123 subdomain.
pub(super) fn dns_1123_subdomain(text: &str) -> Option<String> {
    let form = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and \
                must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
                '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
    check(text, 253, &SUBDOMAIN, form)
}

fn check(text: &str, limit: usize, regex: &LazyLock<Option<Regex>>, form: &str) -> Option<String> {
    let mut wrong = Vec::new();
    if text.len() > limit {
        wrong.push(format!("must be no more than {limit} characters"));
    }
    if !regex.as_ref().is_some_and(|regex| regex.is_match(text)) {
        wrong.push(form.to_owned());
    }
    (!wrong.is_empty()).then(|| wrong.join(","))
}
