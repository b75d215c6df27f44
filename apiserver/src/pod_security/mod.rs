//! Pod Security: admission of pods by the labels of their namespace. After `k8s.io/pod-security-admission`.
//!
//! `enforce` refuses a pod; `warn` warns of a pod or a template. `audit` would only annotate the audit log, which has no
//! annotations here.

mod checks;

use std::{collections::BTreeMap, fmt};

use baton_merge::value;
use serde_json::Value;

use self::checks::{Pod, violations};
use crate::{
    actors::object::text,
    registry::Resource,
    server::{RequestTarget, Server},
    status::Failure,
    store::{Key, Range},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Privileged,
    Baseline,
    Restricted,
}

/// A level of a minor version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Standard {
    level: Level,
    /// None for the latest.
    minor: Option<u32>,
}

impl fmt::Display for Standard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::Privileged => "privileged",
            Level::Baseline => "baseline",
            Level::Restricted => "restricted",
        };
        match self.minor {
            Some(minor) => write!(f, "{level}:v1.{minor}"),
            None => write!(f, "{level}:latest"),
        }
    }
}

/// The standards that a namespace enforces and warns by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Policy {
    enforce: Standard,
    warn: Standard,
}

impl Policy {
    fn of(namespace: &Value) -> Self {
        let label = |name: &str| {
            namespace["metadata"]["labels"][format!("pod-security.kubernetes.io/{name}")].as_str()
        };
        let level = |mode: &str| label(mode).map(level_named);
        let minor = |mode: &str| {
            label(&format!("{mode}-version"))?.strip_prefix("v1.").and_then(|minor| minor.parse().ok())
        };
        // Invalid labels enforce the strictest level, and don't warn.
        let enforce = Standard {
            level: level("enforce").map_or(Level::Privileged, |level| level.unwrap_or(Level::Restricted)),
            minor: minor("enforce"),
        };
        let enforced = level("enforce").flatten();
        let warn = match level("warn") {
            Some(level) => Standard { level: level.unwrap_or(Level::Privileged), minor: minor("warn") },
            None => Standard {
                level: enforced.unwrap_or(Level::Privileged),
                minor: if label("warn-version").is_some() { minor("warn") } else { enforce.minor },
            },
        };
        Self { enforce, warn }
    }
}

fn level_named(name: &str) -> Option<Level> {
    match name {
        "privileged" => Some(Level::Privileged),
        "baseline" => Some(Level::Baseline),
        "restricted" => Some(Level::Restricted),
        _ => None,
    }
}

/// Refuses a pod that its namespace doesn't allow. Returns the warnings.
pub(crate) fn admit(
    server: &Server,
    target: &RequestTarget,
    new: value::Value<'_>,
    old: Option<value::Value<'_>>,
) -> Result<Vec<String>, Failure> {
    let resource = &target.resource;
    let is_pod = resource.is("", "Pod");
    let is_checked = match target.subresource.as_str() {
        "" => is_pod || resource.is("", "Namespace") && old.is_some() || template_of(resource).is_some(),
        "ephemeralcontainers" | "resize" => is_pod,
        _ => false,
    };
    if !is_checked {
        return Ok(Vec::new());
    }
    if resource.is("", "Namespace") {
        return Ok(old.map_or_else(Vec::new, |old| relabelled(server, &new.to_json(), &old.to_json())));
    }
    let key = Key { namespace: String::new(), name: target.namespace.clone() };
    let labelled = server.store.get("namespaces", &key);
    // The fast path: nearly all namespaces lack the label.
    let labelled = labelled.filter(|record| record.text().contains("\"pod-security.kubernetes.io/"));
    let namespace: Option<Value> = labelled.and_then(|record| serde_json::from_str(record.text()).ok());
    let Some(policy) = namespace.as_ref().map(Policy::of) else { return Ok(Vec::new()) };
    let new = new.to_json();
    if is_pod {
        if old.is_some_and(|old| !changes_images(&new, &old.to_json())) {
            return Ok(Vec::new());
        }
        if let Some(forbidden) = forbidden(policy.enforce, &new) {
            let why = format!("violates PodSecurity \"{}\": {forbidden}", policy.enforce);
            return Err(Failure::forbidden(resource, &target.name, &why));
        }
    }
    let Some(checked) = template_of(resource).map_or(Some(&new), |path| new.pointer(path)) else {
        return Ok(Vec::new());
    };
    let warned = forbidden(policy.warn, checked);
    Ok(warned.map(|of| format!("would violate PodSecurity \"{}\": {of}", policy.warn)).into_iter().collect())
}

/// The path of a workload's pod template.
fn template_of(resource: &Resource) -> Option<&'static str> {
    match (resource.gvk.group.as_str(), resource.gvk.kind.as_str()) {
        ("", "PodTemplate") => Some("/template"),
        ("", "ReplicationController")
        | ("apps", "ReplicaSet" | "Deployment" | "StatefulSet" | "DaemonSet")
        | ("batch", "Job") => Some("/spec/template"),
        ("batch", "CronJob") => Some("/spec/jobTemplate/spec/template"),
        _ => None,
    }
}

fn pod(object: &Value) -> Pod<'_> {
    Pod { metadata: &object["metadata"], spec: &object["spec"] }
}

