//! Times `kubectl baton owners` beside `kubectl get -o yaml`, of a Deployment with many managers.

use std::{path::PathBuf, time::Duration};

use baton_e2e::apply;
use baton_testbed::{ControlPlane, workspace};
use clap::Args;
use kube::api::PatchParams;
use serde_json::{Value, json};
use tokio::{process::Command, time::Instant};

/// Time kubectl baton owners beside kubectl get -o yaml, of a Deployment with 30 managers and 200 environment variables.
#[derive(Args)]
pub(crate) struct Cli {
    /// The plugin, built for speed: `cargo build --release -p kubectl-baton`.
    #[arg(long, default_value = "target/release/kubectl-baton")]
    plugin: PathBuf,
    /// How often each is run. They take turns.
    #[arg(long, default_value_t = 30)]
    runs: usize,
}

const MANAGERS: usize = 30;
const VARIABLES: usize = 200;

pub(crate) async fn run(cli: Cli) -> anyhow::Result<()> {
    let plugin = workspace().join(cli.plugin);
    eprintln!("starting a control plane");
    let control_plane = ControlPlane::start().await?;
    let client = control_plane.admin().await?;
    let namespace = control_plane.namespace("bench").await?;
    for manager in 0..MANAGERS {
        let object = deployment(namespace.name(), manager);
        apply(&client, object, &PatchParams::apply(&format!("manager-{manager}"))).await?;
    }
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for run in 0..=cli.runs {
        let began = Instant::now();
        let args = ["get", "deployment", "web", "-o", "yaml", "--namespace", namespace.name()];
        control_plane.kubectl(args).await?.success()?;
        let kubectl = began.elapsed();
        let began = Instant::now();
        let output = Command::new(&plugin)
            .args(["owners", "deployment/web", "--namespace", namespace.name()])
            .env("KUBECONFIG", control_plane.kubeconfig())
            .output()
            .await?;
        let plugin = began.elapsed();
        anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        // kubectl fills its cache of kinds in the first run.
        if run > 0 {
            theirs.push(kubectl);
            ours.push(plugin);
        }
    }
    let (ours, theirs) = (median(ours), median(theirs));
    println!(
        "medians of {} runs, of a Deployment with {MANAGERS} managers and {VARIABLES} variables:",
        cli.runs
    );
    println!("kubectl baton owners   {:6.1} ms", ours.as_secs_f64() * 1e3);
    println!("kubectl get -o yaml    {:6.1} ms", theirs.as_secs_f64() * 1e3);
    println!("ratio                  {:6.2}", ours.as_secs_f64() / theirs.as_secs_f64());
    Ok(())
}

/// The intent of a manager: its share of the variables.
fn deployment(namespace: &str, manager: usize) -> Value {
    let variables = (0..VARIABLES).filter(|variable| variable % MANAGERS == manager);
    let env: Vec<Value> =
        variables.map(|variable| json!({"name": format!("VARIABLE_{variable}"), "value": "1"})).collect();
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": namespace},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "app", "image": "web:1", "env": env}]},
            },
        },
    })
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
