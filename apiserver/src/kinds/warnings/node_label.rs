//! Warnings about deprecated node labels. After `k8s.io/kubernetes/pkg/api/node/util.go`.

use crate::kinds::{cursor::Cursor, format};

const DEPRECATED: [(&str, &str); 8] = [
    ("beta.kubernetes.io/arch", r#"deprecated since v1.14; use "kubernetes.io/arch" instead"#),
    ("beta.kubernetes.io/os", r#"deprecated since v1.14; use "kubernetes.io/os" instead"#),
    (
        "failure-domain.beta.kubernetes.io/region",
        r#"deprecated since v1.17; use "topology.kubernetes.io/region" instead"#,
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        r#"deprecated since v1.17; use "topology.kubernetes.io/zone" instead"#,
    ),
    (
        "beta.kubernetes.io/instance-type",
        r#"deprecated since v1.17; use "node.kubernetes.io/instance-type" instead"#,
    ),
    ("app.kubernetes.io/created-by", "deprecated since v1.9"),
    (
        "scheduler.alpha.kubernetes.io/preferAvoidPods",
        "deprecated since v1.22; use Taints and Tolerations instead",
    ),
    ("node-role.kubernetes.io/master", r#"use "node-role.kubernetes.io/control-plane" instead"#),
];

/// The warning about a deprecated label.
pub(super) fn deprecated(label: &str) -> Option<&'static str> {
    DEPRECATED.iter().find(|(name, _)| *name == label).map(|(_, text)| *text)
}

/// Warns of a term's deprecated labels and, in preferred terms, of invalid values.
pub(super) fn warn_of_term(term: &Cursor<'_>, checks_values: bool, warnings: &mut Vec<String>) {
    for expression in term.child("matchExpressions").items() {
        let key = expression.child("key");
        if let Some(text) = deprecated(key.text()) {
            key.warn(warnings, &format!("{} is {text}", key.text()));
        }
        for value in expression.child("values").items().filter(|_| checks_values) {
            for problem in format::label_value(value.text()) {
                value.warn(warnings, &format!("{} is invalid, {problem}", value.text()));
            }
        }
    }
}
