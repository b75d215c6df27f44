//! Deployments and ReplicaSets: from a template to pods, one rollout after another. After `pkg/controller/deployment` and
//! `pkg/controller/replicaset`.

mod numbers;
mod replica_sets;
mod rollout;
mod sets;
mod status;

use std::collections::HashMap;

use tokio::time::Instant;

use super::{
    Controller, Pass,
    settled::{Controlled, Settled, uids},
};

#[derive(Default)]
pub(super) struct Deployments {
    /// When each ready pod became ready, by UID.
    ready_since: HashMap<String, Instant>,
    /// When each Deployment last made progress, by UID.
    progressed: HashMap<String, Instant>,
    rollouts: Settled,
    sets: Settled,
}

impl Controller for Deployments {
    fn act(&mut self, pass: &mut Pass<'_>) {
        let deployments = pass.list("apps", "deployments");
        let known = uids(&deployments);
        self.progressed.retain(|uid, _| known.contains(uid.as_str()));
        self.rollouts.keep(&known);
        let sets = Controlled::of(pass.list("apps", "replicasets"));
        for deployment in &deployments {
            let own = sets.candidates(deployment);
            self.rollouts.reconcile(pass, deployment, &own, |pass| {
                if rollout::sync(pass, &mut self.progressed, deployment, own.clone()).is_err() {
                    pass.retry();
                }
            });
        }
        self.sync_replica_sets(pass);
    }
}
