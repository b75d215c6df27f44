//! Options in the query of a request or in the body of a deletion, validated as the server does.

use std::{
    borrow::Cow,
    fmt,
    num::{IntErrorKind, ParseIntError},
};

use baton_merge::value::Value;
use serde::Deserialize;

use crate::{
    field::{FieldError, FieldPath},
    objects,
    status::Failure,
};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Parses a query as Go does, which drops parts with a semicolon or an invalid escape.
    pub(crate) fn of(query: Option<&str>) -> Self {
        let pairs = query.unwrap_or_default().split('&');
        let pairs = pairs.filter(|pair| !pair.contains(';') && has_valid_escapes(pair));
        let pairs = pairs.flat_map(|pair| form_urlencoded::parse(pair.as_bytes()));
        Self(pairs.map(|(key, value)| (key.into_owned(), value.into_owned())).collect())
    }

    /// The first value of a parameter.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.all(key).next()
    }

    pub(crate) fn all(&self, key: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(own, _)| own == key).map(|(_, value)| value.as_str())
    }

    /// As Go converts it: anything but `false` and `0` is true.
    pub(crate) fn flag(&self, key: &str) -> Option<bool> {
        self.get(key).map(|value| !matches!(value.to_ascii_lowercase().as_str(), "false" | "0"))
    }

    fn number(&self, key: &str) -> Result<Option<i64>, Failure> {
        let Some(text) = self.get(key) else { return Ok(None) };
        let bad = |error: ParseIntError| Failure::bad_request(in_go("ParseInt", text, &error));
        text.parse().map(Some).map_err(bad)
    }
}

/// As it follows a path, with the question mark; empty without parameters.
impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return Ok(());
        }
        write!(f, "?{}", form_urlencoded::Serializer::new(String::new()).extend_pairs(&self.0).finish())
    }
}

/// Whether each `%` is followed by two hex digits.
pub(crate) fn has_valid_escapes(text: &str) -> bool {
    let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_hexdigit);
    let bytes = text.as_bytes();
    let mut escapes = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'%');
    escapes.all(|(at, _)| is_digit(bytes.get(at + 1)) && is_digit(bytes.get(at + 2)))
}

/// The message of Go's `strconv` for an invalid number.
fn in_go(function: &str, text: &str, error: &ParseIntError) -> String {
    let why = match error.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
        _ => "invalid syntax",
    };
    format!("strconv.{function}: parsing {text:?}: {why}")
}

/// A client's resource version; 0 for none.
pub(crate) fn resource_version(text: &str) -> Result<u64, FieldError> {
    version_number(text)
        .map_err(|why| FieldError::invalid_text(&FieldPath::new("resourceVersion"), text, &why))
}

/// As [`resource_version`], with Go's message only.
pub(crate) fn version_number(text: &str) -> Result<u64, String> {
    if text.is_empty() {
        return Ok(0);
    }
    // Unlike Go, Rust accepts a sign. A text without digits is invalid.
    let digits = if text.starts_with('+') { "" } else { text };
    digits.parse().map_err(|error| in_go("ParseUint", text, &error))
}

/// How unknown and duplicate fields are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

/// The options of a write.
#[derive(Clone, Debug)]
pub(crate) struct WriteOptions {
    pub(crate) dry_run: bool,
    pub(crate) field_manager: String,
    pub(crate) field_validation: FieldValidation,
    pub(crate) force: bool,
}

const MAX_MANAGER: usize = 128;

