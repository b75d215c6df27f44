//! Changes by the default admission plugins.

use baton_merge::schema::kinds::GroupVersionKind;
use baton_merge::{Arena, value::Value};

use super::edit::{fill, items, list, map, text};

/// How long a pod tolerates a node that isn't ready or reachable.
const TOLERATION_SECONDS: i64 = 300;

/// Applies the plugins to an object.
pub(super) fn admit<'a>(
    arena: &'a Arena,
    gvk: &GroupVersionKind,
    new: Value<'a>,
    old: Option<Value<'a>>,
) -> Value<'a> {
    match (gvk.group.as_str(), gvk.kind.as_str(), old) {
        ("", "Pod", None) => with_tolerations(arena, with_account(arena, new)),
        ("", "Pod", Some(old)) => {
            let kept = ["priority", "preemptionPolicy"].iter().fold(new, |pod, name| {
                match old.at(&["spec", name]) {
                    Some(value) => fill(arena, pod, &["spec", name], value),
                    None => pod,
                }
            });
            with_tolerations(arena, kept)
        }
        ("", "Node", None) => with_taint(arena, new),
        ("", "PersistentVolume", None) => with_finalizer(arena, new, "kubernetes.io/pv-protection"),
        ("", "PersistentVolumeClaim", None) => with_finalizer(arena, new, "kubernetes.io/pvc-protection"),
        ("storage.k8s.io", "VolumeAttributesClass", None) => {
            with_finalizer(arena, new, "kubernetes.io/vac-protection")
        }
        _ => new,
    }
}

/// A new node isn't ready.
fn with_taint<'a>(arena: &'a Arena, node: Value<'a>) -> Value<'a> {
    let taint =
        [("key", Value::String("node.kubernetes.io/not-ready")), ("effect", Value::String("NoSchedule"))];
    let taint = map(arena, taint);
    let taints = items(node, &["spec", "taints"]);
    if taints
        .iter()
        .any(|other| other.get("key") == taint.get("key") && other.get("effect") == taint.get("effect"))
    {
        return node;
    }
    let all = list(arena, taints.iter().copied().chain([taint]));
    node.with(arena, &["spec", "taints"], Some(all))
}

fn with_finalizer<'a>(arena: &'a Arena, object: Value<'a>, finalizer: &'static str) -> Value<'a> {
    let finalizer = Value::String(finalizer);
    let finalizers = items(object, &["metadata", "finalizers"]);
    if finalizers.contains(&finalizer) {
        return object;
    }
    let all = list(arena, finalizers.iter().copied().chain([finalizer]));
    object.with(arena, &["metadata", "finalizers"], Some(all))
}

fn with_account<'a>(arena: &'a Arena, pod: Value<'a>) -> Value<'a> {
    let is_mirror = pod.at(&["metadata", "annotations", "kubernetes.io/config.mirror"]).is_some();
    if is_mirror || !text(pod, &["spec", "serviceAccountName"]).is_empty() {
        return pod;
    }
    ["serviceAccountName", "serviceAccount"]
        .iter()
        .fold(pod, |pod, name| pod.with(arena, &["spec", name], Some(Value::String("default"))))
}

fn with_tolerations<'a>(arena: &'a Arena, pod: Value<'a>) -> Value<'a> {
    let tolerations = items(pod, &["spec", "tolerations"]);
    let missing =
        ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"].into_iter().filter(|taint| {
            !tolerations.iter().any(|toleration| {
                let key = text(*toleration, &["key"]);
                (key.is_empty() || key == *taint)
                    && matches!(text(*toleration, &["effect"]), "" | "NoExecute")
            })
        });
    let added: Vec<_> = missing
        .map(|taint| {
            map(
                arena,
                [
                    ("key", Value::String(taint)),
                    ("operator", Value::String("Exists")),
                    ("effect", Value::String("NoExecute")),
                    ("tolerationSeconds", Value::Int(TOLERATION_SECONDS)),
                ],
            )
        })
        .collect();
    if added.is_empty() {
        return pod;
    }
    let all = list(arena, tolerations.iter().copied().chain(added));
    pod.with(arena, &["spec", "tolerations"], Some(all))
}
