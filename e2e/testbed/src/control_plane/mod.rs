//! A Kubernetes control plane of its own for a test binary or the demo: real etcd, kube-apiserver, controllers and
//! scheduler, with KWOK in the place of the nodes.
//!
//! It belongs to no tokio runtime, so that a static one can serve tests that each have their own: each call makes a new client.

mod access;
mod components;
mod outage;
mod past;
mod start;

use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio::sync::OnceCell;

pub(crate) use self::{
    access::BehindAggregator,
    components::{Layout, NODE},
    start::{has_nodes, while_running},
};
use crate::{AuditLog, Error, Process, assets::Assets, folder::Folder, network::Network};

/// The environment variable that names a kubeconfig of a cluster to use instead of one started here. `KUBECONFIG` and
/// `~/.kube/config` are never read, so that no cluster is tested on by accident.
pub const GIVEN_KUBECONFIG: &str = "BATON_E2E_KUBECONFIG";

/// The environment variable that names an existing folder, by its whole path, in which the audit logs of all control planes
/// are kept when these are gone; they may be large.
pub const AUDIT_DIR: &str = "BATON_E2E_AUDIT_DIR";

/// How many nodes there are.
const NODES: usize = 2;

/// The settings of a control plane before it starts.
#[derive(Clone, Debug, Default)]
pub struct Options {
    api_server_args: Vec<String>,
    controller_manager_args: Vec<String>,
    /// Where everything runs, if not in the network of this machine. There a real node takes the place of KWOK's.
    network: Option<Arc<Network>>,
    without_nodes: bool,
}

impl Options {
    /// Adds a flag of kube-apiserver, such as `--feature-gates=X=true`. It comes last, so it wins over one set here.
    #[must_use]
    pub fn api_server_arg(mut self, arg: impl Into<String>) -> Self {
        self.api_server_args.push(arg.into());
        self
    }

    /// Adds a flag of kube-controller-manager.
    #[must_use]
    pub fn controller_manager_arg(mut self, arg: impl Into<String>) -> Self {
        self.controller_manager_args.push(arg.into());
        self
    }

    /// Starts no nodes, for tests in which nothing but the API server matters. No controller has to manage them then.
    #[must_use]
    pub fn without_nodes(mut self) -> Self {
        self.without_nodes = true;
        self
    }

    /// Whether KWOK plays nodes.
    fn plays_nodes(&self) -> bool {
        self.network.is_none() && !self.without_nodes
    }

    /// Has everything run in a network of its own, without nodes and made ready for a real one.
    pub(crate) fn network(mut self, network: Arc<Network>) -> Self {
        self.network = Some(network);
        self
    }

    /// Starts a control plane here, even if the environment names another one.
    ///
    /// # Errors
    /// When the programs can't be found or built, or when a component ends or isn't ready in time; the message shows the
    /// end of its log.
    pub async fn start(self) -> Result<ControlPlane, Error> {
        start::start(self).await
    }
}

/// A control plane that responds. Dropping it stops its processes and removes its folder; both also happen when the
/// program ends without dropping it.
#[derive(Debug)]
pub struct ControlPlane {
    // Dropped in this order: first what writes into the folder, then the folder.
    local: Option<Local>,
    kubeconfig: PathBuf,
    url: String,
    folder: Folder,
}

/// The parts of a control plane that was started here.
#[derive(Debug)]
struct Local {
    /// In the order in which they are to be stopped: clients before servers.
    processes: Vec<Process>,
    assets: Assets,
    options: Options,
    ports: Ports,
    /// How often the API server was started again.
    restarts: usize,
}

/// Where the components listen that others talk to.
#[derive(Clone, Copy, Debug)]
struct Ports {
    etcd: u16,
    api_server: u16,
}

/// The files that [`ControlPlane::keep`] leaves.
#[derive(Clone, Debug)]
pub struct Kept {
    /// The folder of the cluster.
    pub dir: PathBuf,
    /// The administrator's kubeconfig.
    pub kubeconfig: PathBuf,
    /// A script that stops everything and removes the folder.
    pub stop: PathBuf,
    /// The processes, by name and process id.
    pub processes: Vec<(String, u32)>,
    /// The prefix of a command that has to reach the cluster, if one is needed: `nsenter --net=…`.
    pub by_way_of: Option<String>,
}

