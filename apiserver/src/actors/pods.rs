//! The kubelets: pods run as soon as they are there, become ready when a test says so, and end when they are deleted.

use std::collections::HashMap;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    Controller, Pass, Readiness,
    object::{int, is_active, is_deleted, is_ready, items, text, time, uid},
    settled::note,
};

#[derive(Default)]
pub(super) struct Kubelet {
    /// Since when a pod is known, by its UID.
    since: HashMap<String, Instant>,
    /// How many pods were given an address.
    addresses: u16,
}

impl Controller for Kubelet {
    fn user_agent(&self) -> &'static str {
        "kubelet"
    }

    fn act(&mut self, pass: &mut Pass<'_>) {
        let pods = pass.list("", "pods");
        note(&mut self.since, &pods, pass.now);
        for pod in &pods {
            if is_deleted(pod) {
                end(pass, pod);
            } else if is_active(pod) {
                self.run(pass, pod);
            }
        }
    }
}

/// Ends a pod whose containers were asked to stop.
fn end(pass: &mut Pass<'_>, pod: &Value) {
    if int(pod, "/metadata/deletionGracePeriodSeconds") > 0
        && pass.delete(pod, json!({"gracePeriodSeconds": 0})).is_err()
    {
        pass.retry();
    }
}

impl Kubelet {
    fn run(&mut self, pass: &mut Pass<'_>, pod: &Value) {
        let has_started = text(pod, "/status/phase") == "Running";
        if has_started && is_ready(pod) {
            return;
        }
        let since = self.since.get(uid(pod)).copied().unwrap_or(pass.now);
        let due = match pass.settings.readiness(pod.pointer("/metadata/labels")) {
            Readiness::AtOnce => Some(since),
            Readiness::After(late) => since.checked_add(late),
            Readiness::Never => None,
        };
        let becomes_ready = due.is_some_and(|due| due <= pass.now);
        if !has_started || becomes_ready {
            let status = self.status(pass, pod, becomes_ready);
            if pass.patch_status(pod, &status).is_err() {
                pass.retry();
            }
        }
        if let Some(due) = due.filter(|_| !becomes_ready) {
            pass.wake_at(due);
        }
    }

    fn status(&mut self, pass: &Pass<'_>, pod: &Value, is_ready: bool) -> Value {
        let now = time(pass.server.now());
        let names: Vec<_> = items(pod, "/spec/containers").iter().map(|of| text(of, "/name")).collect();
        let condition = |kind: &str, holds: bool| {
            let mut condition = json!({
                "type": kind, "status": if holds { "True" } else { "False" },
                "lastProbeTime": null, "lastTransitionTime": now,
            });
            condition["observedGeneration"] = int(pod, "/metadata/generation").into();
            if holds && super::object::condition(pod, kind).is_some() {
                condition["reason"] = Value::Null;
                condition["message"] = Value::Null;
            } else if !holds {
                condition["reason"] = "ContainersNotReady".into();
                condition["message"] =
                    format!("containers with unready status: [{}]", names.join(" ")).into();
            }
            condition
        };
        let conditions = [
            ("PodReadyToStartContainers", true),
            ("Initialized", true),
            ("Ready", is_ready),
            ("ContainersReady", is_ready),
            ("PodScheduled", true),
        ];
        // Those that hold already do so since they began to.
        let holds =
            |kind: &str| super::object::condition(pod, kind).is_some_and(|own| own["status"] == "True");
        let changed = conditions.into_iter().filter(|(kind, _)| !holds(kind));
        let conditions: Vec<_> = changed.map(|(kind, holds)| condition(kind, holds)).collect();
        let containers: Vec<_> = items(pod, "/spec/containers")
            .iter()
            .map(|container| {
                json!({
                    "name": container["name"], "image": container["image"], "imageID": container["image"],
                    "containerID": format!("containerd://{}-{}", uid(pod), text(container, "/name")),
                    "ready": is_ready, "started": true, "restartCount": 0, "lastState": {},
                    "state": {"running": {"startedAt": now}},
                })
            })
            .collect();
        let mut status = json!({
            "observedGeneration": int(pod, "/metadata/generation"), "phase": "Running",
            "conditions": conditions, "containerStatuses": containers,
        });
        if text(pod, "/status/podIP").is_empty() {
            self.addresses = self.addresses.wrapping_add(1);
            let [high, low] = self.addresses.to_be_bytes();
            let address = format!("10.244.{high}.{low}");
            status["podIPs"] = json!([{"ip": address}]);
            status["podIP"] = address.into();
            status["startTime"] = now;
        }
        status
    }
}
