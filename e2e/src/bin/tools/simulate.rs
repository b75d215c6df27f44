//! Simulates whole clusters. The exit code is 1 if a promise was broken, or with `--fault` if none was.

use std::{process::ExitCode, time::Duration};

use baton_e2e::{
    handover_model::Fault,
    simulation::{Effort, series},
};
use clap::Args;

/// Simulate whole clusters: the real operator on an in-process API server, with users, autoscalers, crashes, and lost and late
/// responses.
///
/// The seed determines everything in a run, so the same seed replays it. A run that breaks a promise is shrunk.
#[derive(Args)]
pub(crate) struct Cli {
    /// The seed of the first run. Each further run has the next number.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many runs. If absent, as many as `--minutes` allows, or 100.
    #[arg(long)]
    runs: Option<u64>,
    /// How many minutes to run.
    #[arg(long)]
    minutes: Option<u64>,
    /// Put this fault into the operator, and print the first run that breaks a promise.
    #[arg(long, value_name = "FAULT")]
    fault: Option<Fault>,
    /// Don't shrink a run that breaks a promise.
    #[arg(long)]
    no_shrink: bool,
}

pub(crate) fn run(Cli { seed, runs, minutes, fault, no_shrink }: Cli) -> anyhow::Result<ExitCode> {
    let runs = runs.unwrap_or(if minutes.is_some() { u64::MAX } else { 100 });
    let time = minutes.map(Duration::from_mins);
    let failures = if fault.is_some() { 1 } else { usize::MAX };
    let effort = Effort { seed, runs, time, fault, failures, shrinks: !no_shrink };
    let series = series(effort, |line| println!("{line}"))?;
    print!("{}", series.table());
    for failure in &series.failures {
        println!("seed {} breaks: {}", failure.plan.seed, failure.what());
    }
    Ok(if series.failures.is_empty() == fault.is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
