//! An API server in this process.

use std::time::{Duration, Instant};

use baton_apiserver::Readiness;
use baton_testbed::Cluster;
use jiff::Timestamp;

use super::cluster::came_up;
use crate::{claims::Claims, print};

/// How long pods take to be ready, so that a rollout is something to watch.
const START_OF_A_POD: Duration = Duration::from_secs(3);

pub(crate) async fn play(claims: &mut Claims) -> anyhow::Result<Cluster> {
    print::say(
        "On an API server in this process: its actors play pods, autoscaler and garbage collector. \
         What is stored, merged, refused and owned is what Kubernetes would do, which tests compare; no container runs, and \
         time jumps over all waiting. With --real the same story is played on a real control plane.",
    );
    print::heading(1, "An API server");
    print::say(
        "It has all of what Baton talks to: the built-in kinds, custom resources, server-side apply, watches and RBAC. It is empty \
         yet.",
    );
    let began = Instant::now();
    // Who looks around in it later has a clock of their own.
    let cluster = Cluster::in_process_at(Timestamp::now())?;
    if let Cluster::InProcess(server) = &cluster {
        server.server().pods().set_readiness(Readiness::After(START_OF_A_POD));
    }
    came_up(&cluster, began, "an API server with all its actors", claims).await?;
    Ok(cluster)
}
