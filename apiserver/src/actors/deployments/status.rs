//! The status of Deployments, after `pkg/controller/deployment/progress.go`.

use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::{
    numbers::{available, limit, max_unavailable},
    rollout::Rollout,
    sets::Sets,
};
use crate::actors::{
    client::Refused,
    object::{self, int, items, name, replicas, text, time, uid},
};

pub(super) const PROGRESSING: &str = "Progressing";
pub(super) const TIMED_OUT: &str = "ProgressDeadlineExceeded";
const COMPLETE: &str = "NewReplicaSetAvailable";
const FAILURE: &str = "ReplicaFailure";

/// Sets a condition and moves it to the end, unless its status and reason are unchanged.
fn set(status: &mut Value, mut condition: Value) {
    let all = items(status, "/conditions");
    let live = all.iter().find(|live| live["type"] == condition["type"]);
    if let Some(live) = live.filter(|live| live["status"] == condition["status"]) {
        if live["reason"] == condition["reason"] {
            return;
        }
        condition["lastTransitionTime"] = live["lastTransitionTime"].clone();
    }
    let others = all.iter().filter(|other| other["type"] != condition["type"]).cloned();
    status["conditions"] = others.chain([condition.clone()]).collect();
}

fn remove(status: &mut Value, kind: &str) {
    let others: Vec<_> =
        items(status, "/conditions").iter().filter(|own| own["type"] != kind).cloned().collect();
    if let Some(status) = status.as_object_mut() {
        status.remove("conditions");
        if !others.is_empty() {
            status.insert("conditions".to_owned(), others.into());
        }
    }
}

impl Rollout<'_, '_> {
    fn condition(&self, kind: &str, status: &str, reason: &str, message: &str) -> Value {
        let now = time(self.pass.server.now());
        json!({
            "type": kind, "status": status, "lastUpdateTime": now, "lastTransitionTime": now,
            "reason": reason, "message": message,
        })
    }

    /// Sets the Progressing condition. Returns whether it changed.
    pub(super) fn note_progress(&mut self, status: &str, reason: &str, message: &str) -> bool {
        let condition = self.condition(PROGRESSING, status, reason, message);
        let before = self.deployment["status"].clone();
        if !self.deployment["status"].is_object() {
            self.deployment["status"] = json!({});
        }
        set(&mut self.deployment["status"], condition);
        self.progressed.insert(uid(&self.deployment).to_owned(), self.pass.now);
        self.deployment["status"] != before
    }

    pub(super) fn progressing(&self) -> Option<&Value> {
        object::condition(&self.deployment, PROGRESSING)
    }

    /// Stores the status of the Deployment.
    pub(super) fn write_status(&mut self) -> Result<(), Refused> {
        self.deployment = self.pass.update(&self.deployment, "status")?;
        Ok(())
    }

    /// The status without the Progressing condition.
    fn calculated(&self, sets: &Sets) -> Value {
        let deployment = &self.deployment;
        let available = sets.sum(available);
        let actual = |set: &Value| int(set, "/status/replicas");
        let counts = [
            ("observedGeneration", int(deployment, "/metadata/generation")),
            ("replicas", sets.sum(actual)),
            ("updatedReplicas", sets.new.as_ref().map_or(0, actual)),
            ("readyReplicas", sets.sum(|set| int(set, "/status/readyReplicas"))),
            ("availableReplicas", available),
            ("unavailableReplicas", (sets.sum(replicas) - available).max(0)),
        ];
        let counts = counts.into_iter().filter(|(_, count)| *count != 0);
        let mut status: Map<String, Value> =
            counts.map(|(name, count)| (name.to_owned(), count.into())).collect();
        let is_unsaid = |set: &Value| {
            int(set, "/status/observedGeneration") > 0 && set.pointer("/status/terminatingReplicas").is_none()
        };
        if !sets.all().any(is_unsaid) {
            let terminating = sets.sum(|set| int(set, "/status/terminatingReplicas"));
            status.insert("terminatingReplicas".to_owned(), terminating.into());
        }
        for kept in ["collisionCount", "conditions"] {
            if let Some(value) = deployment["status"].get(kept) {
                status.insert(kept.to_owned(), value.clone());
            }
        }
        let mut status = Value::Object(status);
        let condition = if available >= replicas(deployment) - max_unavailable(deployment) {
            let message = "Deployment has minimum availability.";
            self.condition("Available", "True", "MinimumReplicasAvailable", message)
        } else {
            let message = "Deployment does not have minimum availability.";
            self.condition("Available", "False", "MinimumReplicasUnavailable", message)
        };
        set(&mut status, condition);
        status
    }

