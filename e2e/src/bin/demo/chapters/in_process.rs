//! An API server in this process.

use std::time::{Duration, Instant};

use baton_apiserver::Readiness;
use baton_testbed::Cluster;
use jiff::Timestamp;

use super::cluster::came_up;
use crate::{claims::Claims, print};

/// How long pods take to be ready, so that a rollout takes time.
const START_OF_A_POD: Duration = Duration::from_secs(3);

pub(crate) async fn show(claims: &mut Claims) -> anyhow::Result<Cluster> {
    print::text(
        "This demo runs on an API server in this process. Actors play the pods, the autoscaler and the garbage collector. Tests \
         compare what it stores, merges and refuses with Kubernetes. No container runs, and time skips all waiting. With --real, \
         the demo runs on a real control plane.",
    );
    print::heading(1, "An API server");
    print::text(
        "It has what Baton needs: the built-in kinds, custom resources, server-side apply, watches and RBAC. It is still empty.",
    );
    let began = Instant::now();
    // A user may explore it later, with the real clock.
    let cluster = Cluster::in_process_at(Timestamp::now())?;
    if let Cluster::InProcess(server) = &cluster {
        server.server().pods().set_readiness(Readiness::After(START_OF_A_POD));
    }
    came_up(&cluster, began, "an API server with all its actors", claims).await?;
    Ok(cluster)
}
