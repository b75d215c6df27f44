//! The server that an operator is measured on: fresh, with the CRD, and reached by a kubeconfig.

use std::{
    fs,
    net::Ipv4Addr,
    path::{Path, PathBuf},
    time::Duration,
};

use baton_apiserver::{Actor, ApiServer};
use baton_testbed::{Cluster, ControlPlane, Error, Options, assets::Program, cpu_time};
use kube::Client;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

use super::figures::ServerKind;
use crate::apply_manifests;

/// Records nothing: an audit log would take much of the API server's time.
const AUDIT_POLICY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/scale_bench/audit-policy.yaml");
/// Settings with which the controllers keep up with thousands of Workloads. Autoscalers are synced only once: they find no
/// metrics and record an Event each time, so that a cluster with many of them would never be quiet.
const CONTROLLER_MANAGER: [&str; 6] = [
    "--kube-api-qps=5000",
    "--kube-api-burst=10000",
    "--concurrent-deployment-syncs=10",
    "--concurrent-replicaset-syncs=10",
    "--horizontal-pod-autoscaler-sync-period=1h",
    "--horizontal-pod-autoscaler-downscale-stabilization=5m",
];
/// The actors of the server in the process. Pods stay pending, as on the real one, which has no nodes here.
const ACTORS: [Actor; 3] = [Actor::Deployments, Actor::GarbageCollector, Actor::Namespaces];

/// A running server.
pub struct Server {
    cluster: Cluster,
    kubeconfig: PathBuf,
    _embedded: Option<Embedded>,
}

impl Server {
    /// Starts one.
    ///
    /// # Errors
    /// When it can't be started, or refuses the CRD.
    pub async fn start(kind: ServerKind) -> Result<Self, Error> {
        let server = match kind {
            ServerKind::InProcess => {
                let (embedded, kubeconfig) = Embedded::start().await?;
                let cluster = Cluster::from(ControlPlane::given(&kubeconfig)?);
                Self { cluster, kubeconfig, _embedded: Some(embedded) }
            }
            ServerKind::Real => {
                let options = CONTROLLER_MANAGER
                    .into_iter()
                    .fold(ControlPlane::options(), Options::controller_manager_arg);
                let options = options
                    .api_server_arg(format!("--audit-policy-file={AUDIT_POLICY}"))
                    .api_server_arg("--event-ttl=10m")
                    .without_nodes();
                let control_plane = options.start().await?;
                let kubeconfig = control_plane.kubeconfig().to_owned();
                Self { cluster: Cluster::from(control_plane), kubeconfig, _embedded: None }
            }
        };
        apply_manifests(&server.cluster).await?;
        Ok(server)
    }

    /// A new client as administrator.
    pub async fn client(&self) -> Result<Client, Error> {
        self.cluster.admin().await
    }

    /// The administrator's kubeconfig.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// The folder for an operator's log.
    pub fn logs(&self) -> PathBuf {
        self.cluster.real().logs_dir()
    }

    /// The CPU that kube-apiserver and etcd have used so far; `None` if the server is in this process.
    pub fn cpu(&self) -> Result<Option<Duration>, Error> {
        let counted = [Program::ApiServer.name(), Program::Etcd.name()];
        let processes = self.cluster.real().processes();
        let counted = processes.iter().filter(|(name, _)| counted.contains(&name.as_str()));
        let times: Vec<Duration> = counted.map(|(_, pid)| cpu_time(*pid)).collect::<Result<_, _>>()?;
        Ok((!times.is_empty()).then(|| times.iter().sum()))
    }
}

/// The API server in this process, served on a port.
struct Embedded {
    _serving: baton_apiserver::Serving,
    /// The actors read everything at once. They have a thread of their own, so that no connection waits for them.
    actors: Option<Runtime>,
    _folder: TempDir,
}

impl Embedded {
    async fn start() -> Result<(Self, PathBuf), Error> {
        let what = "how an API server starts inside this process";
        let actors = Builder::new_multi_thread().worker_threads(1).enable_time().build();
        let actors = actors.map_err(Error::parse(what))?;
        let server = {
            let _entered = actors.enter();
            ApiServer::builder().actors(ACTORS).start().map_err(Error::parse(what))?
        };
        let serving = server.serve((Ipv4Addr::LOCALHOST, 0).into()).await.map_err(Error::parse(what))?;
        let folder = tempfile::tempdir().map_err(Error::file("create a folder in", std::env::temp_dir()))?;
        let kubeconfig = folder.path().join("kubeconfig");
        fs::write(&kubeconfig, serving.kubeconfig()).map_err(Error::file("write", &kubeconfig))?;
        Ok((Self { _serving: serving, actors: Some(actors), _folder: folder }, kubeconfig))
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        // An async thread may not wait for other threads.
        self.actors.take().into_iter().for_each(Runtime::shutdown_background);
    }
}