impl WriteOptions {
    /// Reads the options of a kind such as `CreateOptions`.
    pub(crate) fn read(kind: &str, query: &Query, is_apply: bool, user_agent: &str) -> Result<Self, Failure> {
        let mut errors = Vec::new();
        let force = query.flag("force");
        if kind == "PatchOptions" && !is_apply && force.is_some() {
            let path = FieldPath::new("force");
            errors.push(FieldError::forbidden(&path, "may not be specified for non-apply patch"));
        }
        let manager = query.get("fieldManager").unwrap_or_default();
        let path = FieldPath::new("fieldManager");
        if manager.is_empty() && is_apply {
            errors.push(FieldError::required(&path, "is required for apply patch"));
        }
        if manager.len() > MAX_MANAGER {
            errors.push(FieldError::too_long(&path, MAX_MANAGER));
        }
        for (position, letter) in manager.char_indices().filter(|(_, letter)| !is_printable(*letter)) {
            let code = u32::from(letter);
            let detail = format!("invalid character U+{code:04X} (at position {position})");
            errors.push(FieldError::invalid_text(&path, manager, &detail));
        }
        let dry_run = dry_run(query.all("dryRun"), &mut errors);
        let field_validation = match query.get("fieldValidation").unwrap_or_default() {
            "Ignore" => FieldValidation::Ignore,
            "" | "Warn" => FieldValidation::Warn,
            "Strict" => FieldValidation::Strict,
            other => {
                let path = FieldPath::new("fieldValidation");
                let supported = ["", "Ignore", "Strict", "Warn"];
                errors.push(FieldError::not_supported(&path, Value::String(other), &supported));
                FieldValidation::Warn
            }
        };
        if !errors.is_empty() {
            return Err(Failure::invalid_options(kind, &errors));
        }
        let field_manager = if manager.is_empty() { manager_of(user_agent) } else { manager.to_owned() };
        Ok(Self { dry_run, field_manager, field_validation, force: force.unwrap_or(false) })
    }
}

fn is_printable(letter: char) -> bool {
    letter == ' ' || !letter.is_control() && !letter.is_whitespace()
}

fn dry_run<'q>(values: impl Iterator<Item = &'q str>, errors: &mut Vec<FieldError>) -> bool {
    let values: Vec<_> = values.collect();
    let path = FieldPath::new("dryRun");
    if values.iter().any(|value| *value != "All") {
        let shown: Vec<_> = values.iter().map(|value| Value::String(value)).collect();
        errors.push(FieldError::not_supported(&path, Value::List(&shown), &["All"]));
    }
    !values.is_empty()
}

/// The default field manager: the program's name at the start of the user agent.
fn manager_of(user_agent: &str) -> String {
    let name = user_agent.split('/').next().unwrap_or_default();
    let printable: String = name.chars().filter(|letter| is_printable(*letter)).take(MAX_MANAGER).collect();
    if printable.is_empty() { "unknown".to_owned() } else { printable }
}

/// The message for an unregistered kind.
pub(crate) fn unregistered(api_version: &str, kind: &str) -> String {
    format!(
        r#"no kind "{kind}" is registered for version "{api_version}" in scheme "pkg/runtime/scheme.go:111""#
    )
}

/// The options of a deletion.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DeleteOptions {
    api_version: String,
    kind: String,
    pub(crate) grace_period_seconds: Option<i64>,
    pub(crate) preconditions: Option<Preconditions>,
    pub(crate) orphan_dependents: Option<bool>,
    pub(crate) propagation_policy: Option<String>,
    dry_run: Vec<String>,
    #[serde(skip)]
    pub(crate) is_dry_run: bool,
}

/// Preconditions of a deletion.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Preconditions {
    pub(crate) uid: Option<String>,
    pub(crate) resource_version: Option<String>,
}

/// The fate of the dependents of a deleted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    Background,
    Foreground,
    Orphan,
}

