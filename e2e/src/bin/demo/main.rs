//! `cargo demo`: the story of Baton in a terminal, on an API server in this process, on a real control plane or on a real node.
//!
//! The exit code is 0 only if every printed claim was checked against the API server and holds. All that it starts ends with it,
//! also on Ctrl-C: the processes watch their parent. With `--keep` they stay.

mod chapters;
mod claims;
mod demo;
mod get;
mod keep;
mod manifests;
mod ownership;
mod print;
mod recorder;
mod replicas;

use std::{process::ExitCode, time::Instant};

use clap::Parser;
use tokio::runtime::Builder;

use crate::{claims::Claims, demo::Demo};

/// Show how Baton owns only the fields that it applies, and how it hands spec.replicas to an autoscaler and back. Runs on an API
/// server in this process, and needs nothing else.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo demo", max_term_width = 80)]
struct Args {
    #[command(flatten)]
    ground: GroundArgs,
    /// Keep the cluster and the operator running, and print how to use and stop them.
    #[arg(long)]
    keep: bool,
    /// Print at reading speed.
    #[arg(long)]
    pace: bool,
}

/// The cluster, instead of a server in this process.
#[derive(Debug, clap::Args)]
#[group(multiple = false)]
struct GroundArgs {
    /// Run on a real control plane: etcd, kube-apiserver, kube-controller-manager, kube-scheduler. The first run compiles it with
    /// Go, which takes minutes, unless `KUBEBUILDER_ASSETS` names a folder with the binaries.
    #[arg(long)]
    real: bool,
    /// Run on a real node, where containers run and Baton is one of them. Needs Go, Linux, root, and the packages that
    /// e2e/node/packages.sh installs.
    #[arg(long)]
    node: bool,
}

/// The kind of cluster on which the demo runs.
#[derive(Clone, Copy, Debug)]
enum GroundKind {
    InProcess,
    ControlPlane,
    Node,
}

impl Args {
    fn ground_kind(&self) -> GroundKind {
        match self.ground {
            GroundArgs { node: true, .. } => GroundKind::Node,
            GroundArgs { real: true, .. } => GroundKind::ControlPlane,
            GroundArgs { .. } => GroundKind::InProcess,
        }
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    if args.pace {
        print::slowly();
    }
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\ndemo: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> anyhow::Result<()> {
    let GroundKind::InProcess = args.ground_kind() else {
        return Builder::new_multi_thread().enable_all().build()?.block_on(show_all(args));
    };
    // If all runs in this process, no wait takes time: the time advances as soon as all tasks wait.
    Builder::new_current_thread().enable_all().start_paused(true).build()?.block_on(show_all(args))
}

async fn show_all(args: &Args) -> anyhow::Result<()> {
    let began = Instant::now();
    let mut claims = Claims::default();
    let demo = match args.ground_kind() {
        GroundKind::InProcess => {
            chapters::install::show(chapters::in_process::show(&mut claims).await?, &mut claims).await?
        }
        GroundKind::ControlPlane => {
            chapters::install::show(chapters::cluster::show(&mut claims).await?, &mut claims).await?
        }
        GroundKind::Node => chapters::node::show(&mut claims).await?,
    };
    let outcome = show(&demo, &mut claims).await;
    match &outcome {
        Ok(()) => chapters::summary::show(&claims, began.elapsed(), args),
        Err(_) => print::log("The operator's last lines", &demo.log_tail(LAST_LINES).await),
    }
    if args.keep {
        keep::keep(demo).await?;
    }
    outcome
}

/// How many lines of the operator's log are shown after a failure.
const LAST_LINES: usize = 20;

/// The chapters with the operator.
async fn show(demo: &Demo, claims: &mut Claims) -> anyhow::Result<()> {
    chapters::install::apply_workload(demo, claims).await?;
    chapters::children::show(demo, claims).await?;
    chapters::handover::show(demo, claims).await?;
    chapters::edit::show(demo, claims).await?;
    chapters::sidecar::show(demo, claims).await?;
    chapters::way_back::show(demo, claims).await?;
    chapters::adoption::show(demo, claims).await?;
    chapters::foresight::show(demo, claims).await
}
