//! Turns autoscaling of Workloads on and off, and hands it to an autoscaler of another owner, at random and under a load that goes
//! up and down. Kubernetes' real autoscaler runs. No replica count may ever be less than what was asked for.
//!
//! `baton_e2e::soak` has the details.

use std::{num::NonZeroU32, process::ExitCode};

use baton_e2e::soak::{
    run::{Effort, run},
    table,
};
use baton_testbed::{Cluster, ControlPlane, MetricsApi};
use clap::Parser;

/// Turn autoscaling on and off at random, and check that no replica is ever dropped.
#[derive(Parser)]
#[command(bin_name = "cargo handover-soak")]
struct Cli {
    /// How many switches to make, of all Workloads together.
    #[arg(long, default_value = "300")]
    switches: NonZeroU32,
    /// How many Workloads to create.
    #[arg(long, default_value = "10")]
    workloads: NonZeroU32,
    /// The seed of all switches. If absent, a random one.
    #[arg(long)]
    seed: Option<u64>,
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let cli = Cli::parse();
    let seed = cli.seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    let effort = Effort { switches: cli.switches.get(), workloads: cli.workloads.get(), seed };
    eprintln!("seed {seed}; starting a control plane");
    let cluster = Cluster::from(ControlPlane::options().start().await?);
    let metrics = MetricsApi::of(&cluster).await;
    let outcome = run(&cluster, &metrics, effort, |line| eprintln!("{line}")).await?;
    if let Some(story) = &outcome.story {
        println!("\n{story}");
    }
    print!("\n{}", table::text(effort, &outcome));
    for violation in &outcome.judgement.violations {
        println!("  {} at revision {}: {}", violation.workload, violation.revision, violation.what);
    }
    let kept = outcome.judgement.violations.is_empty();
    Ok(if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
