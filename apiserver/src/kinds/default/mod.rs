//! Conditional defaults, and fields that conversions between versions add.

mod image;
mod pod;
mod service;

use std::num::IntErrorKind;

use base64::{Engine, prelude::BASE64_STANDARD};
use baton_merge::schema::kinds::GroupVersionKind;
use baton_merge::{
    Arena,
    value::{Map, Value},
};

use self::pod::default_spec;
use super::{
    convert::without_annotations,
    edit::{change, change_each, fill, items, map, members, text},
    nodes,
};

/// The annotation with the generation of a daemon set's template.
pub(super) const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

/// Fields, by the names of their OpenAPI types, whose recorded default depends on other fields: [`default`] sets them.
pub(crate) const CONDITIONAL: &[(&str, &str)] = &[
    ("io.k8s.api.apps.v1.DaemonSetUpdateStrategy", "rollingUpdate"),
    ("io.k8s.api.apps.v1.DeploymentStrategy", "rollingUpdate"),
    ("io.k8s.api.apps.v1.RollingUpdateDaemonSet", "maxSurge"),
    ("io.k8s.api.apps.v1.RollingUpdateDaemonSet", "maxUnavailable"),
    ("io.k8s.api.apps.v1.RollingUpdateDeployment", "maxSurge"),
    ("io.k8s.api.apps.v1.RollingUpdateDeployment", "maxUnavailable"),
    ("io.k8s.api.apps.v1.RollingUpdateStatefulSetStrategy", "partition"),
    ("io.k8s.api.apps.v1.StatefulSetUpdateStrategy", "rollingUpdate"),
    ("io.k8s.api.apps.v1.StatefulSetUpdateStrategy", "type"),
    ("io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerBehavior", "scaleDown"),
    ("io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerBehavior", "scaleUp"),
    // The server's default is an empty map, which it doesn't write.
    ("io.k8s.api.core.v1.ConfigMap", "data"),
    ("io.k8s.api.core.v1.Container", "imagePullPolicy"),
    ("io.k8s.api.core.v1.EphemeralContainer", "imagePullPolicy"),
    ("io.k8s.api.core.v1.ImageVolumeSource", "pullPolicy"),
    ("io.k8s.api.core.v1.ServiceSpec", "internalTrafficPolicy"),
    ("io.k8s.api.core.v1.Volume", "emptyDir"),
    ("io.k8s.api.networking.v1.NetworkPolicySpec", "policyTypes"),
];

const ROLLING: Value<'static> = Value::String("RollingUpdate");

/// The path of the pod spec in a kind's objects.
pub(super) fn pod_spec_path(gvk: &GroupVersionKind) -> Option<&'static [&'static str]> {
    match (gvk.group.as_str(), gvk.kind.as_str()) {
        ("", "Pod") => Some(&["spec"]),
        ("", "PodTemplate") => Some(&["template", "spec"]),
        ("", "ReplicationController")
        | ("apps", "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet")
        | ("batch", "Job") => Some(&["spec", "template", "spec"]),
        ("batch", "CronJob") => Some(&["spec", "jobTemplate", "spec", "template", "spec"]),
        _ => None,
    }
}

