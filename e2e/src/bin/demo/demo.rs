//! The cluster that the chapters share, its operator and namespace, and ways to act and to wait.

use std::fmt::Debug;

use baton_apply::LiveObject;
use baton_controller::decide::child::ChildKind;
use baton_crd::Workload;
use baton_e2e::{
    Operator,
    installed::{self, HOME},
    is_ready,
};
use baton_merge::yaml;
use baton_testbed::{Cluster, Metrics, Namespace, Node, PATIENCE, wait_for};
use kube::{
    Api, Client,
    api::{Patch, PatchParams},
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{get::get, print, recorder::Recorder};

/// The name of the Workload and of all its children.
pub(crate) const NAME: &str = "web";

/// The field manager of the user that runs the demo.
const YOU: &str = "you";

/// The cluster with Baton in it.
pub(crate) enum Ground {
    /// Pods are played.
    Played {
        // Dropped in this order: the cluster last.
        /// Baton, beside it.
        operator: Operator,
        /// The API server and the other parts of its cluster.
        cluster: Cluster,
    },
    /// The node is real, and Baton runs on it.
    Real(Node),
}

/// The cluster with Baton in it, and the namespace of the demo.
pub(crate) struct Demo {
    // Dropped in this order: the cluster last.
    /// The namespace.
    pub(crate) namespace: Namespace,
    /// A client that may do everything.
    pub(crate) client: Client,
    /// The cluster with Baton.
    pub(crate) ground: Ground,
}

impl Demo {
    /// The cluster.
    pub(crate) fn cluster(&self) -> &Cluster {
        match &self.ground {
            Ground::Played { cluster, .. } => cluster,
            Ground::Real(node) => node.cluster(),
        }
    }

    /// Baton's user.
    pub(crate) fn user(&self) -> &str {
        match &self.ground {
            Ground::Played { operator, .. } => operator.user(),
            Ground::Real(_) => installed::USER,
        }
    }

    /// The metrics of Baton's leader.
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

    /// Makes Baton reconcile everything.
    pub(crate) async fn reconcile_all(&self) -> anyhow::Result<()> {
        match &self.ground {
            Ground::Played { operator, .. } => operator.reconcile_all()?,
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
                let printed = node.control_plane().kubectl(args).await;
                printed.map_or_else(|error| error.report(), |output| output.to_string())
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

    /// The children that exist.
    pub(crate) async fn all_children(&self) -> anyhow::Result<Vec<(ChildKind, LiveObject)>> {
        let mut found = Vec::new();
        for kind in ChildKind::ALL {
            if let Some(child) = self.children(kind).get_opt(NAME).await? {
                found.push((kind, child));
            }
        }
        Ok(found)
    }

    /// Applies a Workload as the user that runs the demo.
    pub(crate) async fn apply_workload(&self, manifest: &str) -> anyhow::Result<()> {
        apply(&self.workloads(), YOU, manifest).await
    }

    /// Applies a Deployment.
    pub(crate) async fn apply_deployment(&self, manager: &str, manifest: &str) -> anyhow::Result<()> {
        apply(&self.children(ChildKind::Deployment), manager, manifest).await
    }

    /// Patches the Workload, as `kubectl patch` does it.
    pub(crate) async fn patch_workload(&self, patch: Patch<Value>) -> anyhow::Result<()> {
        let params =
            PatchParams { field_manager: Some("kubectl-patch".to_owned()), ..PatchParams::default() };
        self.workloads().patch(NAME, &params, &patch).await?;
        Ok(())
    }

    /// Shows the Workload as kubectl does.
    pub(crate) async fn show_workload(&self) -> anyhow::Result<()> {
        let shown = get::<Workload>(&self.client, self.namespace.name()).await?;
        print::code(&format!("$ kubectl get bwl\n{shown}"));
        Ok(())
    }

    /// Waits until the Workload of this name is ready for its latest spec, with this many ready pods.
    pub(crate) async fn ready(&self, name: &str, pods: i32) -> anyhow::Result<()> {
        let what = format!("the Workload {name} being Ready with {pods} pods");
        wait_for(&what, PATIENCE, async || anyhow::Ok(ready(&self.workloads().get(name).await?, pods))).await
    }

    /// Waits until the Workload is ready for its latest spec, with this many ready pods, and no rollout is under way.
    pub(crate) async fn settled(&self, pods: i32) -> anyhow::Result<()> {
        self.ready(NAME, pods).await?;
        wait_for("the rollout", PATIENCE, async || Ok(rolled_out(&self.deployment().await?))).await
    }
}

/// Applies a manifest, as `kubectl apply --server-side` does it.
async fn apply<K>(api: &Api<K>, manager: &str, manifest: &str) -> anyhow::Result<()>
where
    K: Clone + Debug + DeserializeOwned,
{
    let object: Value = yaml::from_str(manifest)?;
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let params = PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
    api.patch(name, &params.validation_strict(), &Patch::Apply(&object)).await?;
    Ok(())
}

/// Whether all pods of a Deployment exist and have its latest template, as `kubectl rollout status` checks it; if not, what is
/// seen.
fn rolled_out(deployment: &LiveObject) -> Result<(), String> {
    let status = |name: &str| deployment.number(&["status", name]).unwrap_or_default();
    let [updated, replicas, available] = ["updatedReplicas", "replicas", "availableReplicas"].map(status);
    let is_observed = deployment.get(&["status", "observedGeneration"]).and_then(Value::as_i64)
        >= deployment.get(&["metadata", "generation"]).and_then(Value::as_i64);
    let wanted = deployment.number(&["spec", "replicas"]).unwrap_or(1);
    if is_observed && updated >= wanted && replicas <= updated && available >= updated {
        return Ok(());
    }
    Err(format!(
        "{updated} of {wanted} pods are of the latest template, {available} of {replicas} are available"
    ))
}

/// Whether a Workload has this many ready pods and the condition Ready for its latest spec; if not, what is seen.
fn ready(workload: &Workload, pods: i32) -> Result<(), String> {
    let status = workload.status.clone().unwrap_or_default();
    if status.ready_replicas == Some(pods) && is_ready(workload) {
        return Ok(());
    }
    let conditions: Vec<_> =
        status.conditions.iter().map(|one| format!("{}={}", one.type_, one.status)).collect();
    Err(format!("{} pods ready, {}", status.ready_replicas.unwrap_or_default(), conditions.join(", ")))
}