impl ControlPlane {
    /// The cluster that [`GIVEN_KUBECONFIG`] names, or else one that is started here, in a few seconds once its programs
    /// are built.
    ///
    /// # Errors
    /// As [`Options::start`], or when the given kubeconfig can't be used.
    pub async fn start() -> Result<Self, Error> {
        match env::var_os(GIVEN_KUBECONFIG).filter(|value| !value.is_empty()) {
            Some(path) => Self::given(Path::new(&path)),
            None => Self::options().start().await,
        }
    }

    /// For a control plane that differs from the usual one.
    pub fn options() -> Options {
        Options::default()
    }

    /// The one control plane of this process, started by the first caller. It ends with the process.
    ///
    /// # Panics
    /// When it can't be started; all later callers get the same reason.
    pub async fn shared() -> Arc<Self> {
        static SHARED: OnceCell<Result<Arc<ControlPlane>, String>> = OnceCell::const_new();
        let start = async || Self::start().await.map(Arc::new).map_err(|error| error.report());
        match SHARED.get_or_init(start).await {
            Ok(control_plane) => control_plane.clone(),
            Err(report) => panic!("no control plane: {report}"),
        }
    }

    /// The cluster of a kubeconfig's current context. Nothing is started, and dropping it stops nothing.
    pub fn given(path: &Path) -> Result<Self, Error> {
        let path = fs::canonicalize(path).map_err(Error::file("find", path))?;
        let url = crate::kubeconfig::current_cluster(&path)?.server.unwrap_or_default();
        let folder = Folder::create()?;
        let layout = Layout(folder.path());
        for sub in [layout.kubeconfigs(), layout.logs()] {
            fs::create_dir_all(&sub).map_err(Error::file("create", &sub))?;
        }
        Ok(Self { local: None, kubeconfig: path, url, folder })
    }

    /// Whether the cluster was started here, rather than given.
    pub fn is_local(&self) -> bool {
        self.local.is_some()
    }

    /// The URL of the API server.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The folder of this control plane: logs, kubeconfigs, data. Tests may put files of their own there.
    pub fn dir(&self) -> &Path {
        self.folder.path()
    }

    /// The folder for logs.
    pub fn logs_dir(&self) -> PathBuf {
        Layout(self.dir()).logs()
    }

    /// The administrator's kubeconfig.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// The audit log: every request with its response.
    ///
    /// # Errors
    /// When the cluster was given: its audit log is somewhere else, if it has one.
    pub fn audit(&self) -> Result<AuditLog, Error> {
        match self.local {
            Some(_) => Ok(AuditLog::new(Layout(self.dir()).audit_log())),
            None => Err(Error::GivenCluster { what: "the audit log" }),
        }
    }

    /// The processes, by name and process id; none of a cluster that was given.
    pub fn processes(&self) -> Vec<(String, u32)> {
        let named = |process: &Process| (process.name().to_owned(), process.pid());
        self.local.iter().flat_map(|local| &local.processes).map(named).collect()
    }

    /// Leaves everything running, also when this is dropped and the program ends. Returns how to use and stop it.
    ///
    /// # Errors
    /// When the cluster was given, or when the script that stops this one can't be written.
    pub fn keep(&self) -> Result<Kept, Error> {
        let processes = self.processes();
        let Some(local) = &self.local else {
            return Err(Error::GivenCluster { what: "keeping the cluster" });
        };
        let dir = self.folder.path().to_owned();
        let stop = dir.join("stop");
        let pids: Vec<String> = processes.iter().map(|(_, pid)| pid.to_string()).collect();
        // The folder's name is random and without special characters, so quotes are enough.
        let script = format!(
            "#!/bin/sh\n# Stops this control plane and removes its folder.\nkill -KILL {}\nsleep 1\nrm -rf -- '{}'\n",
            pids.join(" "),
            dir.display()
        );
        write_script(&stop, &script)?;
        local.processes.iter().for_each(Process::release);
        self.folder.keep();
        Ok(Kept { dir, kubeconfig: self.kubeconfig.clone(), stop, processes, by_way_of: None })
    }
}

/// Writes a script that only its owner can run.
pub(crate) fn write_script(path: &Path, script: &str) -> Result<(), Error> {
    crate::kubeconfig::write_private(path, script)?;
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    fs::set_permissions(path, executable).map_err(Error::file("make executable", path))
}
