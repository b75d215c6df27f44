//! `cargo demo`: the story of Baton in a terminal, on an API server in this process, on a real control plane or on a real node.
//!
//! The exit code is 0 only if every printed claim was checked against the API server and holds. All that it starts ends with it,
//! also on Ctrl-C: the processes watch their parent. With `--keep` they stay.

mod acts;
mod claims;
mod get;
mod keep;
mod manifests;
mod ownership;
mod print;
mod recorder;
mod replicas;
mod stage;

use std::{process::ExitCode, time::Instant};

use clap::Parser;
use tokio::runtime::Builder;

use crate::{claims::Claims, stage::Stage};

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

/// Where the story is played.
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
        return Builder::new_multi_thread().enable_all().build()?.block_on(play_all(args));
    };
    // If all runs in this process, no wait takes time: the time advances as soon as all tasks wait.
    Builder::new_current_thread().enable_all().start_paused(true).build()?.block_on(play_all(args))
}

async fn play_all(args: &Args) -> anyhow::Result<()> {
    let began = Instant::now();
    let mut claims = Claims::default();
    let stage = match args.ground_kind() {
        GroundKind::InProcess => {
            acts::install::play(acts::in_process::play(&mut claims).await?, &mut claims).await?
        }
        GroundKind::ControlPlane => {
            acts::install::play(acts::cluster::play(&mut claims).await?, &mut claims).await?
        }
        GroundKind::Node => acts::node::play(&mut claims).await?,
    };
    let outcome = play(&stage, &mut claims).await;
    match &outcome {
        Ok(()) => acts::summary::play(&claims, began.elapsed(), args),
        Err(_) => print::log("The operator's last lines", &stage.log_tail(LAST_LINES).await),
    }
    if args.keep {
        keep::keep(stage).await?;
    }
    outcome
}

/// How many lines of the operator's log are shown after a failure.
const LAST_LINES: usize = 20;

/// The acts with the operator.
async fn play(stage: &Stage, claims: &mut Claims) -> anyhow::Result<()> {
    acts::install::apply_workload(stage, claims).await?;
    acts::children::play(stage, claims).await?;
    acts::handover::play(stage, claims).await?;
    acts::edit::play(stage, claims).await?;
    acts::sidecar::play(stage, claims).await?;
    acts::way_back::play(stage, claims).await?;
    acts::adoption::play(stage, claims).await?;
    acts::foresight::play(stage, claims).await
}
