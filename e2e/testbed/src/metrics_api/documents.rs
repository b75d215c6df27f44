//! The objects of the metrics API: its discovery, and what pods use. Pure JSON.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use serde_json::{Value, json};

/// The API's group and version.
pub(super) const GROUP: &str = "metrics.k8s.io";
pub(super) const VERSION: &str = "v1beta1";
/// Where its resources are.
pub(super) const PATH: &str = "/apis/metrics.k8s.io/v1beta1";

/// `/apis`: all groups, by which the aggregator finds out what is served.
pub(super) fn groups() -> Value {
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": [described()]})
}

/// `/apis/metrics.k8s.io`: the one group.
pub(super) fn group() -> Value {
    let mut group = described();
    group["kind"] = "APIGroup".into();
    group["apiVersion"] = "v1".into();
    group
}

fn described() -> Value {
    let version = json!({"groupVersion": format!("{GROUP}/{VERSION}"), "version": VERSION});
    json!({"name": GROUP, "versions": [version], "preferredVersion": version})
}

/// `/apis/metrics.k8s.io/v1beta1`: the one resource. Nothing can be deleted or watched, so that the garbage collector and
/// the namespace controller, which search for what can be, leave it alone.
pub(super) fn resources() -> Value {
    json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": format!("{GROUP}/{VERSION}"),
        "resources": [
            {"name": "pods", "singularName": "", "namespaced": true, "kind": "PodMetrics", "verbs": ["list"]},
        ],
    })
}

/// What the pods use that run, at this time: each load shared evenly by the pods that have its label. `load` gives the load in
/// millicores by namespace and label; pods without one are left out.
pub(super) fn pod_metrics(pods: &[Pod], now: Timestamp, load: impl Fn(&str, &str) -> Option<u32>) -> Value {
    let loaded = |pod: &Pod| {
        let namespace = pod.namespace()?;
        let mut labels = pod.labels().iter().map(|(name, value)| format!("{name}={value}"));
        labels.find_map(|label| {
            let load = load(&namespace, &label)?;
            Some((namespace.clone(), label, load))
        })
    };
    let running = pods.iter().filter(|pod| runs(pod));
    let mut running: Vec<_> = running.filter_map(|pod| Some((pod, loaded(pod)?))).collect();
    running.sort_by(|(a, whose), (b, others)| (whose, &a.metadata.name).cmp(&(others, &b.metadata.name)));
    let items: Vec<Value> = running
        .chunk_by(|(_, whose), (_, others)| whose == others)
        .flat_map(|pods| pods.iter().zip(shares(pods[0].1.2, pods.len())))
        .map(|((pod, _), share)| used(pod, share, now))
        .collect();
    json!({
        "kind": "PodMetricsList",
        "apiVersion": format!("{GROUP}/{VERSION}"),
        "metadata": {},
        "items": items,
    })
}

fn runs(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    phase == Some("Running") && pod.metadata.deletion_timestamp.is_none()
}

/// Whole millicores, which are what autoscalers count in: the first ones get what can't be divided.
fn shares(load: u32, pods: usize) -> impl Iterator<Item = u32> {
    let pods = u32::try_from(pods).unwrap_or(u32::MAX).max(1);
    (0..pods).map(move |pod| load / pods + u32::from(pod < load % pods))
}

/// All of it in the first container.
fn used(pod: &Pod, millicores: u32, now: Timestamp) -> Value {
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers).enumerate();
    let containers: Vec<Value> = containers
        .map(|(position, container)| {
            let cpu = if position == 0 { millicores } else { 0 };
            json!({"name": container.name, "usage": {"cpu": format!("{cpu}m"), "memory": "0"}})
        })
        .collect();
    json!({
        "metadata": {
            "name": pod.metadata.name,
            "namespace": pod.metadata.namespace,
            "labels": pod.metadata.labels,
        },
        "timestamp": format!("{now:.0}"),
        "window": "1s",
        "containers": containers,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(app: &str, name: &str, phase: &str) -> Pod {
        serde_json::from_value(json!({
            "metadata": {"name": name, "namespace": "shop", "labels": {"tier": "front", "app": app}},
            "spec": {"containers": [{"name": "app"}, {"name": "sidecar"}]},
            "status": {"phase": phase},
        }))
        .unwrap()
    }

    fn used_by(pods: &[Pod]) -> Vec<(String, String)> {
        let load = |namespace: &str, label: &str| match (namespace, label) {
            ("shop", "app=web") => Some(500),
            ("shop", "app=idle") => Some(0),
            _ => None,
        };
        let list = pod_metrics(pods, Timestamp::UNIX_EPOCH, load);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let item =
            |item: &Value| (text(&item["metadata"]["name"]), text(&item["containers"][0]["usage"]["cpu"]));
        list["items"].as_array().unwrap().iter().map(item).collect()
    }

    fn expected(items: &[(&str, &str)]) -> Vec<(String, String)> {
        items.iter().map(|(name, cpu)| ((*name).to_owned(), (*cpu).to_owned())).collect()
    }

    #[test]
    fn a_load_is_shared_to_the_last_millicore_by_the_pods_that_run() {
        let pods = ["c", "a", "b"].map(|name| pod("web", name, "Running"));
        assert_eq!(used_by(&pods), expected(&[("a", "167m"), ("b", "167m"), ("c", "166m")]));
        let pods = [pod("web", "a", "Running"), pod("web", "b", "Pending"), pod("idle", "c", "Running")];
        assert_eq!(used_by(&pods), expected(&[("c", "0m"), ("a", "500m")]));
    }

    #[test]
    fn pods_without_a_load_and_those_on_their_way_out_have_no_metrics() {
        let mut leaving = pod("web", "a", "Running");
        leaving.metadata.deletion_timestamp =
            Some(serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap());
        assert_eq!(used_by(&[leaving, pod("other", "b", "Running")]), []);
    }

    #[test]
    fn a_time_has_whole_seconds_and_every_container_is_there() {
        let list = pod_metrics(&[pod("web", "a", "Running")], Timestamp::UNIX_EPOCH, |_, _| Some(5));
        assert_eq!(list["items"][0]["timestamp"], "1970-01-01T00:00:00Z");
        assert_eq!(list["items"][0]["containers"][1]["usage"]["cpu"], "0m");
    }
}
