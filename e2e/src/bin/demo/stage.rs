//! What the acts play on: the cluster, the operator, a namespace, and ways to act and to wait. It claims nothing.

use baton_apply::LiveObject;
use baton_controller::decide::child::ChildKind;
use baton_crd::Workload;
use baton_e2e::{
    Operator,
    installed::{self, HOME},
    is_ready,
};
use baton_testbed::{ControlPlane, Metrics, Namespace, Node, PATIENCE, wait_for};
use kube::{Api, Client};

use crate::{print, recorder::Recorder};

/// The name of the Workload and of all its children.
pub(crate) const NAME: &str = "web";

/// The field manager of whoever watches the demo.
const YOU: &str = "you";

/// The cluster with Baton in it.
pub(crate) enum Ground {
    /// The nodes are played.
    Played {
        // Dropped in this order: the cluster last.
        /// Baton, as a process on this computer.
        operator: Operator,
        /// The control plane.
        cluster: ControlPlane,
    },
    /// The node is real, and Baton runs on it.
    Real(Node),
}

/// The cluster with Baton in it, and the namespace of the demo.
pub(crate) struct Stage {
    // Dropped in this order: the cluster last.
    /// Where everything happens.
    pub(crate) namespace: Namespace,
    /// A client that may do everything.
    pub(crate) client: Client,
    /// What it happens on.
    pub(crate) ground: Ground,
}

impl Stage {
    /// The control plane.
    pub(crate) fn cluster(&self) -> &ControlPlane {
        match &self.ground {
            Ground::Played { cluster, .. } => cluster,
            Ground::Real(node) => node.control_plane(),
        }
    }

    /// Who Baton is to the API server.
    pub(crate) fn user(&self) -> &str {
        match &self.ground {
            Ground::Played { operator, .. } => operator.user(),
            Ground::Real(_) => installed::USER,
        }
    }

    /// What Baton counts: the replica that leads.
    pub(crate) async fn metrics(&self) -> anyhow::Result<Metrics> {
        match &self.ground {
            Ground::Played { operator, .. } => Ok(operator.metrics().await?),
            Ground::Real(node) => {
                let status = installed::leader(node).await?.status.unwrap_or_default();
                let address = format!("{}:8080", status.pod_ip.unwrap_or_default()).parse()?;
                Ok(node.metrics(address).await?)
            }
        }
    }

    /// Has Baton look at everything again.
    pub(crate) async fn look_again(&self) -> anyhow::Result<()> {
        match &self.ground {
            Ground::Played { operator, .. } => operator.look_again()?,
            Ground::Real(node) => {
                let status = installed::leader(node).await?.status.unwrap_or_default();
                let containers = status.container_statuses.unwrap_or_default();
                let container = containers.into_iter().find_map(|container| container.container_id);
                node.signal(&container.unwrap_or_default(), "HUP")?;
            }
        }
        Ok(())
    }

    /// The last lines that Baton has logged.
    pub(crate) async fn log_tail(&self, lines: usize) -> String {
        match &self.ground {
            Ground::Played { operator, .. } => operator.log_tail(lines),
            Ground::Real(node) => {
                let tail = format!("--tail={lines}");
                let args = ["logs", "deployment/baton", "--all-pods", &tail, "--namespace", HOME];
                let told = node.control_plane().kubectl(args).await;
                told.map_or_else(|error| error.report(), |output| output.to_string())
            }
        }
    }

    /// The children of one kind.
    pub(crate) fn children(&self, kind: ChildKind) -> Api<LiveObject> {
        Api::namespaced_with(self.client.clone(), self.namespace.name(), &kind.api_resource())
    }

    /// The Deployment.
    pub(crate) async fn deployment(&self) -> anyhow::Result<LiveObject> {
        Ok(self.children(ChildKind::Deployment).get(NAME).await?)
    }

    /// The Workload.
    pub(crate) async fn workload(&self) -> anyhow::Result<Workload> {
        Ok(self.workloads().get(NAME).await?)
    }

    fn workloads(&self) -> Api<Workload> {
        Api::namespaced(self.client.clone(), self.namespace.name())
    }

    /// A recording of the Deployment of this name.
    pub(crate) async fn record(&self, name: &str) -> anyhow::Result<Recorder> {
        let kinds = [ChildKind::Deployment.api_resource()];
        let namespace = self.namespace.name();
        let recorder = baton_testbed::Recorder::start(self.cluster(), namespace, &kinds, Some(name)).await?;
        Ok(Recorder::new(recorder))
    }

    /// The children that are there.
    pub(crate) async fn all_children(&self) -> anyhow::Result<Vec<(ChildKind, LiveObject)>> {
        let mut found = Vec::new();
        for kind in ChildKind::ALL {
            if let Some(child) = self.children(kind).get_opt(NAME).await? {
                found.push((kind, child));
            }
        }
        Ok(found)
    }

    /// Applies a manifest, as `kubectl apply --server-side` does it.
    pub(crate) async fn apply(&self, manager: &str, manifest: &str) -> anyhow::Result<()> {
        self.kubectl_with(&["apply", "--server-side", "--field-manager", manager, "-f", "-"], manifest).await
    }

    /// Applies the Workload as the one who watches the demo.
    pub(crate) async fn apply_workload(&self, manifest: &str) -> anyhow::Result<()> {
        self.apply(YOU, manifest).await
    }

    /// Runs a kubectl command in the demo's namespace and returns what it printed.
    pub(crate) async fn kubectl(&self, args: &[&str]) -> anyhow::Result<String> {
        let args = args.iter().copied().chain(["-n", self.namespace.name()]);
        Ok(self.cluster().kubectl(args).await?.success()?)
    }

    /// Runs a kubectl command in the demo's namespace with this as its input.
    pub(crate) async fn kubectl_with(&self, args: &[&str], input: &str) -> anyhow::Result<()> {
        let args = args.iter().copied().chain(["-n", self.namespace.name()]);
        self.cluster().kubectl_command(args)?.input(input).run().await?.success()?;
        Ok(())
    }

    /// Shows the Workload as kubectl does.
    pub(crate) async fn show_workload(&self) -> anyhow::Result<()> {
        let args = ["get", "workloads"];
        print::code(&format!("$ kubectl {}\n{}", args.join(" "), self.kubectl(&args).await?));
        Ok(())
    }

    /// Waits until the Workload is ready as its latest spec says, with this many ready pods, and no rollout is under way.
    pub(crate) async fn settled(&self, pods: i32) -> anyhow::Result<()> {
        let what = format!("the Workload being Ready with {pods} pods");
        wait_for(&what, PATIENCE, async || anyhow::Ok(ready(&self.workload().await?, pods))).await?;
        let limit = format!("--timeout={}s", PATIENCE.as_secs());
        self.kubectl(&["rollout", "status", "deployment", NAME, &limit]).await?;
        Ok(())
    }
}

/// Whether a Workload has this many ready pods and the condition Ready for its latest spec, or what is seen instead.
fn ready(workload: &Workload, pods: i32) -> Result<(), String> {
    let status = workload.status.clone().unwrap_or_default();
    if status.ready_replicas == Some(pods) && is_ready(workload) {
        return Ok(());
    }
    let conditions: Vec<_> =
        status.conditions.iter().map(|one| format!("{}={}", one.type_, one.status)).collect();
    Err(format!("{} pods ready, {}", status.ready_replicas.unwrap_or_default(), conditions.join(", ")))
}
