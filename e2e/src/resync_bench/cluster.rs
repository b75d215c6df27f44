//! A control plane with as little going on in it as possible. It knows nothing of what is measured.

use std::path::Path;

use baton_testbed::{ControlPlane, Error};

/// The controllers without which a cluster isn't of use, and those that make a Deployment available. Nobody scales,
/// evicts or collects anything here.
const CONTROLLERS: &str =
    "serviceaccount-controller,node-lifecycle-controller,deployment-controller,replicaset-controller";

/// Starts it.
///
/// # Errors
/// As [`Options::start`](baton_testbed::Options::start).
pub async fn start() -> Result<ControlPlane, Error> {
    let policy = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/resync_bench/audit-policy.yaml");
    ControlPlane::options()
        .controller_manager_arg(format!("--controllers={CONTROLLERS}"))
        .api_server_arg(format!("--audit-policy-file={}", policy.display()))
        .start()
        .await
}
