//! A real Kubernetes node on this machine: the kubelet, kube-proxy, containerd and runc, beside a [`ControlPlane`], where
//! pods really run.
//!
//! All of it runs in Linux namespaces of its own: the control plane and the node in a network of their own, the node's processes
//! also in a PID namespace. So it needs root and a few packages; [`available`] checks for them.
//!
//! ```no_run
//! # async fn example() -> Result<(), baton_testbed::Error> {
//! let node = baton_testbed::Node::start().await?;
//! node.load(&baton_testbed::node::Image::web()?).await?;
//! let cluster = node.control_plane();
//! cluster.kubectl(["create", "deployment", "web", "--image", "localhost/web:1"]).await?.success()?;
//! # Ok(())
//! # }
//! ```

mod cgroups;
mod components;
mod image;
mod machine;
mod metrics_server;
mod needs;
mod usage;

use std::{
    fs,
    net::SocketAddr,
    path::PathBuf,
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use jiff::Timestamp;
use k8s_openapi::api::core::v1 as core;
use kube::{Api, Client};

use self::{cgroups::Cgroups, components::Configuration, machine::Machine};
pub use self::{
    image::{Image, Store},
    needs::{Unavailable, available},
    usage::Usage,
};
use crate::{
    Cluster, ControlPlane, Error, Kept, Metrics, Process,
    assets::{Assets, Program},
    blocking,
    control_plane::{self, Layout, NODE},
    folder::Folder,
    net,
    network::Network,
};

/// How many lines of each log are reported.
const REPORTED: usize = 10;

/// A cluster with one real node, where pods run. Dropping it ends all of it.
#[derive(Debug)]
pub struct Node {
    // Dropped in this order: the node before its control plane, and both before the network.
    running: Option<Running>,
    cgroups: Cgroups,
    cluster: Cluster,
    network: Arc<Network>,
    assets: Assets,
    /// How often the machine was switched on.
    boots: usize,
    /// For the network's log, and for a unique name.
    folder: Folder,
}

/// The parts that end when the node's machine is switched off.
#[derive(Debug)]
struct Running {
    processes: Vec<Process>,
    machine: Machine,
}

impl Node {
    /// The name of the node.
    pub const NAME: &'static str = NODE;

    /// Starts a control plane and its node, in about ten seconds once the programs are built.
    ///
    /// # Errors
    /// [`Error::NoNode`] where there can be none; or when something ends or isn't ready in time.
    pub async fn start() -> Result<Self, Error> {
        available()?;
        let parts = || Ok((Assets::locate(&Program::WITH_NODE)?, Image::pause(components::PAUSE)?));
        let (assets, pause) = blocking(parts).await?;
        let folder = Folder::create()?;
        let network = Arc::new(Network::create(&folder.path().join("network.log")).await?);
        let cluster = ControlPlane::options().network(network.clone()).start().await?.into();
        let name = folder.path().file_name().unwrap_or_default().to_string_lossy();
        let cgroups = Cgroups::create(&name)?;
        let mut node = Self { running: None, cgroups, cluster, network, assets, boots: 0, folder };
        let configuration = node.dir();
        fs::create_dir_all(&configuration).map_err(Error::file("create", &configuration))?;
        Configuration(&configuration).write(&Layout(node.control_plane().dir()), &node.cgroups.path())?;
        node.boot(Some(&pause)).await?;
        Ok(node)
    }

    /// The control plane: clients, kubectl, namespaces, the audit log.
    pub fn control_plane(&self) -> &ControlPlane {
        self.cluster.real()
    }

    /// The cluster that it is the node of.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Switches the node off and on again, as when a machine loses its power: all its processes are gone at once, the
    /// containers' too, and so is what lay in memory. The control plane goes on. Returns when the node is Ready.
    pub async fn reboot(&mut self) -> Result<(), Error> {
        self.running = None;
        self.cgroups.clear().await?;
        self.boot(None).await
    }

    /// Makes an image known to the node, so that pods can name it.
    pub async fn load(&self, image: &Image) -> Result<(), Error> {
        let running = self.running.as_ref().ok_or(Error::NodeOff)?;
        load(&running.machine, image).await
    }

    /// The body of the response to `GET path` at an address in the node's network, such as that of a Service or of a
    /// pod; an error if its code isn't 200.
    pub async fn get(&self, address: SocketAddr, path: &str) -> std::io::Result<String> {
        let path = path.to_owned();
        self.network.inside(move || net::http_get(address, &path)).await
    }

    /// As [`get`](Self::get), for `POST path` without a body.
    pub async fn post(&self, address: SocketAddr, path: &str) -> std::io::Result<String> {
        let path = path.to_owned();
        self.network.inside(move || net::http_post(address, &path, &serde_json::Value::Null)).await
    }

    /// Sends a signal such as `KILL` to a container's processes, past the kubelet, which starts a container again that ends.
    /// `id` is that of the pod's status, such as `containerd://0123…`.
    pub fn signal(&self, id: &str, signal: &str) -> Result<(), Error> {
        let processes = self.cgroups.processes_of(id.trim_start_matches("containerd://"))?;
        Command::new("kill")
            .arg(format!("-{signal}"))
            .args(processes)
            .status()
            .map_err(Error::spawn("kill"))?;
        Ok(())
    }

    /// The metrics that are served at an address in the node's network.
    pub async fn metrics(&self, address: SocketAddr) -> Result<Metrics, Error> {
        let what = || format!("the metrics at {address}");
        let text = self.get(address, "/metrics").await.map_err(Error::parse(what()))?;
        Metrics::parse(&text).map_err(Error::parse(what()))
    }

    /// A report for debugging: the pods, the latest Events, and the last lines of the node's logs.
    pub async fn report(&self) -> String {
        let mut report = Vec::new();
        for args in [["get", "pods", "--all-namespaces"], ["events", "--all-namespaces", "--types=Warning"]] {
            let printed = self.control_plane().kubectl(args).await;
            report.push(printed.map_or_else(|error| error.report(), |output| output.to_string()));
        }
        let processes = self.running.iter().flat_map(|running| &running.processes);
        report.extend(
            processes.map(|process| format!("{}:\n{}", process.log().display(), process.log_tail(REPORTED))),
        );
        report.join("\n")
    }

    /// Leaves the node and its control plane running, also when this program ends. Returns how to use and stop them.
    ///
    /// # Errors
    /// [`Error::NodeOff`], or when the script that stops it can't be written.
    pub fn keep(self) -> Result<Kept, Error> {
        let Running { processes, machine } = self.running.ok_or(Error::NodeOff)?;
        let kept = self.cluster.real().keep()?;
        let named = |process: &Process| (process.name().to_owned(), process.pid());
        let all = processes.iter().map(named).chain(kept.processes).collect();
        processes.iter().for_each(Process::release);
        let stop = self.folder.path().join("stop");
        // All processes of the machine end with its holder.
        let script = format!(
            "#!/bin/sh\n# Stops this node and its control plane, and removes their folders.\n\
             kill -KILL {machine}\n'{control_plane}'\nkill -KILL {network}\n{cgroups}\nrm -rf -- '{folder}'\n",
            machine = machine.keep(),
            control_plane = kept.stop.display(),
            network = self.network.keep(),
            cgroups = self.cgroups.keep(),
            folder = self.folder.path().display(),
        );
        self.folder.keep();
        control_plane::write_script(&stop, &script)?;
        Ok(Kept { stop, processes: all, by_way_of: Some(self.network.entrance()), ..kept })
    }

    /// The node's folder: configuration, disk and logs.
    fn dir(&self) -> PathBuf {
        self.control_plane().dir().join(NODE)
    }

    async fn boot(&mut self, pause: Option<&Image>) -> Result<(), Error> {
        let (dir, began) = (self.dir(), Timestamp::now());
        let layout = Layout(self.cluster.real().dir());
        let configuration = Configuration(&dir);
        let machine = Machine::boot(&self.network, &dir, NODE).await?;
        self.boots += 1;
        let spawn = |name: &str, command: &Command| {
            let log = layout.logs().join(format!("{name}.{}.log", self.boots));
            Process::spawn(name, &machine.command(command), &log, Duration::ZERO)
        };
        let containerd = spawn("containerd", &configuration.containerd())?;
        control_plane::while_running("containerd answering", &[&containerd], async || {
            Ok(ctr(&machine, &["version"]).await.is_ok())
        })
        .await?;
        if let Some(pause) = pause {
            load(&machine, pause).await?;
        }
        let kube_proxy = spawn(Program::KubeProxy.name(), &configuration.kube_proxy(&self.assets))?;
        let kubelet = spawn(Program::Kubelet.name(), &configuration.kubelet(&self.assets, &layout))?;
        let client = self.control_plane().admin().await?;
        let processes = [&containerd, &kube_proxy, &kubelet];
        control_plane::while_running("the node being Ready", &processes, async || {
            Ok(control_plane::has_nodes(&client, 1).await? && said_so_since(&client, began).await?)
        })
        .await?;
        self.running = Some(Running { processes: vec![kubelet, kube_proxy, containerd], machine });
        Ok(())
    }
}

/// Whether the node reported since then: as long as it is off, the API server keeps its last status. Kubernetes tells the
/// time in whole seconds.
async fn said_so_since(client: &Client, began: Timestamp) -> Result<bool, Error> {
    let nodes: Api<core::Node> = Api::all(client.clone());
    let node = nodes.get(NODE).await.map_err(Error::api("read the node"))?;
    let conditions = node.status.and_then(|status| status.conditions).unwrap_or_default();
    Ok(conditions.iter().filter(|condition| condition.type_ == "Ready").any(|condition| {
        condition.last_heartbeat_time.as_ref().is_some_and(|heard| heard.0.as_second() > began.as_second())
    }))
}

async fn load(machine: &Machine, image: &Image) -> Result<(), Error> {
    let archive = image.archive().display().to_string();
    ctr(machine, &["images", "import", &archive]).await
}

/// containerd's own client, in the namespace that the kubelet uses there.
async fn ctr(machine: &Machine, args: &[&str]) -> Result<(), Error> {
    let mut command = Command::new("ctr");
    command.args(["--address", components::CONTAINERD, "--namespace", "k8s.io"]).args(args);
    let mut command = tokio::process::Command::from(machine.command(&command));
    let output = command.stdin(Stdio::null()).kill_on_drop(true).output().await;
    let output = output.map_err(Error::spawn("ctr"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(Error::Failed {
        command: format!("ctr {}", args.join(" ")),
        folder: PathBuf::from("the node"),
        status: output.status,
        output: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}
