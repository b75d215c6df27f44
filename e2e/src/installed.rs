//! Baton's pods, where it was installed on the node as `docs/install.md` says. It doesn't install it.

use baton_testbed::{Error, Node};
use k8s_openapi::api::{coordination::v1::Lease, core::v1::Pod};
use kube::Api;

/// The namespace that Baton is installed in.
pub const HOME: &str = "baton-system";
/// Who Baton is to the API server then.
pub const USER: &str = "system:serviceaccount:baton-system:baton";
/// How long its pods may take to be ready, for `kubectl rollout`.
const LIMIT: &str = "--timeout=120s";

/// Waits until all of Baton's pods that are wanted are there and ready.
pub async fn is_ready(node: &Node) -> Result<(), Error> {
    let args = ["rollout", "status", "deployment/baton", "--namespace", HOME, LIMIT];
    node.control_plane().kubectl(args).await?.success()?;
    Ok(())
}

/// The pod of Baton's that leads: the one that its lease names.
///
/// # Errors
/// When nobody leads, or its pod is gone.
pub async fn leader(node: &Node) -> Result<Pod, Error> {
    let client = node.control_plane().admin().await?;
    let leases: Api<Lease> = Api::namespaced(client.clone(), HOME);
    let lease = leases.get("baton").await.map_err(Error::api("read Baton's lease"))?;
    let holder = lease.spec.and_then(|spec| spec.holder_identity).unwrap_or_default();
    let pods: Api<Pod> = Api::namespaced(client, HOME);
    pods.get(&holder).await.map_err(Error::api(format!("read the pod {holder:?}, which Baton's lease names")))
}
