//! Measures what it costs, the operator as well as the API server, to look at many settled Workloads again: with
//! prediction and without.
//!
//! What counts is said in `baton_e2e::resync_bench`.

use std::{num::NonZeroU32, time::Duration};

use baton_e2e::resync_bench::{measure::Effort, run::run, table};
use clap::Parser;

/// Measure what a resync of many Workloads costs, with prediction and without.
#[derive(Parser)]
struct Cli {
    /// How many Workloads there are.
    #[arg(long, default_value = "1000")]
    workloads: NonZeroU32,
    /// How often all of them are looked at, on each side.
    #[arg(long, default_value = "5")]
    resyncs: NonZeroU32,
    /// For how many seconds is measured what is used while nothing happens.
    #[arg(long, default_value = "20")]
    idle: NonZeroU32,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    if cfg!(debug_assertions) {
        eprintln!("this is a debug build, and so is the operator: the figures are of no use");
    }
    let effort = Effort {
        workloads: cli.workloads.get(),
        resyncs: cli.resyncs.get(),
        idle: Duration::from_secs(cli.idle.get().into()),
    };
    let outcomes = run(effort, |line| eprintln!("{line}")).await?;
    print!("\n{}", table::text(effort, &outcomes));
    Ok(())
}
