//! Deployments and ReplicaSets: from a template to pods, one rollout after another. After `pkg/controller/deployment` and
//! `pkg/controller/replicaset`.

mod claim;
mod numbers;
mod replica_sets;
mod rollout;
mod sets;
mod status;

use std::collections::HashMap;

use tokio::time::Instant;

use super::{Controller, Pass, object::uid};

#[derive(Default)]
pub(super) struct Deployments {
    /// Since when a pod is ready, by its UID.
    ready_since: HashMap<String, Instant>,
    /// When a Deployment was last seen to make progress, by its UID.
    progressed: HashMap<String, Instant>,
}

impl Controller for Deployments {
    fn act(&mut self, pass: &mut Pass<'_>) {
        let deployments = pass.list("apps", "deployments");
        self.progressed.retain(|known, _| deployments.iter().any(|deployment| uid(deployment) == known));
        for deployment in &deployments {
            if rollout::sync(pass, &mut self.progressed, deployment).is_err() {
                pass.retry();
            }
        }
        self.sync_replica_sets(pass);
    }
}
