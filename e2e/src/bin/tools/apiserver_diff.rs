//! Sends random requests to a real kube-apiserver and to the one inside this process, and compares the responses.
//!
//! `baton_e2e::apiserver_diff` has the details.

use std::process::ExitCode;

use baton_e2e::apiserver_diff::{self, Effort, Pair, cases, reads};
use clap::Args;

/// Send the same requests to the in-process API server and to a real one, and compare the responses.
#[derive(Args)]
pub(crate) struct Cli {
    /// About how many requests to send.
    #[arg(long, default_value = "2000")]
    writes: usize,
    /// The seed of all requests. If absent, a random one.
    #[arg(long)]
    seed: Option<u64>,
    /// Send only this sequence of requests, and print each request.
    #[arg(long)]
    only: Option<u64>,
    /// Send a fixed table of reads instead: lists, watches, formats, discovery.
    #[arg(long)]
    reads: bool,
    /// Send fixed test cases instead: those of kinds with this word in their name, or all.
    #[arg(long, value_name = "WORD", num_args = 0..=1, default_missing_value = "")]
    cases: Option<String>,
}

pub(crate) async fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    let seed = cli.seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    eprintln!("seed {seed}; starting a control plane");
    let mut pair = Pair::start().await?;
    let effort = Effort { writes: cli.writes, seed, only: cli.only };
    let note = |line: &str| eprintln!("{line}");
    let findings = match &cli.cases {
        Some(word) => cases::run(&mut pair, word, note).await?,
        None if cli.reads => reads(&mut pair).await?,
        None => apiserver_diff::run(&mut pair, effort, note).await?,
    };
    print!("{findings}");
    Ok(if findings.unexplained().next().is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