impl DeleteOptions {
    /// Reads the options from the body or, without one, from the query.
    pub(crate) fn read(body: &[u8], query: &Query) -> Result<Self, Failure> {
        let text = |key| query.get(key).map(str::to_owned);
        let mut options: Self = if body.is_empty() {
            Self {
                // Unlike an empty member of a body, an empty parameter is no precondition.
                preconditions: Some(Preconditions {
                    uid: text("uid").filter(|uid| !uid.is_empty()),
                    resource_version: text("resourceVersion").filter(|version| !version.is_empty()),
                }),
                grace_period_seconds: query.number("gracePeriodSeconds")?,
                orphan_dependents: query.flag("orphanDependents"),
                propagation_policy: text("propagationPolicy"),
                dry_run: query.all("dryRun").map(str::to_owned).collect(),
                ..Self::default()
            }
        } else {
            let read: Result<Option<Self>, _> = serde_json::from_slice(body);
            let read = read.map_err(|error| {
                let why = objects::in_go(&error);
                Failure::bad_request(format!("couldn't get version/kind; json parse error: {why}"))
            });
            read?.unwrap_or_default()
        };
        if !matches!(options.kind.as_str(), "" | "DeleteOptions") {
            let Self { api_version, kind, .. } = options;
            return Err(Failure::bad_request(unregistered(&api_version, &kind)));
        }
        let mut errors = Vec::new();
        if options.orphan_dependents.is_some() && options.propagation_policy.is_some() {
            let detail = "orphanDependents and deletionPropagation cannot be both set";
            let path = FieldPath::new("propagationPolicy");
            let value = Value::String(options.propagation_policy.as_deref().unwrap_or_default());
            errors.push(FieldError::invalid(&path, value, detail));
        }
        if let Some(policy) = options.propagation_policy.as_deref()
            && !matches!(policy, "Foreground" | "Background" | "Orphan")
        {
            let path = FieldPath::new("propagationPolicy");
            let supported = ["Foreground", "Background", "Orphan", "nil"];
            errors.push(FieldError::not_supported(&path, Value::String(policy), &supported));
        }
        options.is_dry_run = dry_run(options.dry_run.iter().map(String::as_str), &mut errors);
        if errors.is_empty() { Ok(options) } else { Err(Failure::invalid_options("DeleteOptions", &errors)) }
    }

    /// The requested policy; none for the kind's default.
    pub(crate) fn propagation(&self) -> Option<Propagation> {
        match (self.propagation_policy.as_deref(), self.orphan_dependents) {
            (Some("Orphan"), _) | (None, Some(true)) => Some(Propagation::Orphan),
            (Some("Foreground"), _) => Some(Propagation::Foreground),
            (Some(_), _) | (None, Some(false)) => Some(Propagation::Background),
            (None, None) => None,
        }
    }
}

/// The options of a list or watch.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListOptions {
    pub(crate) label_selector: String,
    pub(crate) field_selector: String,
    pub(crate) watch: bool,
    pub(crate) bookmarks: bool,
    pub(crate) resource_version: String,
    pub(crate) version_match: String,
    pub(crate) timeout_seconds: Option<i64>,
    pub(crate) limit: Option<usize>,
    pub(crate) continue_at: String,
    pub(crate) initial_events: Option<bool>,
}

const EXACT: &str = "Exact";
const NOT_OLDER_THAN: &str = "NotOlderThan";

impl ListOptions {
    pub(crate) fn read(query: &Query) -> Result<Self, Failure> {
        let text = |key| Cow::from(query.get(key).unwrap_or_default()).into_owned();
        let positive = |number: i64| usize::try_from(number).ok().filter(|number| *number > 0);
        let mut options = Self {
            label_selector: text("labelSelector"),
            field_selector: text("fieldSelector"),
            watch: query.flag("watch").unwrap_or(false),
            bookmarks: query.flag("allowWatchBookmarks").unwrap_or(false),
            resource_version: text("resourceVersion"),
            version_match: text("resourceVersionMatch"),
            timeout_seconds: query.number("timeoutSeconds")?,
            limit: query.number("limit")?.and_then(positive),
            continue_at: text("continue"),
            initial_events: query.flag("sendInitialEvents"),
        };
        let is_from_now = matches!(options.resource_version.as_str(), "" | "0");
        if options.watch
            && is_from_now
            && options.initial_events.is_none()
            && options.version_match.is_empty()
        {
            options.initial_events = Some(true);
            NOT_OLDER_THAN.clone_into(&mut options.version_match);
        }
        let errors = if options.watch { options.watch_errors() } else { options.list_errors() };
        if errors.is_empty() { Ok(options) } else { Err(Failure::invalid_options("ListOptions", &errors)) }
    }

