//! A control plane comes up.

use std::time::Instant;

use baton_testbed::{Cluster, ControlPlane};
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api, ResourceExt,
    api::{GetParams, ListParams, Request},
};

use crate::{claims::Claims, print};

pub(crate) async fn show(claims: &mut Claims) -> anyhow::Result<Cluster> {
    print::text(
        "This demo runs on a real control plane. The first run compiles it with Go, which takes minutes, unless \
         KUBEBUILDER_ASSETS names a folder with etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubectl and kwok.",
    );
    print::heading(1, "A control plane");
    print::text(
        "These are the real etcd, API server, controllers and scheduler of Kubernetes, as processes on this computer. KWOK plays \
         the nodes, so no container runs.",
    );
    let began = Instant::now();
    let cluster = ControlPlane::start().await?;
    let processes = processes(&cluster);
    let cluster = cluster.into();
    came_up(&cluster, began, &processes, claims).await?;
    nodes(&cluster, claims).await?;
    Ok(cluster)
}

/// The names of its processes.
pub(super) fn processes(cluster: &ControlPlane) -> String {
    let names: Vec<String> = cluster.processes().into_iter().rev().map(|(name, _)| name).collect();
    names.join(", ")
}

/// Reports what came up, and claims that it is ready.
pub(super) async fn came_up(
    cluster: &Cluster,
    began: Instant,
    what: &str,
    claims: &mut Claims,
) -> anyhow::Result<()> {
    let client = cluster.admin().await?;
    let version = client.apiserver_version().await?.git_version;
    print::text(&format!("Kubernetes {version} after {}: {what}.", print::seconds(began.elapsed())));
    print::gap();
    let ready = client.request_text(Request::new("").get("readyz", &GetParams::default())?).await?;
    Ok(claims.equal("it is ready", ready.trim(), "ok")?)
}

/// Claims that its nodes are ready for pods.
pub(super) async fn nodes(cluster: &Cluster, claims: &mut Claims) -> anyhow::Result<()> {
    let nodes: Api<Node> = Api::all(cluster.admin().await?);
    let nodes = nodes.list(&ListParams::default()).await?.items;
    let names = |nodes: &[Node]| nodes.iter().map(ResourceExt::name_any).collect::<Vec<_>>();
    let ready: Vec<Node> = nodes.iter().filter(|node| is_ready(node)).cloned().collect();
    let claim = format!("its nodes are Ready: {}", names(&nodes).join(", "));
    Ok(claims.equal(&claim, &names(&ready), &names(&nodes))?)
}

fn is_ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.is_some_and(|all| all.iter().any(|one| one.type_ == "Ready" && one.status == "True"))
}
