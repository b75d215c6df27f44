//! The server over HTTP, for kubectl: with a Deployment in it, until Ctrl-C.
//!
//!     cargo run --example kubectl
//!
//! The binary of this crate is the same with options: `baton-apiserver --kubeconfig FILE --actors all`.

use std::{env, fs, io, path::Path, process};

use anyhow::Result;
use baton_apiserver::{Actor, ApiServer};
use tokio::{process::Command, signal};

const WEB: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
";

#[tokio::main]
async fn main() -> Result<()> {
    run(signal::ctrl_c()).await
}

async fn run(end: impl Future<Output = io::Result<()>>) -> Result<()> {
    let folder = env::temp_dir().join(format!("baton-apiserver-example-{}", process::id()));
    fs::create_dir(&folder)?;
    let served = serve(&folder, end).await;
    fs::remove_dir_all(&folder)?;
    served
}

/// Serves until `end`, with the kubeconfig in a folder.
async fn serve(folder: &Path, end: impl Future<Output = io::Result<()>>) -> Result<()> {
    // Without actors the Deployment would have no pods.
    let actors = [Actor::Deployments, Actor::Pods, Actor::GarbageCollector, Actor::Namespaces];
    let server = ApiServer::builder().actors(actors).load(WEB)?.start()?;
    // Port 0 is any free port. The server listens until `serving` is dropped.
    let serving = server.serve("127.0.0.1:0".parse()?).await?;
    let kubeconfig = folder.join("kubeconfig");
    fs::write(&kubeconfig, serving.kubeconfig())?;

    kubectl(&kubeconfig, &["rollout", "status", "deployment/web"]).await?;
    kubectl(&kubeconfig, &["get", "deployments,pods"]).await?;

    println!("\nThe server is on http://{} until Ctrl-C. In another terminal:\n", serving.address());
    println!("    export KUBECONFIG={}", kubeconfig.display());
    println!("    kubectl scale deployment web --replicas=4");
    println!("    kubectl get pods --watch");
    Ok(end.await?)
}

/// Runs kubectl, if it is installed, and shows its output.
async fn kubectl(kubeconfig: &Path, arguments: &[&str]) -> Result<()> {
    println!("\n$ kubectl {}", arguments.join(" "));
    let mut command = Command::new("kubectl");
    // Its cache of the server's resources is useless later.
    command
        .args(arguments)
        .env("KUBECONFIG", kubeconfig)
        .env("KUBECACHEDIR", kubeconfig.with_file_name("cache"));
    match command.status().await {
        Ok(status) => assert!(status.success(), "kubectl: {status}"),
        Err(error) if error.kind() == io::ErrorKind::NotFound => println!("(there is no kubectl on PATH)"),
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

#[tokio::test]
async fn it_runs() -> Result<()> {
    run(async { Ok(()) }).await
}
