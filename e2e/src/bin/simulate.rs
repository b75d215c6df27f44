//! Simulates whole clusters. The status is 1 if a promise was broken, or with a fault if none was.

use std::{process::ExitCode, time::Duration};

use baton_e2e::{
    handover_model::Fault,
    simulation::{Effort, series},
};
use clap::Parser;

/// Simulate whole clusters: the real operator on an API server inside this process, among people, autoscalers, crashes, and lost
/// and late responses.
///
/// A seed tells everything that happens in a run. One that breaks a promise is shrunk, and replayed by its seed.
#[derive(Parser)]
struct Cli {
    /// The seed of the first run; each other one has the next.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many runs; 100 if neither this nor a time is given.
    #[arg(long)]
    runs: Option<u64>,
    /// For how many minutes.
    #[arg(long)]
    minutes: Option<u64>,
    /// Put this mistake into the operator, and show the first run in which it goes wrong.
    #[arg(long, value_name = "FAULT")]
    fault: Option<Fault>,
    /// Show a run that breaks a promise as it is, in the place of a smaller one.
    #[arg(long)]
    no_shrink: bool,
}

fn main() -> ExitCode {
    let Cli { seed, runs, minutes, fault, no_shrink } = Cli::parse();
    let runs = runs.unwrap_or(if minutes.is_some() { u64::MAX } else { 100 });
    let time = minutes.map(Duration::from_mins);
    let failures = if fault.is_some() { 1 } else { usize::MAX };
    let effort = Effort { seed, runs, time, fault, failures, shrinks: !no_shrink };
    match series(effort, |line| println!("{line}")) {
        Ok(series) => {
            print!("{}", series.table());
            for failure in &series.failures {
                let what = failure.outcome.violation.as_ref().map(|violation| violation.what.as_str());
                println!("seed {} breaks: {}", failure.plan.seed, what.unwrap_or_default());
            }
            if series.failures.is_empty() == fault.is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("{}", error.report());
            ExitCode::FAILURE
        }
    }
}