/// Sets the conditional defaults of an object that has all plain ones.
pub(crate) fn default<'a>(arena: &'a Arena, gvk: &GroupVersionKind, object: Value<'a>) -> Value<'a> {
    let object = match pod_spec_path(gvk) {
        Some(path) => change(arena, object, path, |spec| default_spec(arena, spec)),
        None => object,
    };
    match (gvk.group.as_str(), gvk.kind.as_str()) {
        ("", "Pod") => pod::default_pod(arena, object),
        ("", "Service") => service::default_service(arena, object),
        ("", "ReplicationController") => labelled_like_template(arena, object, Some(&["spec", "selector"])),
        ("", "Namespace") => named_by_label(arena, object),
        ("", "Secret") => with_string_data(arena, object),
        ("", "LimitRange") => {
            change_each(arena, object, &["spec", "limits"], |limit| default_limit(arena, limit))
        }
        ("", "PersistentVolume") => {
            let object =
                fill(arena, object, &["spec", "persistentVolumeReclaimPolicy"], Value::String("Retain"));
            fill(arena, object, &["spec", "volumeMode"], Value::String("Filesystem"))
        }
        ("", "Node") => {
            let object = nodes::with_ranges(arena, object);
            match object.at(&["status", "capacity"]) {
                Some(capacity) => fill(arena, object, &["status", "allocatable"], capacity),
                None => object,
            }
        }
        ("apps", "Deployment") => default_strategy(
            arena,
            object,
            "strategy",
            &[("maxUnavailable", Value::String("25%")), ("maxSurge", Value::String("25%"))],
        ),
        ("apps", "DaemonSet") => {
            let object = default_strategy(
                arena,
                object,
                "updateStrategy",
                &[("maxUnavailable", Value::Int(1)), ("maxSurge", Value::Int(0))],
            );
            // Other strategies don't use these parameters, but always have both.
            let object = change(arena, object, &["spec", "updateStrategy", "rollingUpdate"], |rolling| {
                let zero = |rolling, name| fill(arena, rolling, &[name], Value::Int(0));
                ["maxUnavailable", "maxSurge"].into_iter().fold(rolling, zero)
            });
            fill(arena, object, &["metadata", "annotations", TEMPLATE_GENERATION], Value::String("0"))
        }
        ("apps", "StatefulSet") => {
            let templates = ["spec", "volumeClaimTemplates"];
            let object = change_each(arena, object, &templates, |claim| claim_of_template(arena, claim));
            default_update_strategy(arena, object)
        }
        ("batch", "Job") => default_job(arena, object),
        ("autoscaling", "HorizontalPodAutoscaler") => {
            let object = if gvk.version == "v2" { without_annotations(arena, object) } else { object };
            change(arena, object, &["spec", "behavior"], |behavior| default_behavior(arena, behavior))
        }
        ("networking.k8s.io", "NetworkPolicy") => default_policy_types(arena, object),
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => {
            change_each(arena, object, &["subjects"], |subject| default_subject(arena, subject))
        }
        _ => object,
    }
}

/// The error of an object that fits its type, but that the server's conversion can't read.
pub(crate) fn unreadable(gvk: &GroupVersionKind, object: Value<'_>) -> Option<String> {
    if gvk.kind != "DaemonSet" {
        return None;
    }
    let generation = object.at(&["metadata", "annotations", TEMPLATE_GENERATION])?.as_str()?;
    let why = match generation.parse::<i64>() {
        Ok(_) => return None,
        Err(error) if matches!(error.kind(), IntErrorKind::PosOverflow | IntErrorKind::NegOverflow) => {
            "value out of range"
        }
        Err(_) => "invalid syntax",
    };
    Some(format!("strconv.ParseInt: parsing {generation:?}: {why}"))
}

/// The default parameters of a rolling update, if the strategy is one.
fn default_strategy<'a>(
    arena: &'a Arena,
    object: Value<'a>,
    strategy: &str,
    parameters: &[(&str, Value<'a>)],
) -> Value<'a> {
    let given = object.at(&["spec", strategy, "type"]);
    if given.is_some_and(|kind| kind != ROLLING) {
        return object;
    }
    parameters.iter().fold(object, |object, (name, value)| {
        fill(arena, object, &["spec", strategy, "rollingUpdate", name], *value)
    })
}

/// The default update strategy of a stateful set. An explicit one without parameters is kept.
fn default_update_strategy<'a>(arena: &'a Arena, object: Value<'a>) -> Value<'a> {
    const STRATEGY: [&str; 2] = ["spec", "updateStrategy"];

    change(arena, fill(arena, object, &STRATEGY, map(arena, [])), &STRATEGY, |strategy| {
        let is_unset = text(strategy, &["type"]).is_empty();
        let is_rolling =
            text(strategy, &["type"]) == "RollingUpdate" && strategy.get("rollingUpdate").is_some();
        let strategy = if is_unset { strategy.with(arena, &["type"], Some(ROLLING)) } else { strategy };
        if !is_unset && !is_rolling {
            return strategy;
        }
        fill(arena, strategy, &["rollingUpdate", "partition"], Value::Int(0))
    })
}

/// Sets the object's labels and selector to its template's labels, where they are absent.
fn labelled_like_template<'a>(arena: &'a Arena, object: Value<'a>, selector: Option<&[&str]>) -> Value<'a> {
    const LABELS: [&str; 2] = ["metadata", "labels"];

    let Some(labels) = object.at(&["spec", "template", "metadata", "labels"]) else { return object };
    let paths = selector.into_iter().chain([&LABELS[..]]);
    paths.fold(object, |object, path| {
        if members(object, path).is_empty() { object.with(arena, path, Some(labels)) } else { object }
    })
}

