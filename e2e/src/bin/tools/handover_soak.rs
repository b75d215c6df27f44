//! Plays a random plan on a real control plane: autoscaling of Workloads is turned on and off, and handed to an autoscaler of another
//! owner, under a load that goes up and down. The replica count may never be less than what was asked for.
//!
//! `baton_e2e::soak` has the details.

use std::{
    num::{NonZeroU8, NonZeroU32},
    process::ExitCode,
};

use baton_e2e::soak::{self, Effort};
use baton_testbed::{Cluster, ControlPlane, MetricsApi};
use clap::Args;

/// Turn autoscaling on and off at random, and check that no replica is ever dropped.
#[derive(Args)]
pub(crate) struct Cli {
    /// How many times to change a Workload, all of them together.
    #[arg(long, default_value = "300")]
    switches: NonZeroU32,
    /// How many Workloads to create.
    #[arg(long, default_value = "10")]
    workloads: NonZeroU8,
    /// The seed of all events. If absent, a random one.
    #[arg(long)]
    seed: Option<u64>,
}

pub(crate) async fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    let seed = cli.seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    let effort = Effort { switches: cli.switches.get(), workloads: cli.workloads.get(), seed };
    eprintln!("seed {seed}; starting a control plane");
    let cluster = Cluster::from(ControlPlane::options().start().await?);
    let metrics = MetricsApi::start(cluster.real()).await?;
    let outcome = soak::run(&cluster, &metrics, effort, |line| eprintln!("{line}")).await?;
    print!("{}\n{}", outcome.story, outcome.table(effort));
    Ok(match outcome.violation {
        None => ExitCode::SUCCESS,
        Some(violation) => {
            println!("broken: {}: {}", violation.what, violation.how);
            ExitCode::FAILURE
        }
    })
}
