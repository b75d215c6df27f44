//! Baton's pods, after it was installed on the node by the commands of `docs/install.md`.

use baton_testbed::{Error, Node};
use k8s_openapi::api::{coordination::v1::Lease, core::v1::Pod};
use kube::Api;

/// The namespace that Baton is installed in.
pub const HOME: &str = "baton-system";
/// Baton's user there.
pub const USER: &str = "system:serviceaccount:baton-system:baton";
/// How long its pods may take to be ready, for `kubectl rollout`.
const LIMIT: &str = "--timeout=120s";

/// Waits until all of Baton's pods exist and are ready.
pub async fn is_ready(node: &Node) -> Result<(), Error> {
    let args = ["rollout", "status", "deployment/baton", "--namespace", HOME, LIMIT];
    node.control_plane().kubectl(args).await?.success()?;
    Ok(())
}

/// The pod of the leader: the one that Baton's lease names.
///
/// # Errors
/// When there is no leader, or its pod is gone.
pub async fn leader(node: &Node) -> Result<Pod, Error> {
    let client = node.control_plane().admin().await?;
    let leases: Api<Lease> = Api::namespaced(client.clone(), HOME);
    let lease = leases.get("baton").await.map_err(Error::api("read Baton's lease"))?;
    let holder = lease.spec.and_then(|spec| spec.holder_identity).unwrap_or_default();
    let pods: Api<Pod> = Api::namespaced(client, HOME);
    pods.get(&holder).await.map_err(Error::api(format!("read the pod {holder:?}, which Baton's lease names")))
}
