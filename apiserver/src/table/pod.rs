//! Rows of pods.

use baton_merge::value::Value;
use jiff::Timestamp;
use serde_json::{Value as Json, json};

use super::access::{at, has_condition, int, is_true, list, text, text_or};
use super::age::{since, time};

/// The summary of a pod's containers.
#[derive(Default)]
struct Summary {
    ready: usize,
    reason: String,
    restarts: i64,
    last_restart: Option<Timestamp>,
}

pub(super) fn cells(pod: Value<'_>, now: Timestamp) -> Vec<Json> {
    let sidecars =
        list(pod, "spec.initContainers").iter().filter(|container| is_sidecar(**container)).count();
    let containers = list(pod, "spec.containers").len() + sidecars;
    let summary = summarize(pod);
    let restarts = match (summary.restarts, summary.last_restart) {
        (restarts @ 1.., Some(last)) => format!("{restarts} ({} ago)", since(Some(last), now)),
        (restarts, _) => restarts.to_string(),
    };
    let ip = list(pod, "status.podIPs").first().copied().unwrap_or(Value::Null);
    vec![
        json!(text(pod, "metadata.name")),
        json!(format!("{}/{containers}", summary.ready)),
        json!(summary.reason),
        json!(restarts),
        json!(since(time(at(pod, "metadata.creationTimestamp")), now)),
        json!(text_or(ip, "ip", "<none>")),
        json!(text_or(pod, "spec.nodeName", "<none>")),
        json!(text_or(pod, "status.nominatedNodeName", "<none>")),
        json!(readiness_gates(pod)),
    ]
}

/// The row conditions of a pod that has ended.
pub(super) fn row_conditions(pod: Value<'_>) -> Vec<Json> {
    let message = match text(pod, "status.phase") {
        "Succeeded" => "The pod has completed successfully.",
        "Failed" => "The pod failed.",
        _ => return Vec::new(),
    };
    let reason = text(pod, "status.phase");
    vec![json!({"type": "Completed", "status": "True", "reason": reason, "message": message})]
}

fn summarize(pod: Value<'_>) -> Summary {
    let phase = text(pod, "status.phase");
    let mut summary =
        Summary { reason: text_or(pod, "status.reason", phase).to_owned(), ..Summary::default() };
    let conditions = list(pod, "status.conditions");
    let is_gated = |condition: &Value<'_>| {
        text(*condition, "type") == "PodScheduled" && text(*condition, "reason") == "SchedulingGated"
    };
    if conditions.iter().any(is_gated) {
        "SchedulingGated".clone_into(&mut summary.reason);
    }
    let mut sidecars = Summary::default();
    let is_initializing = summary.add_init_containers(pod, &mut sidecars);
    if !is_initializing || has_condition(pod, "Initialized") {
        summary.restarts = sidecars.restarts;
        summary.last_restart = sidecars.last_restart;
        summary.add_containers(pod);
    }
    if at(pod, "metadata.deletionTimestamp").is_some() {
        if text(pod, "status.reason") == "NodeLost" {
            "Unknown".clone_into(&mut summary.reason);
        } else if !matches!(phase, "Failed" | "Succeeded") {
            "Terminating".clone_into(&mut summary.reason);
        }
    }
    summary
}

impl Summary {
    /// Adds the init containers up to the first unfinished one. Returns whether there is one.
    fn add_init_containers(&mut self, pod: Value<'_>, sidecars: &mut Self) -> bool {
        let specs = list(pod, "spec.initContainers");
        for (position, status) in list(pod, "status.initContainerStatuses").iter().copied().enumerate() {
            let spec = specs.iter().rfind(|spec| text(**spec, "name") == text(status, "name"));
            let is_sidecar = spec.is_some_and(|spec| is_sidecar(*spec));
            self.add_restarts(status);
            if is_sidecar {
                sidecars.add_restarts(status);
            }
            let terminated = at(status, "state.terminated");
            let waiting = text(status, "state.waiting.reason");
            self.reason = match terminated {
                Some(terminated) if int(terminated, "exitCode") == 0 => continue,
                _ if is_sidecar && is_true(status, "started") => {
                    self.ready += usize::from(is_true(status, "ready"));
                    continue;
                }
                Some(terminated) => format!("Init:{}", ended(terminated)),
                None if !matches!(waiting, "" | "PodInitializing") => format!("Init:{waiting}"),
                None => format!("Init:{position}/{}", specs.len()),
            };
            return true;
        }
        false
    }

    fn add_containers(&mut self, pod: Value<'_>) {
        let mut is_running = false;
        let mut error = None;
        for status in list(pod, "status.containerStatuses").iter().rev().copied() {
            self.add_restarts(status);
            match (text(status, "state.waiting.reason"), at(status, "state.terminated")) {
                ("", Some(terminated)) => {
                    self.reason = ended(terminated);
                    if int(terminated, "exitCode") != 0 {
                        error = Some(self.reason.clone());
                    }
                }
                ("", None) if is_true(status, "ready") && at(status, "state.running").is_some() => {
                    is_running = true;
                    self.ready += 1;
                }
                ("", None) => {}
                (waiting, _) => waiting.clone_into(&mut self.reason),
            }
        }
        // The pod runs while a container does.
        if self.reason == "Completed" {
            let is_ready = |condition: &Value<'_>| {
                text(*condition, "type") == "Ready" && text(*condition, "status") == "True"
            };
            if is_running && list(pod, "status.conditions").iter().any(is_ready) {
                "Running".clone_into(&mut self.reason);
            } else if let Some(error) = error {
                self.reason = error;
            } else if is_running {
                "NotReady".clone_into(&mut self.reason);
            }
        }
    }

    fn add_restarts(&mut self, status: Value<'_>) {
        self.restarts += int(status, "restartCount");
        self.last_restart = self.last_restart.max(time(at(status, "lastState.terminated.finishedAt")));
    }
}

/// The reason of a terminated container.
fn ended(terminated: Value<'_>) -> String {
    match (text(terminated, "reason"), int(terminated, "signal")) {
        ("", 0) => format!("ExitCode:{}", int(terminated, "exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

/// Whether an init container is a sidecar.
fn is_sidecar(container: Value<'_>) -> bool {
    text(container, "restartPolicy") == "Always"
}

fn readiness_gates(pod: Value<'_>) -> String {
    let gates = list(pod, "spec.readinessGates");
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    let open = gates.iter().filter(|gate| has_condition(pod, text(**gate, "conditionType"))).count();
    format!("{open}/{}", gates.len())
}
