//! The start of each simulated cluster: a server on which Baton is installed.

use std::{fs, sync::LazyLock, time::Duration};

use baton_apiserver::{Actor, ApiServer};
use baton_testbed::{Error, workspace};
use jiff::Timestamp;
use tokio::time::sleep;

use crate::servers;

/// When a run begins, by the server's clock.
pub(super) const START: Timestamp = Timestamp::constant(1_767_225_600, 0);

/// Made once, and always the same.
pub(super) static INSTALLED: LazyLock<ApiServer> =
    LazyLock::new(|| installed().expect("the manifests can be installed"));

fn installed() -> Result<ApiServer, Error> {
    fastrand::seed(0);
    servers::paused(async {
        let server = ApiServer::builder().actor(Actor::AccessControl).clock(|| START);
        let manifests = manifests()?.join("\n---\n");
        let server = server.load(&manifests).and_then(baton_apiserver::Builder::start);
        // The actor fills in the aggregated roles.
        sleep(Duration::from_millis(1)).await;
        server.map_err(Error::parse("how a server with Baton starts"))
    })
}

/// Makes sure that the start of each cluster is built.
pub(super) fn install() {
    LazyLock::force(&INSTALLED);
}

/// The manifests that are installed.
fn manifests() -> Result<Vec<String>, Error> {
    const NAMESPACES: &str = "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: lab}}
";
    let files = [
        "cluster/namespace.yaml",
        "crd/workloads.baton.rs.yaml",
        "rbac/clusterrole.yaml",
        "rbac/clusterrolebinding.yaml",
        "deploy/serviceaccount.yaml",
        "deploy/role.yaml",
        "deploy/rolebinding.yaml",
    ];
    let read = |file: &str| {
        let path = workspace().join("manifests").join(file);
        fs::read_to_string(&path).map_err(Error::file("read", &path))
    };
    let texts: Result<Vec<String>, Error> = files.into_iter().map(read).collect();
    Ok([NAMESPACES.to_owned()].into_iter().chain(texts?).collect())
}