    fn store(&mut self, status: Value) -> Result<(), Refused> {
        if self.deployment["status"] == status {
            return Ok(());
        }
        self.deployment["status"] = status;
        self.write_status()
    }

    /// Updates the status without a check of progress.
    pub(super) fn sync_status(&mut self, sets: &Sets) -> Result<(), Refused> {
        let status = self.calculated(sets);
        self.store(status)
    }

    pub(super) fn is_complete(&self, status: &Value) -> bool {
        let wanted = replicas(&self.deployment);
        ["updatedReplicas", "replicas", "availableReplicas"]
            .iter()
            .all(|count| int(status, &format!("/{count}")) == wanted)
            && int(status, "/observedGeneration") >= int(&self.deployment, "/metadata/generation")
    }

    fn makes_progress(&self, status: &Value) -> bool {
        let before = &self.deployment["status"];
        let grows = |count: &str| int(status, count) > int(before, count);
        let old = |status: &Value| int(status, "/replicas") - int(status, "/updatedReplicas");
        grows("/updatedReplicas")
            || old(status) < old(before)
            || grows("/readyReplicas")
            || grows("/availableReplicas")
    }

    /// When the progress deadline of the rollout passes.
    fn deadline(&mut self) -> Option<Instant> {
        let seconds = limit(&self.deployment, "progressDeadlineSeconds")?;
        let since = *self.progressed.entry(uid(&self.deployment).to_owned()).or_insert(self.pass.now);
        since.checked_add(Duration::from_secs(seconds.unsigned_abs()))
    }

    /// Updates the status during a rollout.
    pub(super) fn sync_rollout_status(&mut self, sets: &Sets) -> Result<(), Refused> {
        let mut status = self.calculated(sets);
        let reason = self.progressing().map(|live| text(live, "/reason").to_owned());
        let has_ended = int(&status, "/replicas") == int(&status, "/updatedReplicas")
            && reason.as_deref() == Some(COMPLETE);
        match self.deadline() {
            None => remove(&mut status, PROGRESSING),
            Some(_) if has_ended => {}
            Some(deadline) => self.judge_progress(&mut status, sets, deadline),
        }
        let failures = |set: &Value| object::condition(set, FAILURE).cloned();
        let failure = sets.new.iter().find_map(failures).or_else(|| sets.old.iter().find_map(failures));
        match failure {
            Some(failure) => {
                let mut condition =
                    self.condition(FAILURE, "True", text(&failure, "/reason"), text(&failure, "/message"));
                condition["lastUpdateTime"] = failure["lastTransitionTime"].clone();
                condition["lastTransitionTime"] = failure["lastTransitionTime"].clone();
                set(&mut status, condition);
            }
            None => remove(&mut status, FAILURE),
        }
        self.store(status)
    }

    fn judge_progress(&mut self, status: &mut Value, sets: &Sets, deadline: Instant) {
        let live = self.progressing().cloned();
        let what = sets.new.as_ref().map_or_else(
            || format!("Deployment {:?}", name(&self.deployment)),
            |new| format!("ReplicaSet {:?}", name(new)),
        );
        if self.is_complete(status) {
            let message = format!("{what} has successfully progressed.");
            set(status, self.condition(PROGRESSING, "True", COMPLETE, &message));
        } else if self.makes_progress(status) {
            let message = format!("{what} is progressing.");
            let mut condition = self.condition(PROGRESSING, "True", "ReplicaSetUpdated", &message);
            // The time of progress is updated even if the reason is the same.
            if let Some(live) = live.filter(|live| live["status"] == "True") {
                condition["lastTransitionTime"] = live["lastTransitionTime"].clone();
            }
            remove(status, PROGRESSING);
            set(status, condition);
            self.progressed.insert(uid(&self.deployment).to_owned(), self.pass.now);
        } else if let Some(live) = live.filter(|live| live["reason"] != COMPLETE) {
            if live["reason"] == TIMED_OUT || deadline <= self.pass.now {
                let message = format!("{what} has timed out progressing.");
                set(status, self.condition(PROGRESSING, "False", TIMED_OUT, &message));
            } else {
                self.pass.wake_at(deadline);
            }
        }
    }
}
