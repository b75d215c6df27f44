//! The scheduler and the kubelet of one node: binds pods unless something blocks them, runs them at once, makes them ready
//! when a test says so, and stops deleted ones within their grace period. The node is a name without an object.

use std::collections::HashMap;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    Actor, Controller, Pass, Readiness,
    object::{
        self, claims_of, int, is_active, is_deleted, is_ready, items, name, namespace, text, time, uid,
    },
    settled::note,
    view::Object,
};

/// The node of all pods that no client binds.
const NODE: &str = "node";

#[derive(Default)]
pub(super) struct Kubelet {
    /// When each pod was first seen, by UID.
    since: HashMap<String, Instant>,
    /// The count of addresses given to pods.
    addresses: u16,
}

impl Controller for Kubelet {
    fn user_agent(&self) -> &'static str {
        "kubelet"
    }

    fn act(&mut self, pass: &mut Pass<'_>) {
        let pods = pass.list("", "pods");
        note(&mut self.since, &pods, pass.now);
        // Without the claims' actor, claims are never bound, and pods don't wait for them.
        let waits = pass.server.actors.is_active(Actor::Claims);
        let claims = if waits { Some(pass.list("", "persistentvolumeclaims")) } else { None };
        for pod in &pods {
            if is_deleted(pod) {
                end(pass, pod);
            } else if is_active(pod) && text(pod, "/spec/nodeName").is_empty() {
                schedule(pass, pod, claims.as_deref());
            } else if is_active(pod) {
                self.run(pass, pod);
            }
        }
    }
}

/// Binds a pod to the node, unless it is gated, of another scheduler, or waits for a claim.
fn schedule(pass: &mut Pass<'_>, pod: &Value, claims: Option<&[Object]>) {
    let is_gated = !items(pod, "/spec/schedulingGates").is_empty();
    if is_gated || text(pod, "/spec/schedulerName") != "default-scheduler" {
        return;
    }
    let obstacle = claims.and_then(|claims| claims_of(pod).find_map(|name| obstacle(pod, &name, claims)));
    let done = match obstacle {
        Some(obstacle) => {
            // The scheduler's message, up to its end.
            let message = format!("0/1 nodes are available: {obstacle}. not found");
            if object::condition(pod, "PodScheduled").is_some_and(|live| live["message"] == message.as_str())
            {
                return;
            }
            let condition = json!({
                "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message,
                "lastProbeTime": null, "lastTransitionTime": time(pass.server.now()),
                "observedGeneration": int(pod, "/metadata/generation"),
            });
            pass.patch_status(pod, &json!({"conditions": [condition]}))
        }
        None => pass.bind(pod, NODE),
    };
    if done.is_err() {
        pass.retry();
    }
}

/// Why a claim blocks a pod.
fn obstacle(pod: &Value, claim: &str, claims: &[Object]) -> Option<String> {
    let live = claims.iter().find(|live| name(live) == claim && namespace(live) == namespace(pod));
    match live {
        None => Some(format!("persistentvolumeclaim {claim:?} not found")),
        Some(live) if is_deleted(live) => Some(format!("persistentvolumeclaim {claim:?} is being deleted")),
        Some(live) if text(live, "/status/phase") != "Bound" => {
            Some("pod has unbound immediate PersistentVolumeClaims".to_owned())
        }
        Some(_) => None,
    }
}

/// Deletes a pod whose containers have stopped.
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
            if holds && object::condition(pod, kind).is_some() {
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
        // A condition that holds keeps its transition time.
        let holds = |kind: &str| object::condition(pod, kind).is_some_and(|own| own["status"] == "True");
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
