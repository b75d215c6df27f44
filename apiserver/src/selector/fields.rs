//! Field selectors, after `k8s.io/apimachinery/pkg/fields`, and the selectable fields of each kind.

use std::borrow::Cow;

use baton_merge::value::Value;

use super::{SelectorError, quoted};

/// A field selector.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSelector(Vec<Term>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    label: String,
    field: Field,
    value: String,
    is_equal: bool,
}

/// The selectable fields of a kind.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SelectableFields<'s> {
    /// Those of a built-in kind in v1.
    BuiltIn { group: &'s str, kind: &'s str },
    /// Name, namespace, and the version's `selectableFields`, JSON paths such as `.spec.color`.
    Custom { is_namespaced: bool, json_paths: &'s [String] },
}

/// The value of a selectable field.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Field {
    /// The value at this path, or empty.
    At(&'static [&'static str]),
    /// As [`At`](Self::At), with a default.
    Or(&'static [&'static str], &'static str),
    /// The value at the first path or, if it is empty, at the second.
    Either(&'static [&'static str], &'static [&'static str]),
    /// The first of a pod's addresses.
    PodIp,
    /// Always empty.
    Nowhere,
    /// The value at the path that is the label.
    Custom,
}

type Labels = &'static [(&'static str, Field)];

const NAME: (&str, Field) = ("metadata.name", Field::At(&["metadata", "name"]));
const NAMESPACE: (&str, Field) = ("metadata.namespace", Field::At(&["metadata", "namespace"]));

/// The kinds with other fields than name and namespace.
const BUILT_IN: &[(&str, &str, Labels)] = &[
    ("", "Event", EVENT),
    ("", "Namespace", &[NAME, ("status.phase", Field::At(&["status", "phase"]))]),
    ("", "Node", &[NAME, ("spec.unschedulable", Field::Or(&["spec", "unschedulable"], "false"))]),
    ("", "Pod", POD),
    (
        "",
        "ReplicationController",
        &[NAME, NAMESPACE, ("status.replicas", Field::Or(&["status", "replicas"], "0"))],
    ),
    ("", "Secret", &[NAME, NAMESPACE, ("type", Field::At(&["type"]))]),
    (
        "",
        "Service",
        &[
            NAME,
            NAMESPACE,
            ("spec.clusterIP", Field::At(&["spec", "clusterIP"])),
            ("spec.type", Field::At(&["spec", "type"])),
        ],
    ),
    ("batch", "Job", &[NAME, NAMESPACE, ("status.successful", Field::Or(&["status", "succeeded"], "0"))]),
    (
        "certificates.k8s.io",
        "CertificateSigningRequest",
        &[NAME, ("spec.signerName", Field::At(&["spec", "signerName"]))],
    ),
    ("events.k8s.io", "Event", NEW_EVENT),
    (
        "resource.k8s.io",
        "ResourceSlice",
        &[
            NAME,
            ("spec.nodeName", Field::At(&["spec", "nodeName"])),
            ("spec.driver", Field::At(&["spec", "driver"])),
        ],
    ),
];

const POD: Labels = &[
    NAME,
    NAMESPACE,
    ("spec.nodeName", Field::At(&["spec", "nodeName"])),
    ("spec.host", Field::At(&["spec", "nodeName"])),
    ("spec.restartPolicy", Field::At(&["spec", "restartPolicy"])),
    ("spec.schedulerName", Field::At(&["spec", "schedulerName"])),
    ("spec.serviceAccountName", Field::At(&["spec", "serviceAccountName"])),
    ("spec.hostNetwork", Field::Or(&["spec", "hostNetwork"], "false")),
    ("status.phase", Field::At(&["status", "phase"])),
    ("status.podIP", Field::PodIp),
    // Selectable, but the server never sets it.
    ("status.podIPs", Field::Nowhere),
    ("status.nominatedNodeName", Field::At(&["status", "nominatedNodeName"])),
];

