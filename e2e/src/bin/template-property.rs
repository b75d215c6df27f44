//! Edits pod templates of Workloads at random, and holds each child against what a server makes of the same template where
//! nothing was before.
//!
//! What that means to the letter is said in `baton_e2e::template_property`.

use std::{num::NonZeroUsize, process::ExitCode};

use baton_e2e::template_property::{Effort, Local, run};
use baton_testbed::{Cluster, ControlPlane};
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
    /// Tells every template and edit; by chance if absent.
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
    if cli.real {
        return Builder::new_multi_thread().enable_all().build()?.block_on(async {
            eprintln!("starting a control plane");
            let cluster = ControlPlane::start().await?;
            play(&cli, &cluster.into()).await
        });
    }
    let runtime = Builder::new_current_thread().enable_all().start_paused(true).build()?;
    runtime.block_on(async { play(&cli, &Cluster::in_process()?).await })
}

async fn play(cli: &Cli, cluster: &Cluster) -> anyhow::Result<ExitCode> {
    let seed = cli.seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    eprintln!("seed {seed}");
    let effort = Effort { cases: cli.cases.get(), workloads: cli.workloads.get(), seed, shrink: cli.shrink };
    let mut stage = Local::start(cluster).await?;
    let findings = run(&mut stage, effort, |line| eprintln!("{line}")).await?;
    if cli.refusals {
        findings.refusals.iter().for_each(|(message, count)| println!("{count:5} {message}"));
    }
    print!("\n{findings}");
    Ok(if findings.sorts.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