    /// Whether exactly this version is requested.
    pub(crate) fn is_exact(&self) -> bool {
        match self.version_match.as_str() {
            EXACT => true,
            NOT_OLDER_THAN => false,
            _ => self.limit.is_some(),
        }
    }

    fn list_errors(&self) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let path = FieldPath::new("resourceVersionMatch");
        let mut forbid = |path: &FieldPath, detail: &str| errors.push(FieldError::forbidden(path, detail));
        let version_match = self.version_match.as_str();
        if !version_match.is_empty() {
            if self.resource_version.is_empty() {
                forbid(&path, "resourceVersionMatch is forbidden unless resourceVersion is provided");
            }
            if !self.continue_at.is_empty() {
                forbid(&path, "resourceVersionMatch is forbidden when continue is provided");
            }
            match version_match {
                EXACT if self.resource_version == "0" => {
                    forbid(&path, "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
                }
                EXACT | NOT_OLDER_THAN => {}
                other => {
                    let supported = [EXACT, NOT_OLDER_THAN, ""];
                    errors.push(FieldError::not_supported(&path, Value::String(other), &supported));
                }
            }
        }
        if self.initial_events.is_some() {
            let path = FieldPath::new("sendInitialEvents");
            errors.push(FieldError::forbidden(&path, "sendInitialEvents is forbidden for list"));
        }
        errors
    }

    fn watch_errors(&self) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let path = FieldPath::new("resourceVersionMatch");
        let is_matched = self.version_match == NOT_OLDER_THAN;
        if self.initial_events.is_some() && !is_matched {
            let detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
            errors.push(FieldError::forbidden(&path, detail));
        }
        if self.version_match.is_empty() {
            return errors;
        }
        if self.initial_events.is_none() {
            let detail = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            errors.push(FieldError::forbidden(&path, detail));
        }
        if !is_matched {
            let value = Value::String(&self.version_match);
            errors.push(FieldError::not_supported(&path, value, &[NOT_OLDER_THAN]));
        }
        if !self.continue_at.is_empty() {
            let detail = "resourceVersionMatch is forbidden when continue is provided";
            errors.push(FieldError::forbidden(&path, detail));
        }
        errors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_read_as_go_reads_it() {
        let query = Query::of(Some("a=1&b=%zz&c=x;d=2&e=%2B+&a=3&&f"));
        assert_eq!(query.get("a"), Some("1"));
        assert_eq!(query.all("a").collect::<Vec<_>>(), ["1", "3"]);
        assert_eq!((query.get("b"), query.get("c"), query.get("d")), (None, None, None));
        assert_eq!((query.get("e"), query.get("f")), (Some("+ "), Some("")));
        assert_eq!(Query::of(Some("a=%")).get("a"), None);
    }

    #[test]
    fn an_empty_parameter_is_no_precondition_of_a_deletion() {
        let of = |query| DeleteOptions::read(&[], &Query::of(Some(query))).unwrap().preconditions.unwrap();
        let empty = of("uid=&resourceVersion");
        assert_eq!((empty.uid, empty.resource_version), (None, None));
        assert_eq!(of("uid=u1").uid.as_deref(), Some("u1"));
    }

    #[test]
    fn a_resource_version_is_a_number_without_a_sign() {
        assert_eq!(version_number(""), Ok(0));
        assert_eq!(version_number("007"), Ok(7));
        let why = |text: &str| version_number(text).unwrap_err();
        assert_eq!(why("+5"), "strconv.ParseUint: parsing \"+5\": invalid syntax");
        assert_eq!(
            why("18446744073709551616"),
            "strconv.ParseUint: parsing \"18446744073709551616\": value out of range"
        );
    }
}
