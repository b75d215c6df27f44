//! Leaves the cluster and the operator running, and prints how to use and stop them.

use std::{fmt::Write as _, net::Ipv4Addr, path::Path};

use baton_e2e::installed::HOME;
use baton_testbed::{
    Cluster, Embedded,
    assets::{Assets, Program},
};
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    demo::{Demo, Ground},
    print,
};

/// Releases everything that would end with this program. A server inside this program runs until Ctrl-C.
pub(crate) async fn keep(demo: Demo) -> anyhow::Result<()> {
    let Demo { namespace, ground, .. } = demo;
    let name = namespace.name().to_owned();
    match ground {
        Ground::Played { operator: _operator, cluster: Cluster::InProcess(server) } => {
            return serve(&server, &name).await;
        }
        Ground::Played { operator, cluster: Cluster::Real(cluster) } => {
            let kept = cluster.keep()?;
            let log = format!("tail -f {}", operator.process().log().display());
            let operator = operator.keep();
            use_it(&kept.kubeconfig, None, &name, &log);
            stop_it(&format!("kill {operator}; {}", kept.stop.display()));
        }
        Ground::Real(node) => {
            let kept = node.keep()?;
            let log = format!("kubectl logs deployment/baton --all-pods --follow --namespace {HOME}");
            use_it(&kept.kubeconfig, kept.by_way_of.as_deref(), &name, &log);
            stop_it(&kept.stop.display().to_string());
        }
    }
    namespace.keep();
    Ok(())
}

/// Serves the API server of this process until Ctrl-C. From now on, its time isn't paused.
async fn serve(server: &Embedded, namespace: &str) -> anyhow::Result<()> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    tokio::time::resume();
    let serving = server.server().serve((Ipv4Addr::LOCALHOST, 0).into()).await?;
    let folder = tempfile::tempdir()?;
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, serving.kubeconfig())?;
    use_it(&kubeconfig, None, namespace, "kubectl get events");
    print::text("Ctrl-C stops them.");
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}

fn use_it(kubeconfig: &Path, by_way_of: Option<&str>, namespace: &str, log: &str) {
    print::text("The cluster and the operator keep running. To use them:");
    let mut lines = format!("export KUBECONFIG={}\n", kubeconfig.display());
    let kubectl = Assets::present(Program::Kubectl);
    if let Some(kubectl) = &kubectl {
        let way = by_way_of.map(|way| format!("{way} ")).unwrap_or_default();
        let _ = writeln!(lines, "alias kubectl='{way}{}'", kubectl.display());
    }
    let _ = write!(
        lines,
        "kubectl config set-context --current --namespace {namespace}\n\
         kubectl get bwl -A\n\
         kubectl get deploy web -o yaml --show-managed-fields\n\
         kubectl explain bwl.spec\n\
         {log}"
    );
    print::code(&lines);
    if kubectl.is_none() {
        print::text(
            "No kubectl was found here. Install one of this or a neighbouring release: https://kubernetes.io/docs/tasks/tools",
        );
    }
}

fn stop_it(command: &str) {
    print::text("To stop them:");
    print::code(command);
}
