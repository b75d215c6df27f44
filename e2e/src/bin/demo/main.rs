//! `cargo demo`: the story of Baton in a terminal, on a real control plane.
//!
//! It ends with 0 only if every claim it prints was checked against the API server and holds. Whatever it starts ends with
//! it, also on Ctrl-C: the processes watch over their owner by themselves. With `--keep` they stay.

mod acts;
mod claims;
mod containers;
mod keep;
mod manifests;
mod ownership;
mod print;
mod recorder;
mod replicas;
mod stage;

use std::{process::ExitCode, time::Instant};

use clap::Parser;

use crate::{claims::Claims, stage::Stage};

/// Shows on a real Kubernetes control plane how Baton owns exactly the fields it sets, and how it passes replicas to an
/// autoscaler and back without the number ever falling. Needs Go for the first run.
#[derive(Debug, Parser)]
#[command(name = "cargo demo")]
struct Args {
    /// Leave the cluster and the operator running, and print how to use and stop them.
    #[arg(long)]
    keep: bool,
    /// Play on a real node, where containers run and Baton is one of them. Needs Linux, root and the packages that
    /// e2e/node/packages.sh installs.
    #[arg(long, conflicts_with = "keep")]
    node: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    match tell(&Args::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\ndemo: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn tell(args: &Args) -> anyhow::Result<()> {
    let began = Instant::now();
    let mut claims = Claims::default();
    let stage = if args.node {
        acts::node::play(&mut claims).await?
    } else {
        let cluster = acts::cluster::play(&mut claims).await?;
        acts::install::play(cluster, &mut claims).await?
    };
    let told = play(&stage, &mut claims).await;
    match &told {
        Ok(()) => acts::summary::play(&claims, began.elapsed(), args.keep),
        Err(_) => print::log("The operator's last lines", &stage.log_tail(LAST_LINES).await),
    }
    if args.keep {
        keep::keep(stage)?;
    }
    told
}

/// How much of the operator's log is shown when the story ends badly.
const LAST_LINES: usize = 20;

/// Everything that the operator has a part in.
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
