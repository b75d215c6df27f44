//! Edits pod templates of Workloads at random, and holds each child against what a server makes of the same template where
//! nothing was before.
//!
//! What that means to the letter is said in `baton_e2e::template_property`.

use std::{num::NonZeroUsize, process::ExitCode};

use baton_e2e::template_property::{Effort, Local, run};
use baton_testbed::ControlPlane;
use clap::Parser;

/// Edit pod templates at random, and see that every child is what its Workload says.
#[derive(Parser)]
#[command(name = "cargo template-property --")]
struct Cli {
    /// How many templates there are, of all Workloads together.
    #[arg(long, default_value = "1000")]
    cases: NonZeroUsize,
    /// How many Workloads there are side by side.
    #[arg(long, default_value = "25")]
    workloads: NonZeroUsize,
    /// Tells every template and edit; by chance if absent.
    #[arg(long)]
    seed: Option<u64>,
    /// Makes a failure of each sort small, which takes half a minute each.
    #[arg(long)]
    shrink: bool,
    /// Also prints what the API server refused.
    #[arg(long)]
    refusals: bool,
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let cli = Cli::parse();
    let seed = cli.seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    let effort = Effort { cases: cli.cases.get(), workloads: cli.workloads.get(), seed, shrink: cli.shrink };
    eprintln!("seed {seed}; starting a control plane");
    let cluster = ControlPlane::start().await?;
    let mut stage = Local::start(&cluster.into()).await?;
    let findings = run(&mut stage, effort, |line| eprintln!("{line}")).await?;
    if cli.refusals {
        findings.refusals.iter().for_each(|(message, count)| println!("{count:5} {message}"));
    }
    print!("\n{findings}");
    Ok(if findings.sorts.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
