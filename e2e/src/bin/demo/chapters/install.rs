//! Baton is installed, and gets a Workload.

use baton_e2e::{Operator, OperatorOptions, may};
use baton_testbed::Cluster;
use k8s_openapi::api::authorization::v1::ResourceAttributes;
use kube::Client;

use super::node;
use crate::{
    claims::Claims,
    demo::{Demo, Ground},
    manifests::WEB,
    print,
    replicas::ready,
};

pub(crate) async fn show(cluster: Cluster, claims: &mut Claims) -> anyhow::Result<Demo> {
    print::heading(2, "Baton, and a Workload");
    let how = match &cluster {
        Cluster::Real(_) => "as `baton run`, a process with a token of its own ServiceAccount",
        Cluster::InProcess(_) => "in the same process, and sends all requests as its own ServiceAccount",
    };
    print::text(&format!(
        "Baton has a CRD, the Workload, and an operator. The operator runs {how}: its ClusterRole limits what it may do.",
    ));
    let client = cluster.admin().await?;
    let namespace = cluster.namespace("demo").await?;
    let is_given = matches!(&cluster, Cluster::Real(control_plane) if !control_plane.is_local());
    let options = OperatorOptions {
        // In a cluster of its own it serves all namespaces, for users that explore it later.
        namespace: is_given.then(|| namespace.name().to_owned()),
        home: Some(namespace.name().to_owned()),
        name: Some("baton".to_owned()),
        ..OperatorOptions::default()
    };
    let operator = Operator::start(&cluster, options).await?;

    print::gap();
    permissions(&client, operator.user(), claims).await?;
    Ok(Demo { namespace, client, ground: Ground::Played { operator, cluster } })
}

/// Claims that Baton has its permissions, and not all.
pub(super) async fn permissions(client: &Client, user: &str, claims: &mut Claims) -> anyhow::Result<()> {
    let what = |verb: &str, group: &str, resource: &str| ResourceAttributes {
        verb: Some(verb.to_owned()),
        group: Some(group.to_owned()),
        resource: Some(resource.to_owned()),
        ..ResourceAttributes::default()
    };
    let claim = format!("{user} may patch Deployments");
    claims.equal(&claim, &may(client, user, what("patch", "apps", "deployments")).await?, &true)?;
    let claim = format!("{user} may not read Secrets");
    Ok(claims.equal(&claim, &may(client, user, what("get", "", "secrets")).await?, &false)?)
}

/// The second half of the chapter: a user applies a Workload.
pub(crate) async fn apply_workload(demo: &Demo, claims: &mut Claims) -> anyhow::Result<()> {
    print::text("A user applies this Workload:");
    print::code(WEB);
    demo.apply_workload(WEB).await?;
    demo.settled(3).await?;
    print::gap();
    let pods = ready(&demo.deployment().await?);
    claims.equal("the Workload is Ready, and its Deployment has three ready pods", &pods, &3)?;
    if let Ground::Real(node) = &demo.ground {
        node::serves(demo, node, claims).await?;
    }
    demo.show_workload().await
}