const EVENT: Labels = &[
    NAME,
    NAMESPACE,
    ("involvedObject.kind", Field::At(&["involvedObject", "kind"])),
    ("involvedObject.namespace", Field::At(&["involvedObject", "namespace"])),
    ("involvedObject.name", Field::At(&["involvedObject", "name"])),
    ("involvedObject.uid", Field::At(&["involvedObject", "uid"])),
    ("involvedObject.apiVersion", Field::At(&["involvedObject", "apiVersion"])),
    ("involvedObject.resourceVersion", Field::At(&["involvedObject", "resourceVersion"])),
    ("involvedObject.fieldPath", Field::At(&["involvedObject", "fieldPath"])),
    ("reason", Field::At(&["reason"])),
    ("reportingComponent", Field::At(&["reportingComponent"])),
    ("source", Field::Either(&["source", "component"], &["reportingComponent"])),
    ("type", Field::At(&["type"])),
];

/// Events of `events.k8s.io`, which are stored in the core group.
const NEW_EVENT: Labels = &[
    NAME,
    NAMESPACE,
    ("regarding.kind", Field::At(&["involvedObject", "kind"])),
    ("regarding.namespace", Field::At(&["involvedObject", "namespace"])),
    ("regarding.name", Field::At(&["involvedObject", "name"])),
    ("regarding.uid", Field::At(&["involvedObject", "uid"])),
    ("regarding.apiVersion", Field::At(&["involvedObject", "apiVersion"])),
    ("regarding.resourceVersion", Field::At(&["involvedObject", "resourceVersion"])),
    ("regarding.fieldPath", Field::At(&["involvedObject", "fieldPath"])),
    ("reason", Field::At(&["reason"])),
    ("reportingController", Field::At(&["reportingComponent"])),
    ("type", Field::At(&["type"])),
];

impl FieldSelector {
    /// Parses a selector of a query, `metadata.name=web,status.phase!=Running`, with `\` before a `,`, `=` or `\` of a
    /// value.
    pub(crate) fn parse(selector: &str, selectable: SelectableFields<'_>) -> Result<Self, SelectorError> {
        let mut parsed = Vec::new();
        for term in split_terms(selector).into_iter().filter(|term| !term.is_empty()) {
            let (label, is_equal, value) = split_term(term).ok_or_else(|| {
                SelectorError(format!("invalid selector: '{selector}'; can't understand '{term}'"))
            })?;
            if !label.is_empty() || !value.is_empty() {
                parsed.push((label, is_equal, unescape(value)?));
            }
        }
        let terms = parsed.into_iter().map(|(label, is_equal, value)| {
            let field = selectable.field(label)?;
            Ok(Term { label: label.to_owned(), field, value: value.into_owned(), is_equal })
        });
        Ok(Self(terms.collect::<Result<_, _>>()?))
    }

    /// Whether it matches this object, in its stored version.
    pub(crate) fn matches(&self, object: Value<'_>) -> bool {
        self.0.iter().all(|term| (term.field.value(&term.label, object) == term.value) == term.is_equal)
    }

    /// The only name that it can match, if it requires one.
    pub(crate) fn only_name(&self) -> Option<&str> {
        let name = self.0.iter().find(|term| term.is_equal && term.label == NAME.0);
        name.map(|term| term.value.as_str())
    }

    /// Whether it matches everything.
    pub(crate) fn is_everything(&self) -> bool {
        self.0.is_empty()
    }
}

impl SelectableFields<'_> {
    fn field(self, label: &str) -> Result<Field, SelectorError> {
        let refused = match self {
            Self::Custom { is_namespaced, json_paths } => {
                let is_selectable = match label {
                    "metadata.name" => true,
                    "metadata.namespace" if is_namespaced => true,
                    _ => json_paths.iter().any(|path| path.strip_prefix('.').unwrap_or(path) == label),
                };
                if is_selectable {
                    return Ok(Field::Custom);
                }
                format!("field label not supported: {label}")
            }
            Self::BuiltIn { group, kind } => {
                let own =
                    BUILT_IN.iter().find(|known| known.0 == group && known.1 == kind).map(|known| known.2);
                let known = own.unwrap_or(&[NAME, NAMESPACE]);
                if let Some((_, field)) = known.iter().find(|(known, _)| *known == label) {
                    return Ok(field.clone());
                }
                match (own, kind) {
                    (None, _) => format!(
                        r#"{} is not a known field selector: only "metadata.name", "metadata.namespace""#,
                        quoted(label)
                    ),
                    (_, "Job") => format!("field label {} not supported for Job", quoted(label)),
                    (_, "ResourceSlice") => {
                        format!("field label not supported for {group}/v1, Kind={kind}: {label}")
                    }
                    _ => format!("field label not supported: {label}"),
                }
            }
        };
        Err(SelectorError(refused))
    }
}

