//! Sends random requests to a real kube-apiserver and to the one inside this process, and compares the answers.
//!
//! What that means to the letter is said in `baton_e2e::apiserver_diff`.

use std::process::ExitCode;

use baton_e2e::apiserver_diff::{Effort, Pair, cases, reads, run};
use clap::Parser;

/// Compare the API server inside a process with a real one.
#[derive(Parser)]
#[command(name = "cargo apiserver-diff --")]
struct Cli {
    /// How many requests are sent, about.
    #[arg(long, default_value = "2000")]
    writes: usize,
    /// Tells every request; by chance if absent.
    #[arg(long)]
    seed: Option<u64>,
    /// Play this sequence alone, and tell each of its requests.
    #[arg(long)]
    only: Option<u64>,
    /// Send the table of reads instead: lists, watches, formats, discovery.
    #[arg(long)]
    reads: bool,
    /// Send chosen requests in place of random ones: those about kinds with this word in their name.
    #[arg(long, value_name = "WORD", num_args = 0..=1, default_missing_value = "")]
    cases: Option<String>,
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let cli = Cli::parse();
    let seed = cli.seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    eprintln!("seed {seed}; starting a control plane");
    let mut pair = Pair::start().await?;
    let effort = Effort { writes: cli.writes, seed, only: cli.only };
    let note = |line: &str| eprintln!("{line}");
    let findings = match &cli.cases {
        Some(word) => cases::run(&mut pair, word, note).await?,
        None if cli.reads => reads(&mut pair).await?,
        None => run(&mut pair, effort, note).await?,
    };
    print!("{findings}");
    Ok(if findings.unexplained().next().is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
