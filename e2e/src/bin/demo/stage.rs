//! What the acts play on: the cluster, the operator, a namespace, and ways to act and to wait. It claims nothing.

use std::time::{Duration, Instant};

use anyhow::ensure;
use baton_controller::{child::ChildKind, live::Live};
use baton_crd::{Workload, condition};
use baton_e2e::{ControlPlane, Namespace, Operator};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{Api, Client};

use crate::{print, recorder::Recorder};

/// How long anything may take: far longer than it does, also on a slow machine.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// The name of the Workload and of all its children.
pub(crate) const NAME: &str = "web";

/// The field manager of whoever watches the demo.
const YOU: &str = "you";

/// The cluster with Baton in it, and the namespace of the demo.
pub(crate) struct Stage {
    // Dropped in this order: the cluster last.
    /// Baton, as a process.
    pub(crate) operator: Operator,
    /// Where everything happens.
    pub(crate) namespace: Namespace,
    /// A client that may do everything.
    pub(crate) client: Client,
    /// The control plane.
    pub(crate) cluster: ControlPlane,
}

impl Stage {
    /// The children of one kind.
    pub(crate) fn children(&self, kind: ChildKind) -> Api<Live> {
        Api::namespaced_with(self.client.clone(), self.namespace.name(), &kind.api_resource())
    }

    /// The Deployment.
    pub(crate) async fn deployment(&self) -> anyhow::Result<Live> {
        Ok(self.children(ChildKind::Deployment).get(NAME).await?)
    }

    /// The Workload.
    pub(crate) async fn workload(&self) -> anyhow::Result<Workload> {
        Ok(self.workloads().get(NAME).await?)
    }

    fn workloads(&self) -> Api<Workload> {
        Api::namespaced(self.client.clone(), self.namespace.name())
    }

    /// A recording of the Deployment.
    pub(crate) async fn record(&self) -> anyhow::Result<Recorder> {
        Recorder::start(&self.children(ChildKind::Deployment), NAME).await
    }

    /// The children that are there.
    pub(crate) async fn all_children(&self) -> anyhow::Result<Vec<(ChildKind, Live)>> {
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
        let args =
            ["apply", "--server-side", "--field-manager", manager, "-n", self.namespace.name(), "-f", "-"];
        self.cluster.kubectl_command(args)?.input(manifest).run().await?.success()?;
        Ok(())
    }

    /// Applies the Workload as the one who watches the demo.
    pub(crate) async fn apply_workload(&self, manifest: &str) -> anyhow::Result<()> {
        self.apply(YOU, manifest).await
    }

    /// Runs a kubectl command in the demo's namespace and returns what it printed.
    pub(crate) async fn kubectl(&self, args: &[&str]) -> anyhow::Result<String> {
        let args = args.iter().copied().chain(["-n", self.namespace.name()]);
        Ok(self.cluster.kubectl(args).await?.success()?)
    }

    /// Shows the Workload as kubectl does.
    pub(crate) async fn show_workload(&self) -> anyhow::Result<()> {
        let args = ["get", "workloads"];
        print::code(&format!("$ kubectl {}\n{}", args.join(" "), self.kubectl(&args).await?));
        Ok(())
    }

    /// Waits until the Workload is ready as its latest spec says, with this many ready pods, and no rollout is under way.
    pub(crate) async fn settled(&self, pods: i32) -> anyhow::Result<()> {
        let what = format!("the Workload to be Ready with {pods} pods");
        eventually(&what, async || Ok(unready(&self.workload().await?, pods))).await?;
        let limit = format!("--timeout={}s", PATIENCE.as_secs());
        self.kubectl(&["rollout", "status", "deployment", NAME, &limit]).await?;
        Ok(())
    }
}

/// Waits until nothing else is seen than what is waited for.
pub(crate) async fn eventually(
    what: &str,
    seen_instead: impl AsyncFn() -> anyhow::Result<Option<String>>,
) -> anyhow::Result<()> {
    let end = Instant::now() + PATIENCE;
    while let Some(seen) = seen_instead().await? {
        let waited = PATIENCE.as_secs();
        ensure!(Instant::now() < end, "waited {waited} s in vain for {what}; last seen: {seen}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

/// What is seen of a Workload instead of this many ready pods and the condition Ready for its latest spec.
fn unready(workload: &Workload, pods: i32) -> Option<String> {
    let status = workload.status.clone().unwrap_or_default();
    let is_ready = |one: &Condition| {
        one.type_ == condition::READY
            && one.status == "True"
            && one.observed_generation == workload.metadata.generation
    };
    if status.ready_replicas == Some(pods) && status.conditions.iter().any(is_ready) {
        return None;
    }
    let conditions: Vec<_> =
        status.conditions.iter().map(|one| format!("{}={}", one.type_, one.status)).collect();
    Some(format!("{} pods ready, {}", status.ready_replicas.unwrap_or_default(), conditions.join(", ")))
}
