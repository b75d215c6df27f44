//! A control plane comes up.

use std::time::Instant;

use baton_testbed::ControlPlane;
use k8s_openapi::api::core::v1::Node;
use kube::{Api, ResourceExt, api::ListParams};

use crate::{claims::Claims, print};

pub(crate) async fn play(claims: &mut Claims) -> anyhow::Result<ControlPlane> {
    print::heading(1, "A control plane");
    print::say(
        "This is the real etcd, API server, controllers and scheduler of Kubernetes, as processes on \
         this computer. Only the nodes are played, by KWOK, so that no container has to run. The first \
         time, all of it is built from source, which takes minutes.",
    );
    let began = Instant::now();
    let cluster = ControlPlane::start().await?;
    came_up(&cluster, began, claims).await?;
    Ok(cluster)
}

/// Tells what came up since then, and claims that it is usable.
pub(super) async fn came_up(
    cluster: &ControlPlane,
    began: Instant,
    claims: &mut Claims,
) -> anyhow::Result<()> {
    let nodes: Api<Node> = Api::all(cluster.admin().await?);
    let nodes = nodes.list(&ListParams::default()).await?.items;
    let names = |nodes: &[Node]| nodes.iter().map(ResourceExt::name_any).collect::<Vec<_>>();
    let ready: Vec<Node> = nodes.iter().filter(|node| is_ready(node)).cloned().collect();

    let processes: Vec<String> = cluster.processes().into_iter().rev().map(|(name, _)| name).collect();
    print::say(&format!(
        "Kubernetes {} after {}: {}.",
        cluster.version().await?,
        print::seconds(began.elapsed()),
        processes.join(", ")
    ));
    print::gap();
    let claim = format!("its nodes are Ready: {}", names(&nodes).join(", "));
    Ok(claims.equal(&claim, &names(&ready), &names(&nodes))?)
}

fn is_ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.is_some_and(|all| all.iter().any(|one| one.type_ == "Ready" && one.status == "True"))
}