/// The message about a pod's violations of a standard.
fn forbidden(standard: Standard, object: &Value) -> Option<String> {
    let all = violations(standard, pod(object)).into_iter();
    let all: Vec<_> = all.map(|violation| format!("{} ({})", violation.reason, violation.detail)).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// Whether containers or images changed: no other checked field can.
fn changes_images(new: &Value, old: &Value) -> bool {
    let images = |pod: &Value, field: &str| -> Vec<(String, String)> {
        let all = pod["spec"][field].as_array().into_iter().flatten();
        all.map(|of| (text(of, "/name").to_owned(), text(of, "/image").to_owned())).collect()
    };
    ["containers", "initContainers", "ephemeralContainers"]
        .iter()
        .any(|field| images(new, field) != images(old, field))
}

/// The warnings about existing pods of a namespace that becomes stricter.
fn relabelled(server: &Server, new: &Value, old: &Value) -> Vec<String> {
    let (before, enforce) = (Policy::of(old).enforce, Policy::of(new).enforce);
    let is_laxer = enforce.minor == before.minor && enforce.level <= before.level;
    if enforce.level == Level::Privileged || is_laxer {
        return Vec::new();
    }
    let name = text(new, "/metadata/name");
    let range = Range { namespace: Some(name.to_owned()), ..Range::default() };
    let pods = server.store.list("pods", &range).map(|all| all.objects).unwrap_or_default();
    // By violation: the name of the first pod, and the count of pods.
    let mut violating: BTreeMap<String, (String, usize)> = BTreeMap::new();
    for (key, record) in pods {
        let object: Value = serde_json::from_str(record.text()).unwrap_or_default();
        let reasons: Vec<_> = violations(enforce, pod(&object)).into_iter().map(|of| of.reason).collect();
        if !reasons.is_empty() {
            violating.entry(reasons.join(", ")).or_insert((key.name, 0)).1 += 1;
        }
    }
    if violating.is_empty() {
        return Vec::new();
    }
    let warnings = violating.into_iter().map(|(reasons, (first, count))| match count {
        1 => format!("{first}: {reasons}"),
        2 => format!("{first} (and 1 other pod): {reasons}"),
        _ => format!("{first} (and {} other pods): {reasons}", count - 1),
    });
    let mut warnings: Vec<_> = warnings.collect();
    warnings.sort();
    let all = format!(
        "existing pods in namespace {name:?} violate the new PodSecurity enforce level \"{enforce}\""
    );
    warnings.insert(0, all);
    warnings
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn labelled(labels: &[(&str, &str)]) -> Policy {
        let labels =
            labels.iter().map(|(name, value)| (format!("pod-security.kubernetes.io/{name}"), json!(value)));
        Policy::of(&json!({"metadata": {"labels": labels.collect::<serde_json::Map<_, _>>()}}))
    }

    fn shown(labels: &[(&str, &str)]) -> [String; 2] {
        let policy = labelled(labels);
        [policy.enforce.to_string(), policy.warn.to_string()]
    }

    #[test]
    fn a_namespace_warns_of_what_it_refuses_unless_it_says_otherwise() {
        assert_eq!(shown(&[]), ["privileged:latest", "privileged:latest"]);
        let baseline = [("enforce", "baseline"), ("enforce-version", "v1.25")];
        assert_eq!(shown(&baseline), ["baseline:v1.25", "baseline:v1.25"]);
        let with_warn = [baseline[0], baseline[1], ("warn", "restricted"), ("warn-version", "latest")];
        assert_eq!(shown(&with_warn), ["baseline:v1.25", "restricted:latest"]);
        // Invalid labels enforce without a warning.
        assert_eq!(shown(&[("enforce", "strict")]), ["restricted:latest", "privileged:latest"]);
    }

    #[test]
    fn a_level_has_the_checks_of_its_version() {
        let pod = json!({"spec": {
            "hostUsers": false, "volumes": [{"name": "host", "hostPath": {"path": "/"}}],
            "containers": [{
                "name": "web", "livenessProbe": {"httpGet": {"host": "example.com"}},
                "securityContext": {"procMount": "Unmasked", "capabilities": {"add": ["SYS_TIME"], "drop": ["ALL"]}},
            }],
        }});
        let reasons = |level, minor| -> Vec<String> {
            let found = violations(Standard { level, minor }, self::pod(&pod)).into_iter();
            found.map(|violation| violation.reason).collect()
        };
        assert!(reasons(Level::Privileged, None).is_empty());
        let baseline = ["non-default capabilities", "hostPath volumes", "procMount"];
        assert_eq!(reasons(Level::Baseline, Some(33)), baseline);
        let baseline = ["non-default capabilities", "hostPath volumes", "probe or lifecycle host"];
        assert_eq!(reasons(Level::Baseline, None), baseline);
        assert_eq!(
            reasons(Level::Restricted, Some(18)),
            [
                "non-default capabilities",
                "procMount",
                "allowPrivilegeEscalation != false",
                "restricted volume types",
                "runAsNonRoot != true"
            ]
        );
        assert_eq!(
            reasons(Level::Restricted, None),
            [
                "probe or lifecycle host",
                "allowPrivilegeEscalation != false",
                "unrestricted capabilities",
                "procMount",
                "restricted volume types",
                "seccompProfile"
            ]
        );
    }
}
