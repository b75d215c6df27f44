//! ReplicaSets: their pods and their status.

use std::{cmp::Reverse, collections::HashMap, time::Duration};

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::Deployments;
use crate::actors::{
    Pass,
    claim::claim,
    client::Refused,
    object::{
        int, is_active, is_controlled_by, is_deleted, is_ready, items, name, pod_of, replicas, selects, text,
        time, uid,
    },
    settled::{Controlled, note, uids},
    view::Object,
};

const FAILURE: &str = "ReplicaFailure";
/// The most pods that are created or deleted at once.
const BURST: usize = 500;

impl Deployments {
    pub(super) fn sync_replica_sets(&mut self, pass: &mut Pass<'_>) {
        let pods = pass.list("", "pods");
        let ready: Vec<_> = pods.iter().filter(|pod| is_ready(pod)).cloned().collect();
        note(&mut self.ready_since, &ready, pass.now);
        let sets = pass.list("apps", "replicasets");
        let pods = Controlled::of(pods);
        self.sets.keep(&uids(&sets));
        for set in &sets {
            let own = pods.candidates(set);
            self.sets.reconcile(pass, set, &own, |pass| sync(pass, &self.ready_since, set, &own));
        }
    }
}

fn sync(pass: &mut Pass<'_>, ready_since: &HashMap<String, Instant>, set: &Object, pods: &[Object]) {
    let is_terminating = |pod: &&Object| is_deleted(pod) && is_controlled_by(pod, set);
    let terminating = pods.iter().filter(is_terminating).count();
    let active = claim(pass, set, pods.iter().filter(|pod| is_active(pod)).cloned().collect());
    let failure = if is_deleted(set) { Ok(()) } else { manage(pass, set, &active) };
    if failure.is_err() {
        pass.retry();
    }
    let status = status(pass, ready_since, set, &active, terminating, failure.err().as_ref());
    if set["status"] != status {
        let mut updated = (**set).clone();
        updated["status"] = status;
        if pass.update(&updated, "status").is_err() {
            pass.retry();
        }
    }
}

fn status(
    pass: &mut Pass<'_>,
    ready_since: &HashMap<String, Instant>,
    set: &Value,
    active: &[Object],
    terminating: usize,
    failure: Option<&Refused>,
) -> Value {
    let labels = json!({"matchLabels": set.pointer("/spec/template/metadata/labels")});
    let wait = Duration::from_secs(int(set, "/spec/minReadySeconds").unsigned_abs());
    let (mut labelled, mut ready, mut available) = (0, 0, 0);
    for pod in active {
        labelled += i64::from(selects(Some(&labels), pod.pointer("/metadata/labels")));
        let Some(since) = ready_since.get(uid(pod)).filter(|_| is_ready(pod)) else { continue };
        ready += 1;
        match since.checked_add(wait) {
            Some(at) if at <= pass.now => available += 1,
            Some(at) => pass.wake_at(at),
            None => {}
        }
    }
    let counts = [
        ("fullyLabeledReplicas", labelled),
        ("readyReplicas", ready),
        ("availableReplicas", available),
        ("observedGeneration", int(set, "/metadata/generation")),
    ];
    let counts = counts.into_iter().filter(|(_, count)| *count != 0);
    let mut status: Map<String, Value> =
        counts.map(|(name, count)| (name.to_owned(), count.into())).collect();
    status.insert("replicas".to_owned(), active.len().into());
    status.insert("terminatingReplicas".to_owned(), terminating.into());
    let mut conditions = items(set, "/status/conditions").to_vec();
    let is_noted = conditions.iter().any(|condition| condition["type"] == FAILURE);
    match failure {
        Some(refused) if !is_noted => {
            let too_few = i64::try_from(active.len()).unwrap_or(i64::MAX) < replicas(set);
            conditions.push(json!({
                "type": FAILURE, "status": "True", "lastTransitionTime": time(pass.server.now()),
                "reason": if too_few { "FailedCreate" } else { "FailedDelete" },
                "message": refused.message,
            }));
        }
        None => conditions.retain(|condition| condition["type"] != FAILURE),
        Some(_) => {}
    }
    if !conditions.is_empty() {
        status.insert("conditions".to_owned(), conditions.into());
    }
    Value::Object(status)
}

/// Creates missing pods, and deletes surplus ones.
fn manage(pass: &Pass<'_>, set: &Value, active: &[Object]) -> Result<(), Refused> {
    let wanted = usize::try_from(replicas(set)).unwrap_or_default();
    let mut pod = pod_of(set, &set["spec"]["template"]);
    let base: String = name(set).chars().take(248).collect();
    pod["metadata"]["generateName"] = format!("{base}-").into();
    for _ in active.len()..wanted.min(active.len().saturating_add(BURST)) {
        match pass.create(&pod) {
            Err(refused) if !refused.in_terminating => return Err(refused),
            _ => {}
        }
    }
    let surplus = active.len().saturating_sub(wanted).min(BURST);
    let mut dispensable: Vec<_> = active.iter().collect();
    if surplus > 0 {
        dispensable.sort_by_cached_key(|pod| worth(pod));
    }
    for pod in dispensable.into_iter().take(surplus) {
        match pass.delete(pod, json!({})) {
            Err(refused) if refused.code != 404 => return Err(refused),
            _ => {}
        }
    }
    Ok(())
}

/// The sort key of pods; the first ones are deleted first.
fn worth(pod: &Value) -> impl Ord + use<> {
    let phase = match text(pod, "/status/phase") {
        "Running" => 2,
        "Unknown" => 1,
        _ => 0,
    };
    let cost = pod
        .pointer("/metadata/annotations")
        .and_then(|all| all.get("controller.kubernetes.io/pod-deletion-cost"));
    let cost: i64 = cost.and_then(Value::as_str).and_then(|text| text.parse().ok()).unwrap_or_default();
    let restarts = items(pod, "/status/containerStatuses").iter().map(|of| int(of, "/restartCount")).max();
    let since = Reverse(text(pod, "/metadata/creationTimestamp").to_owned());
    let is_placed = !text(pod, "/spec/nodeName").is_empty();
    (is_placed, phase, is_ready(pod), cost, Reverse(restarts), since, uid(pod).to_owned())
}
