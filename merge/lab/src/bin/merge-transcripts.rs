//! Sends generated writes to a real API server, predicts each with the merge core, and shows every prediction that was
//! wrong. The last line on standard output is `matched X of Y`.

use std::{env, fs, process::ExitCode};

use anyhow::Context as _;
use baton_merge_lab::transcripts::{
    Server,
    run::{Options, Step, run},
};
use baton_testbed::workspace;
use clap::Parser;

/// The most wrong predictions that are shown.
const SHOWN: usize = 5;

/// Compare what the merge core predicts with what a real API server does.
#[derive(Parser)]
struct Cli {
    /// Number of writes, about.
    #[arg(long, default_value_t = 2000)]
    writes: usize,
    /// Seed of all choices: the same seed writes the same.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Keep the steps in this file of the recorded transcripts.
    #[arg(long, value_name = "NAME")]
    record: Option<String>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<ExitCode> {
    let cli = Cli::parse();
    // Paths in requests are relative to the workspace.
    env::set_current_dir(workspace()).with_context(|| format!("can't enter {}", workspace().display()))?;
    let server = Server::start().await?;
    let report = run(&server, Options { writes: cli.writes, seed: cli.seed }).await?;
    for failure in report.failures.iter().take(SHOWN) {
        println!("{failure}");
    }
    if let Some(name) = &cli.record {
        let file = format!("merge/tests/transcripts/{name}.jsonl");
        let lines: Vec<_> = report.steps.iter().map(|step: &Step| step.line() + "\n").collect();
        fs::write(&file, lines.concat()).with_context(|| format!("can't write {file}"))?;
        println!("{} steps are in {file}", report.steps.len());
    }
    print!("{}", report.tally);
    println!("matched {} of {}", report.matched(), report.predicted());
    Ok(if report.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
