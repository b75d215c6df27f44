//! Warnings about pods and their templates. After `k8s.io/kubernetes/pkg/api/pod/warnings.go`.

use std::collections::BTreeSet;

use super::{
    address::warn_of_address,
    container::{warn_of_amounts, warn_of_ports, warn_of_variables},
    node_label::{self, warn_of_term},
    volume::warn_of_volumes,
};
use crate::kinds::{cursor::Cursor, pod::containers};

const NO_PODS: &str = "a null labelSelector results in matching no pod";
const SECCOMP: &str = r#"non-functional in v1.27+; use the "seccompProfile" field instead"#;

const ANNOTATIONS: [(&str, &str); 3] = [
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        r#"non-functional in v1.16+; use the "priorityClassName" field instead"#,
    ),
    ("security.alpha.kubernetes.io/sysctls", r#"non-functional in v1.11+; use the "sysctls" field instead"#),
    (
        "security.alpha.kubernetes.io/unsafe-sysctls",
        r#"non-functional in v1.11+; use the "sysctls" field instead"#,
    ),
];

/// Warns of a template, whose deprecated profiles aren't converted to fields as a pod's are.
pub(super) fn warn_of_template(template: &Cursor<'_>, warnings: &mut Vec<String>) {
    warn_of_pod(template, warnings);
    let spec = template.child("spec");
    for container in containers(&spec) {
        let key = format!("container.apparmor.security.beta.kubernetes.io/{}", container.text_of("name"));
        let has_profile = container.child("securityContext").has("appArmorProfile")
            || spec.child("securityContext").has("appArmorProfile");
        if !has_profile {
            let text = r#"deprecated since v1.30; use the "appArmorProfile" field instead"#;
            warn_of_annotation(template, &key, text, warnings);
        }
    }
}

fn warn_of_annotation(pod: &Cursor<'_>, key: &str, text: &str, warnings: &mut Vec<String>) {
    let annotations = pod.at(&["metadata", "annotations"]);
    if annotations.has(key) {
        Cursor { value: None, path: annotations.path.key(key) }.warn(warnings, text);
    }
}

/// The warnings that pods and templates share.
pub(super) fn warn_of_pod(pod: &Cursor<'_>, warnings: &mut Vec<String>) {
    let spec = pod.child("spec");
    warn_of_scheduling(&spec, warnings);
    for (key, text) in ANNOTATIONS {
        warn_of_annotation(pod, key, text, warnings);
    }
    warn_of_volumes(&spec.child("volumes"), warnings);
    warn_of_duplicates(&spec.child("hostAliases"), "ip", warnings);
    let secrets = spec.child("imagePullSecrets");
    warn_of_duplicates(&secrets, "name", warnings);
    for secret in secrets.items().filter(|secret| secret.text_of("name").is_empty()) {
        secret.child("name").warn(warnings, r#"invalid empty name """#);
    }
    warn_of_amounts(&spec.child("overhead"), warnings);
    if !spec.child("securityContext").has("seccompProfile") {
        warn_of_annotation(pod, "seccomp.security.alpha.kubernetes.io/pod", SECCOMP, warnings);
    }
    let containers = containers(&spec);
    for container in &containers {
        if !container.child("securityContext").has("seccompProfile") {
            let key = format!("container.seccomp.security.alpha.kubernetes.io/{}", container.text_of("name"));
            warn_of_annotation(pod, &key, SECCOMP, warnings);
        }
        for name in ["limits", "requests"] {
            warn_of_amounts(&container.at(&["resources", name]), warnings);
        }
        warn_of_variables(&container.child("env"), warnings);
    }
    warn_of_ports(&containers, warnings);
    let period = spec.child("terminationGracePeriodSeconds");
    if period.int() < 0 {
        period.warn(warnings, "must be >= 0; negative values are invalid and will be treated as 1");
    }
    spec.at(&["dnsConfig", "nameservers"]).items().for_each(|server| warn_of_address(&server, warnings));
    spec.child("hostAliases").items().for_each(|alias| warn_of_address(&alias.child("ip"), warnings));
}

fn warn_of_duplicates(list: &Cursor<'_>, key: &str, warnings: &mut Vec<String>) {
    let mut found = BTreeSet::new();
    for value in list.items().map(|item| item.child(key)) {
        if !found.insert(value.text()) {
            value.warn(warnings, &format!("duplicate {key} {:?}", value.text()));
        }
    }
}

/// Warns of deprecated node labels and missing selectors.
fn warn_of_scheduling(spec: &Cursor<'_>, warnings: &mut Vec<String>) {
    for (label, value) in spec.child("nodeSelector").members() {
        if let Some(text) = node_label::deprecated(label) {
            value.warn(warnings, text);
        }
    }
    let affinity = spec.child("affinity");
    let (required, preferred) =
        ("requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution");
    let of_nodes = affinity.child("nodeAffinity");
    for term in of_nodes.at(&[required, "nodeSelectorTerms"]).items() {
        warn_of_term(&term, false, warnings);
    }
    for term in of_nodes.child(preferred).items() {
        warn_of_term(&term.child("preference"), true, warnings);
    }
    for constraint in spec.child("topologySpreadConstraints").items() {
        let key = constraint.child("topologyKey");
        if let Some(text) = node_label::deprecated(key.text()) {
            key.warn(warnings, &format!("{} is {text}", key.text()));
        }
        warn_of_no_selector(&constraint, warnings);
    }
    for name in ["podAffinity", "podAntiAffinity"] {
        let of_pods = affinity.child(name);
        of_pods.child(required).items().for_each(|term| warn_of_no_selector(&term, warnings));
        let preferred = of_pods.child(preferred);
        preferred.items().for_each(|term| warn_of_no_selector(&term.child("podAffinityTerm"), warnings));
    }
}

fn warn_of_no_selector(term: &Cursor<'_>, warnings: &mut Vec<String>) {
    let selector = term.child("labelSelector");
    if !selector.is_set() {
        selector.warn(warnings, NO_PODS);
    }
}
