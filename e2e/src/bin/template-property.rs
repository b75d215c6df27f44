//! Edits pod templates of Workloads at random, and holds each child against what a server makes of the same template where
//! nothing was before.
//!
//! What that means to the letter is said in `baton_e2e::template_property`.

use std::{num::NonZeroUsize, process::ExitCode};

use baton_e2e::template_property::{Effort, Findings, Local, run, run_in_process};
use baton_testbed::{ControlPlane, Error};
use clap::Parser;
use tokio::runtime::Builder;

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
    /// Tells every template and edit; by chance if absent. In this process, every 250 cases have the next one.
    #[arg(long)]
    seed: Option<u64>,
    /// On a real control plane, in the place of the API server inside this process.
    #[arg(long)]
    real: bool,
    /// Makes a failure of each sort small, which takes half a minute each.
    #[arg(long)]
    shrink: bool,
    /// Also prints what the API server refused.
    #[arg(long)]
    refusals: bool,
}

fn main() -> anyhow::Result<ExitCode> {
    let cli = Cli::parse();
    let seed = cli.seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    let effort = Effort { cases: cli.cases.get(), workloads: cli.workloads.get(), seed, shrink: cli.shrink };
    eprintln!("seed {seed}");
    let findings = if cli.real {
        Builder::new_multi_thread().enable_all().build()?.block_on(on_real(effort))?
    } else {
        run_in_process(effort, |line| eprintln!("{line}"))?
    };
    if cli.refusals {
        findings.refusals.iter().for_each(|(message, count)| println!("{count:5} {message}"));
    }
    print!("\n{findings}");
    Ok(if findings.sorts.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn on_real(effort: Effort) -> Result<Findings, Error> {
    eprintln!("starting a control plane");
    let mut stage = Local::start(&ControlPlane::start().await?.into()).await?;
    run(&mut stage, effort, |line| eprintln!("{line}")).await
}