/// A secret with its `stringData` merged into `data`.
fn with_string_data<'a>(arena: &'a Arena, secret: Value<'a>) -> Value<'a> {
    let texts = members(secret, &["stringData"]);
    let encoded = texts.iter().filter_map(|(key, value)| {
        let encoded = BASE64_STANDARD.encode(value.as_str()?);
        Some((*key, Value::String(arena.copy_text(&encoded))))
    });
    let secret = secret.with(arena, &["stringData"], None);
    if texts.is_empty() {
        return secret;
    }
    let data = members(secret, &["data"]).iter().copied().chain(encoded);
    secret.with(arena, &["data"], Some(Value::Map(Map::new(arena, data))))
}

/// A claim template with `apiVersion` and `kind`.
fn claim_of_template<'a>(arena: &'a Arena, claim: Value<'a>) -> Value<'a> {
    let claim = fill(arena, claim, &["apiVersion"], Value::String("v1"));
    fill(arena, claim, &["kind"], Value::String("PersistentVolumeClaim"))
}

fn named_by_label<'a>(arena: &'a Arena, namespace: Value<'a>) -> Value<'a> {
    match namespace.at(&["metadata", "name"]) {
        Some(name) => {
            namespace.with(arena, &["metadata", "labels", "kubernetes.io/metadata.name"], Some(name))
        }
        None => namespace,
    }
}

fn default_limit<'a>(arena: &'a Arena, limit: Value<'a>) -> Value<'a> {
    if text(limit, &["type"]) != "Container" {
        return limit;
    }
    [("max", "default"), ("default", "defaultRequest"), ("min", "defaultRequest")].iter().fold(
        limit,
        |limit, (from, to)| {
            members(limit, &[from])
                .iter()
                .fold(limit, |limit, (name, amount)| fill(arena, limit, &[to, name], *amount))
        },
    )
}

fn default_job<'a>(arena: &'a Arena, job: Value<'a>) -> Value<'a> {
    let has = |name: &str| job.at(&["spec", name]).is_some();
    let mut defaults = vec![
        ("parallelism", Value::Int(1)),
        ("backoffLimit", Value::Int(if has("backoffLimitPerIndex") { i64::from(i32::MAX) } else { 6 })),
        ("completionMode", Value::String("NonIndexed")),
        ("suspend", Value::Bool(false)),
        (
            "podReplacementPolicy",
            Value::String(if has("podFailurePolicy") { "Failed" } else { "TerminatingOrFailed" }),
        ),
        ("manualSelector", Value::Bool(false)),
    ];
    if !has("completions") && !has("parallelism") {
        defaults.push(("completions", Value::Int(1)));
    }
    let job = labelled_like_template(arena, job, None);
    defaults.into_iter().fold(job, |job, (name, value)| fill(arena, job, &["spec", name], value))
}

fn default_behavior<'a>(arena: &'a Arena, behavior: Value<'a>) -> Value<'a> {
    let policy = |kind: &'static str, value: i64| {
        map(
            arena,
            [("type", Value::String(kind)), ("value", Value::Int(value)), ("periodSeconds", Value::Int(15))],
        )
    };
    let up = super::edit::list(arena, [policy("Pods", 4), policy("Percent", 100)]);
    let down = super::edit::list(arena, [policy("Percent", 100)]);
    let behavior = fill(arena, behavior, &["scaleUp", "stabilizationWindowSeconds"], Value::Int(0));
    [("scaleUp", up), ("scaleDown", down)].into_iter().fold(behavior, |behavior, (rules, policies)| {
        let behavior = fill(arena, behavior, &[rules, "selectPolicy"], Value::String("Max"));
        fill(arena, behavior, &[rules, "policies"], policies)
    })
}

fn default_policy_types<'a>(arena: &'a Arena, policy: Value<'a>) -> Value<'a> {
    if !items(policy, &["spec", "policyTypes"]).is_empty() {
        return policy;
    }
    let has_egress = !items(policy, &["spec", "egress"]).is_empty();
    let types = [Value::String("Ingress")].into_iter().chain(has_egress.then_some(Value::String("Egress")));
    policy.with(arena, &["spec", "policyTypes"], Some(super::edit::list(arena, types)))
}

fn default_subject<'a>(arena: &'a Arena, subject: Value<'a>) -> Value<'a> {
    match text(subject, &["kind"]) {
        "User" | "Group" if text(subject, &["apiGroup"]).is_empty() => {
            subject.with(arena, &["apiGroup"], Some(Value::String("rbac.authorization.k8s.io")))
        }
        _ => subject,
    }
}
