//! Edits pod templates of Workloads at random, and compares each child with what the API server makes of the same template in a new
//! object.
//!
//! `baton_e2e::template_property` has the details.

use std::{num::NonZeroUsize, process::ExitCode};

use baton_e2e::template_property::{self, Effort, Local, run_in_process};
use baton_testbed::ControlPlane;
use clap::Args;

/// Edit pod templates at random, and check that every child has what its Workload sets.
#[derive(Args)]
pub(crate) struct Cli {
    /// How many templates to try, of all Workloads together.
    #[arg(long, default_value = "1000")]
    cases: NonZeroUsize,
    /// How many Workloads to edit at the same time.
    #[arg(long, default_value = "25")]
    workloads: NonZeroUsize,
    /// The seed of all templates and edits. If absent, a random one. Without `--real`, every 250 cases have the next seed.
    #[arg(long)]
    seed: Option<u64>,
    /// Run on a real control plane instead of the in-process API server.
    #[arg(long)]
    real: bool,
    /// Shrink one failure of each kind, which takes half a minute each.
    #[arg(long)]
    shrink: bool,
    /// Also print what the API server refused.
    #[arg(long)]
    refusals: bool,
}

pub(crate) async fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    let seed = cli.seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    let effort = Effort { cases: cli.cases.get(), workloads: cli.workloads.get(), seed, shrink: cli.shrink };
    eprintln!("seed {seed}");
    let note = |line: &str| eprintln!("{line}");
    let findings = if cli.real {
        eprintln!("starting a control plane");
        let mut local = Local::start(&ControlPlane::start().await?.into()).await?;
        template_property::run(&mut local, effort, note).await?
    } else {
        run_in_process(effort, note)?
    };
    if cli.refusals {
        findings.refusals.iter().for_each(|(message, count)| println!("{count:5} {message}"));
    }
    print!("\n{findings}");
    Ok(if findings.sorts.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
