//! Starts the components in their order and waits until the cluster is of use: it responds, controllers work, and there
//! are nodes to run on.

use std::{net::Ipv4Addr, path::Path, process::Command, time::Duration};

use k8s_openapi::api::core::v1::{Node, ServiceAccount};
use kube::{
    Api, Client,
    api::{GetParams, ListParams, PostParams, Request},
};
use serde_json::json;

use super::{
    ControlPlane, Local, NODES, Options, Ports,
    components::{self, ADMIN, Layout},
};
use crate::{
    Error, Process,
    assets::{Assets, Program},
    blocking,
    folder::Folder,
    kubeconfig, net,
};

/// How long each step may take, on a machine that has a lot else to do.
const LIMIT: Duration = Duration::from_secs(90);
/// How often everything is tried again because another program took a port.
const ATTEMPTS: usize = 5;

pub(super) async fn start(options: Options) -> Result<ControlPlane, Error> {
    let programs: &[Program] =
        if options.network.is_some() { &Program::WITH_NODE } else { &Program::CONTROL_PLANE };
    let assets = blocking(|| Assets::locate(programs)).await?;
    let mut attempt = 1;
    loop {
        match start_once(&options, &assets).await {
            Err(Error::Ended { tail, .. })
                if attempt < ATTEMPTS && tail.contains("address already in use") =>
            {
                attempt += 1;
            }
            outcome => return outcome,
        }
    }
}

async fn start_once(options: &Options, assets: &Assets) -> Result<ControlPlane, Error> {
    let folder = Folder::create()?;
    let layout = Layout(folder.path());
    let [etcd, api_server] = match &options.network {
        None => net::free_ports()?,
        Some(network) => [network.forward()?, network.forward()?],
    };
    let ports = Ports { etcd, api_server };
    components::prepare(&layout, options, ports.api_server)?;
    let spawn =
        |program: Program, command: Command| spawn_component(options, program, command, &layout.log(program));

    let etcd = spawn(Program::Etcd, components::etcd(&layout, assets, ports.etcd))?;
    while_running("etcd answering", &[&etcd], async || {
        Ok(net::http_get((Ipv4Addr::LOCALHOST, ports.etcd).into(), "/health").is_ok())
    })
    .await?;

    let api_server = spawn(Program::ApiServer, components::api_server(&layout, assets, options, ports))?;
    let kubeconfig = layout.kubeconfig(ADMIN);
    let client = kubeconfig::client(&kubeconfig).await?;
    while_running("kube-apiserver being ready", &[&etcd, &api_server], async || Ok(is_ready(&client).await))
        .await?;

    let controllers =
        spawn(Program::ControllerManager, components::controller_manager(&layout, assets, options))?;
    let scheduler = spawn(Program::Scheduler, components::scheduler(&layout, assets))?;
    let mut processes = vec![scheduler, controllers, api_server, etcd];
    if options.plays_nodes() {
        processes.insert(0, spawn(Program::Kwok, components::kwok(&layout, assets))?);
        create_nodes(&client).await?;
    }
    let all: Vec<&Process> = processes.iter().collect();
    while_running("the default ServiceAccount being created", &all, async || {
        has_service_account(&client).await
    })
    .await?;
    if options.plays_nodes() {
        while_running("the nodes being Ready", &all, async || has_nodes(&client, NODES).await).await?;
    }

    let local =
        Some(Local { processes, assets: assets.clone(), options: options.clone(), ports, restarts: 0 });
    Ok(ControlPlane { local, kubeconfig, url: components::url(ports.api_server), folder })
}

/// How much a component's heap may grow, in percent, before its garbage is collected. Go's default, 100, is for machines that
/// run out of memory before they run out of processors; here it would be a quarter of the API server's time.
const GROWTH: &str = "400";
/// From how large a heap on it is collected more often than that. With thousands of Workloads, kube-apiserver would otherwise grow
/// beyond 20 GiB.
const LARGE: &str = "12GiB";

/// Starts a component as the options say. It gets no grace period.
pub(super) fn spawn_component(
    options: &Options,
    program: Program,
    command: Command,
    log: &Path,
) -> Result<Process, Error> {
    let mut command = match &options.network {
        Some(network) => network.command(&command),
        None => command,
    };
    command.env("GOGC", GROWTH).env("GOMEMLIMIT", LARGE);
    Process::spawn(program.name(), &command, log, Duration::ZERO)
}

/// Waits until `condition` holds, as long as all of `processes` run.
pub(crate) async fn while_running(
    what: &str,
    processes: &[&Process],
    mut condition: impl AsyncFnMut() -> Result<bool, Error>,
) -> Result<(), Error> {
    crate::wait_for(what, LIMIT, async || {
        processes.iter().try_for_each(|process| process.check())?;
        if condition().await? {
            return Ok(Ok(()));
        }
        let last = |process: &&Process| format!("{}:\n{}", process.log().display(), process.log_tail(10));
        Ok(Err(processes.iter().map(last).collect::<Vec<_>>().join("\n")))
    })
    .await
}

/// Errors mean "not yet": as long as the server starts, it refuses connections, and then responds with 500.
pub(super) async fn is_ready(client: &Client) -> bool {
    let Ok(request) = Request::new("").get("readyz", &GetParams::default()) else { return false };
    let answer = tokio::time::timeout(Duration::from_secs(2), client.request_text(request)).await;
    matches!(answer, Ok(Ok(_)))
}

async fn create_nodes(client: &Client) -> Result<(), Error> {
    let nodes: Api<Node> = Api::all(client.clone());
    for index in 0..NODES {
        let name = format!("node-{index}");
        let node = json!({
            "metadata": {
                "name": name,
                "labels": { "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "type": "kwok" },
            },
        });
        let node = serde_json::from_value(node).map_err(Error::parse("a node"))?;
        nodes
            .create(&PostParams::default(), &node)
            .await
            .map_err(Error::api(format!("create the node {name}")))?;
    }
    Ok(())
}

/// Without it no pod can be created: the controllers make it.
async fn has_service_account(client: &Client) -> Result<bool, Error> {
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), "default");
    let found = accounts.get_opt("default").await;
    found.map(|account| account.is_some()).map_err(Error::api("read the default ServiceAccount"))
}

/// Whether pods can be scheduled: that many nodes are Ready, and the controllers have taken away the taint that each is
/// born with.
pub(crate) async fn has_nodes(client: &Client, count: usize) -> Result<bool, Error> {
    let nodes: Api<Node> = Api::all(client.clone());
    let nodes = nodes.list(&ListParams::default()).await.map_err(Error::api("list the nodes"))?;
    let usable = |node: &Node| {
        let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
        let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
        taints.is_none_or(Vec::is_empty)
            && conditions
                .is_some_and(|all| all.iter().any(|one| one.type_ == "Ready" && one.status == "True"))
    };
    Ok(nodes.items.iter().filter(|node| usable(node)).count() == count)
}
