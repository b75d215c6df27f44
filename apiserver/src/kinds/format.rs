//! Formats of strings: names, labels, ports, paths. Each rule returns its violations.

use super::cursor::TextRule;

/// A format, with the server's messages.
struct Form {
    message: &'static str,
    regex: &'static str,
    examples: &'static [&'static str],
}

impl Form {
    fn broken(&self) -> String {
        let Self { message, regex, examples } = self;
        if examples.is_empty() {
            return format!("{message} (regex used for validation is '{regex}')");
        }
        let examples: Vec<_> = examples.iter().map(|example| format!("'{example}', ")).collect();
        format!("{message} (e.g. {}regex used for validation is '{regex}')", examples.join(" or "))
    }
}

const LABEL: Form = Form {
    message: "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with \
              an alphanumeric character",
    regex: "[a-z0-9]([-a-z0-9]*[a-z0-9])?",
    examples: &["my-name", "123-abc"],
};

const LABEL_1035: Form = Form {
    message: "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, \
              and end with an alphanumeric character",
    regex: "[a-z]([-a-z0-9]*[a-z0-9])?",
    examples: &["my-name", "abc-123"],
};

const SUBDOMAIN: Form = Form {
    message: "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and \
              end with an alphanumeric character",
    regex: r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*",
    examples: &["example.com"],
};

const SUBDOMAIN_WITH_UNDERSCORE: Form = Form {
    message: "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start \
              and end with an alphanumeric character",
    regex: r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*",
    examples: &["example.com"],
};

const WILDCARD_SUBDOMAIN: Form = Form {
    message: "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower \
              case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
    regex: r"\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*",
    examples: &["*.example.com"],
};

const LABEL_KEY: Form = Form {
    message: "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    regex: "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]",
    examples: &["MyName", "my.name", "123-abc"],
};

const LABEL_VALUE: Form = Form {
    message: "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and \
              end with an alphanumeric character",
    regex: "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?",
    examples: &["MyValue", "my_value", "12345"],
};

const CONFIG_MAP_KEY: Form = Form {
    message: "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    regex: "[-._a-zA-Z0-9]+",
    examples: &["key.name", "KEY_NAME", "key-name"],
};

const PERCENT: Form = Form {
    message: "a valid percent string must be a numeric string followed by an ending '%'",
    regex: "[0-9]+%",
    examples: &["1%", "93%"],
};

const HTTP_HEADER: Form = Form {
    message: "a valid HTTP header must consist of alphanumeric characters or '-'",
    regex: "[-A-Za-z0-9]+",
    examples: &["X-Header-Name"],
};

const HTTP_PATH: Form =
    Form { message: "Invalid path", regex: r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+", examples: &[] };

const CONDITION_REASON: Form = Form {
    message: "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters \
              or '_,:', and must end with an alphanumeric character or '_'",
    regex: "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?",
    examples: &["my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB"],
};

/// The longest DNS subdomain.
const SUBDOMAIN_LENGTH: usize = 253;

/// The longest DNS label, label name and label value.
const LABEL_LENGTH: usize = 63;

fn is_lower_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

/// Whether the first and the last byte are of one class and those between of another.
fn is_framed(text: &str, ends: fn(u8) -> bool, inside: fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    matches!((bytes.first(), bytes.last()), (Some(first), Some(last)) if ends(*first) && ends(*last))
        && bytes.iter().all(|byte| ends(*byte) || inside(*byte))
}

fn is_label(text: &str) -> bool {
    is_framed(text, is_lower_alphanumeric, |byte| byte == b'-')
}

fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_label)
}

fn is_label_key_name(text: &str) -> bool {
    is_framed(text, |byte| byte.is_ascii_alphanumeric(), |byte| matches!(byte, b'-' | b'_' | b'.'))
}

fn too_long(limit: usize) -> String {
    format!("must be no more than {limit} characters")
}

fn too_many_bytes(limit: usize) -> String {
    format!("must be no more than {limit} bytes")
}

/// The errors of a string's length and format.
fn problems(text: &str, limit: usize, holds: bool, form: &Form) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > limit {
        problems.push(too_long(limit));
    }
    if !holds {
        problems.push(form.broken());
    }
    problems
}

/// A label of a DNS name.
pub(crate) fn dns_label(text: &str) -> Vec<String> {
    if !is_label(text) && is_subdomain(text) {
        let mut found = problems(text, LABEL_LENGTH, true, &LABEL);
        found.push("must not contain dots".to_owned());
        return found;
    }
    problems(text, LABEL_LENGTH, is_label(text), &LABEL)
}

/// A label of a DNS name that starts with a letter.
pub(crate) fn dns_1035_label(text: &str) -> Vec<String> {
    let holds = is_label(text) && text.starts_with(|first: char| first.is_ascii_lowercase());
    problems(text, LABEL_LENGTH, holds, &LABEL_1035)
}

/// A DNS name.
pub(crate) fn dns_subdomain(text: &str) -> Vec<String> {
    problems(text, SUBDOMAIN_LENGTH, is_subdomain(text), &SUBDOMAIN)
}

/// A DNS name whose labels may have underscores.
pub(super) fn dns_subdomain_with_underscore(text: &str) -> Vec<String> {
    let holds = text.split('.').all(|label| {
        is_framed(label.strip_prefix('_').unwrap_or(label), is_lower_alphanumeric, |byte| {
            matches!(byte, b'-' | b'_')
        })
    });
    problems(text, SUBDOMAIN_LENGTH, holds, &SUBDOMAIN_WITH_UNDERSCORE)
}

