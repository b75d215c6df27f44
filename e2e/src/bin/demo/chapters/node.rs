//! The beginning of the demo on a real node: the node comes up, Baton is installed there from its image, and pods respond.

use std::{collections::BTreeSet, net::SocketAddr, time::Instant};

use anyhow::Context as _;
use baton_e2e::{
    guide, image,
    installed::{HOME, USER},
};
use baton_testbed::{Node, PATIENCE, blocking, node::Image, wait_for};
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::Api;

use super::{
    cluster::{came_up, nodes, processes},
    install::permissions,
};
use crate::{
    claims::Claims,
    demo::{Demo, Ground, NAME},
    get::get,
    print,
};

/// The version that Baton's image is labelled with.
const VERSION: &str = "0.1.0";
/// The images of the demo's Workload: a web server.
const WEB_SERVERS: [&str; 3] =
    ["docker.io/library/nginx:1.29", "docker.io/library/nginx:hotfix", "docker.io/library/nginx:1.30"];
/// The image of its sidecar, which does nothing here.
const SIDECAR: &str = "docker.io/library/envoy:1.36";

/// The cluster comes up, and Baton in it.
pub(crate) async fn show(claims: &mut Claims) -> anyhow::Result<Demo> {
    print::text(
        "This demo runs on a real node with its control plane. The first run compiles them with Go, which takes minutes.",
    );
    print::heading(1, "A cluster with a real node");
    print::text(
        "This is real Kubernetes, with the kubelet, kube-proxy, containerd and runc of a node, in isolated namespaces of this \
         computer. Containers really run here. There is no registry, so nginx is a small web server made for this demo, and envoy \
         a program that does nothing.",
    );
    let began = Instant::now();
    let node = Node::start().await?;
    came_up(node.cluster(), began, &processes(node.control_plane()), claims).await?;
    nodes(node.cluster(), claims).await?;
    for image in blocking(images).await? {
        node.load(&image).await?;
    }

    print::heading(2, "Baton, and a Workload");
    print::text("Baton's image is built from the Dockerfile, and installed as in docs/install.md:");
    let baton = blocking(|| image(VERSION)).await?;
    node.load(&baton).await?;
    let install = guide::commands("docs/install.md", "Install")?.swap_remove(0);
    print::code(&format!("$ {}", install.trim_end().replace('\n', "\n$ ")));
    guide::run(node.control_plane().kubeconfig(), &install).await?;
    let client = node.control_plane().admin().await?;
    print::code(&format!("$ kubectl get pods --namespace {HOME}\n{}", get::<Pod>(&client, HOME).await?));
    let namespace = node.cluster().namespace("demo").await?;
    print::gap();
    permissions(&client, USER, claims).await?;
    Ok(Demo { namespace, client, ground: Ground::Real(node) })
}

/// Claims that each of the Workload's three pods responds through its Service.
pub(super) async fn serves(demo: &Demo, node: &Node, claims: &mut Claims) -> anyhow::Result<()> {
    let services: Api<Service> = Api::namespaced(demo.client.clone(), demo.namespace.name());
    let address = services.get(NAME).await?.spec.and_then(|spec| spec.cluster_ip);
    let address: SocketAddr = format!("{}:80", address.context("the Service has no address")?).parse()?;
    let responded = async || -> anyhow::Result<BTreeSet<String>> {
        let mut pods = BTreeSet::new();
        for _ in 0..30 {
            pods.extend(node.get(address, "/").await.ok());
        }
        Ok(pods)
    };
    wait_for("three pods responding", PATIENCE, async || {
        let pods = responded().await?;
        anyhow::Ok(if pods.len() == 3 { Ok(()) } else { Err(format!("{pods:?}")) })
    })
    .await?;
    let claim = format!("each of the three pods responds through the Service at {address}");
    Ok(claims.equal(&claim, &responded().await?.len(), &3)?)
}

fn images() -> Result<Vec<Image>, baton_testbed::Error> {
    let servers = WEB_SERVERS.iter().map(|name| Image::web_in_place_of(name));
    servers.chain([Image::pause(SIDECAR)]).collect()
}