impl Field {
    fn value<'a>(&self, label: &str, object: Value<'a>) -> Cow<'a, str> {
        match self {
            Self::At(path) => text(object.at(path)),
            Self::Or(path, default) => {
                object.at(path).map_or(Cow::Borrowed(*default), |value| text(Some(value)))
            }
            Self::Either(first, second) => match text(object.at(first)) {
                empty if empty.is_empty() => text(object.at(second)),
                value => value,
            },
            Self::PodIp => {
                let addresses = object.at(&["status", "podIPs"]).and_then(|addresses| addresses.as_list());
                text(addresses.and_then(|addresses| addresses.first()?.get("ip")))
            }
            Self::Nowhere => Cow::Borrowed(""),
            Self::Custom => {
                let value = label.split('.').try_fold(object, |value, name| value.get(name));
                text(value)
            }
        }
    }
}

/// A scalar as Go prints it; empty if absent.
fn text(value: Option<Value<'_>>) -> Cow<'_, str> {
    match value {
        None | Some(Value::Null) => Cow::Borrowed(""),
        Some(Value::String(text)) => Cow::Borrowed(text),
        Some(other) => Cow::Owned(other.to_string()),
    }
}

/// The value that a selector requires of a field, if it is valid in a path.
pub(crate) fn exact(selector: &str, field: &str) -> Option<String> {
    let mut terms = split_terms(selector).into_iter().filter_map(split_term);
    let (_, _, value) = terms.find(|(label, is_equal, _)| *is_equal && *label == field)?;
    let value = unescape(value).ok()?;
    (!["", ".", ".."].contains(&&*value) && !value.contains(['/', '%'])).then(|| value.into_owned())
}

/// Splits at unescaped commas. The API server sorts the terms.
fn split_terms(selector: &str) -> Vec<&str> {
    let mut is_escaped = false;
    let is_end = |c| {
        let is_end = c == ',' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        is_end
    };
    let mut terms: Vec<_> = selector.split(is_end).collect();
    terms.sort_unstable();
    terms
}

/// The label, whether it must be equal, and the escaped value.
fn split_term(term: &str) -> Option<(&str, bool, &str)> {
    let at = term.char_indices().map(|(at, _)| at).find(|at| {
        let rest = term.get(*at..).unwrap_or_default();
        rest.starts_with('=') || rest.starts_with("!=")
    })?;
    let (label, rest) = term.split_at(at);
    if let Some(value) = rest.strip_prefix("!=") {
        return Some((label, false, value));
    }
    let value = rest.strip_prefix("==").or_else(|| rest.strip_prefix('='))?;
    Some((label, true, value))
}

fn unescape(value: &str) -> Result<Cow<'_, str>, SelectorError> {
    if !value.contains(['\\', ',', '=']) {
        return Ok(Cow::Borrowed(value));
    }
    let mut unescaped = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some(escaped @ ('\\' | ',' | '=')) => unescaped.push(escaped),
                other => {
                    let sequence: String = std::iter::once('\\').chain(other).collect();
                    let message = format!("invalid field selector: invalid escape sequence: {sequence}");
                    return Err(SelectorError(message));
                }
            },
            // Go prints a rune as a number.
            ',' | '=' => {
                let message =
                    format!("invalid field selector: unescaped character in value: {}", u32::from(character));
                return Err(SelectorError(message));
            }
            plain => unescaped.push(plain),
        }
    }
    Ok(Cow::Owned(unescaped))
}