/// A DNS subdomain after `*.`.
pub(super) fn wildcard_subdomain(text: &str) -> Vec<String> {
    let holds = text.strip_prefix("*.").is_some_and(is_subdomain);
    problems(text, SUBDOMAIN_LENGTH, holds, &WILDCARD_SUBDOMAIN)
}

/// The key of a label, with an optional DNS subdomain as a prefix.
pub(crate) fn qualified_name(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let name = match text.split('/').collect::<Vec<_>>()[..] {
        [name] => name,
        [prefix, name] => {
            if prefix.is_empty() {
                problems.push("prefix part must be non-empty".to_owned());
            } else {
                if prefix.len() > SUBDOMAIN_LENGTH {
                    problems.push(format!("prefix part {}", too_many_bytes(SUBDOMAIN_LENGTH)));
                }
                if !is_subdomain(prefix) {
                    problems.push(format!("prefix part {}", SUBDOMAIN.broken()));
                }
            }
            name
        }
        _ => {
            return vec![format!(
                "a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                LABEL_KEY.broken()
            )];
        }
    };
    if name.is_empty() {
        problems.push("name part must be non-empty".to_owned());
    } else if name.len() > LABEL_LENGTH {
        problems.push(format!("name part {}", too_many_bytes(LABEL_LENGTH)));
    }
    if !is_label_key_name(name) {
        problems.push(format!("name part {}", LABEL_KEY.broken()));
    }
    problems
}

/// The value of a label.
pub(crate) fn label_value(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > LABEL_LENGTH {
        problems.push(too_many_bytes(LABEL_LENGTH));
    }
    if !text.is_empty() && !is_label_key_name(text) {
        problems.push(LABEL_VALUE.broken());
    }
    problems
}

/// A name that is valid in a URL path.
pub(super) fn path_segment(text: &str) -> Vec<String> {
    if matches!(text, "." | "..") { vec![format!("may not be '{text}'")] } else { path_segment_prefix(text) }
}

/// A prefix of a name that is valid in a URL path.
pub(super) fn path_segment_prefix(text: &str) -> Vec<String> {
    let found = ["/", "%"].iter().filter(|part| text.contains(**part));
    found.map(|part| format!("may not contain '{part}'")).collect()
}

pub(super) fn port_number(port: i64) -> Option<&'static str> {
    (!(1..=65535).contains(&port)).then_some("must be between 1 and 65535, inclusive")
}

pub(super) fn port_name(text: &str) -> Vec<String> {
    let is_part = |byte: u8| is_lower_alphanumeric(byte) || byte == b'-';
    [
        (text.len() > 15, "must be no more than 15 characters"),
        (
            text.is_empty() || !text.bytes().all(is_part),
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
        ),
        (!text.bytes().any(|byte| byte.is_ascii_lowercase()), "must contain at least one letter (a-z)"),
        (text.contains("--"), "must not contain consecutive hyphens"),
        (text.starts_with('-') || text.ends_with('-'), "must not begin or end with a hyphen"),
    ]
    .into_iter()
    .filter(|(broken, _)| *broken)
    .map(|(_, problem)| problem.to_owned())
    .collect()
}

/// A key of a config map or secret, which is a file name as well.
pub(super) fn config_map_key(text: &str) -> Vec<String> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    let holds = !text.is_empty() && text.bytes().all(is_part);
    let mut problems = problems(text, SUBDOMAIN_LENGTH, holds, &CONFIG_MAP_KEY);
    match text {
        "." | ".." => problems.push(format!("must not be '{text}'")),
        _ if text.starts_with("..") => problems.push("must not start with '..'".to_owned()),
        _ => {}
    }
    problems
}

pub(super) fn env_name(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.is_empty() {
        problems.push("environment variable name must be non-empty".to_owned());
    }
    if !text.bytes().all(|byte| (b' '..=b'~').contains(&byte) && byte != b'=') {
        let problem = "a valid environment variable name must consist only of printable ASCII characters other than '='";
        problems.push(problem.to_owned());
    }
    problems
}

pub(super) fn percent(text: &str) -> Vec<String> {
    let holds = text
        .strip_suffix('%')
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()));
    problems(text, usize::MAX, holds, &PERCENT)
}

pub(super) fn http_header(text: &str) -> Vec<String> {
    let holds = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    problems(text, usize::MAX, holds, &HTTP_HEADER)
}

/// The path of a URL without characters that need escapes.
pub(super) fn http_path(text: &str) -> Vec<String> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&byte);
    problems(text, usize::MAX, !text.is_empty() && text.bytes().all(is_part), &HTTP_PATH)
}

pub(super) fn condition_reason(text: &str) -> Vec<String> {
    let is_end = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let holds = text.starts_with(|first: char| first.is_ascii_alphabetic())
        && is_framed(text, is_end, |byte| matches!(byte, b',' | b':'));
    problems(text, usize::MAX, holds, &CONDITION_REASON)
}

/// The format of a kind's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameRule {
    Subdomain,
    Label,
    /// Valid in a URL path.
    PathSegment,
}

impl NameRule {
    /// The rule for a name.
    pub(super) fn of_name(self) -> TextRule {
        match self {
            Self::Subdomain => dns_subdomain,
            Self::Label => dns_label,
            Self::PathSegment => path_segment,
        }
    }

    /// The errors of a `generateName`.
    pub(super) fn problems_of_prefix(self, prefix: &str) -> Vec<String> {
        if self == Self::PathSegment {
            return path_segment_prefix(prefix);
        }
        match prefix.strip_suffix('-') {
            // The server replaces the last two bytes of a name that ends with a dash.
            Some(rest) if !rest.is_empty() => {
                let kept: String = rest.chars().take(rest.chars().count() - 1).chain(['a']).collect();
                self.of_name()(&kept)
            }
            _ => self.of_name()(prefix),
        }
    }
}
