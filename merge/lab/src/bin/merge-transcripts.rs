//! Sends generated writes to a real API server, predicts each with the merge core, and shows every prediction that was
//! wrong. The last line on standard output is `matched X of Y`.

use std::{env, fs, path::PathBuf, process::ExitCode};

use anyhow::Context as _;
use baton_merge_driver::Session;
use baton_merge_lab::transcripts::{
    Server,
    run::{Failure, Options, Report, run},
    transcript::{self, Step},
};
use baton_testbed::workspace;
use clap::Parser;

/// Compare what the merge core predicts with what a real API server does.
#[derive(Parser)]
struct Cli {
    /// How many writes to send, about.
    #[arg(long, default_value_t = 2000)]
    writes: usize,
    /// What all choices follow from: the same seed writes the same.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Begin with this sequence.
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Write only objects of these kinds.
    #[arg(long)]
    kind: Vec<String>,
    /// How many objects are written at the same time.
    #[arg(long, default_value_t = 8)]
    jobs: usize,
    /// How many wrong predictions to show.
    #[arg(long, default_value_t = 5)]
    show: usize,
    /// Keep the steps in this file of the recorded transcripts.
    #[arg(long, value_name = "NAME")]
    record: Option<String>,
    /// Write each wrong prediction that is shown into a file of this folder.
    #[arg(long, value_name = "FOLDER")]
    findings: Option<PathBuf>,
    /// Judge the recorded transcripts again instead of writing anything.
    #[arg(long)]
    replay: bool,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<ExitCode> {
    let cli = Cli::parse();
    // Paths in requests are relative to the workspace.
    env::set_current_dir(workspace()).with_context(|| format!("can't enter {}", workspace().display()))?;
    let report = if cli.replay {
        let (mut report, mut core) = (Report::default(), Session::new());
        for step in transcript::read(&transcript::folder())? {
            report.add(step, &mut core);
        }
        report
    } else {
        let server = Server::start().await?;
        let (writes, seed, first, jobs) = (cli.writes, cli.seed, cli.first, cli.jobs);
        run(&server, &Options { writes, seed, first, kinds: cli.kind.clone(), jobs }).await?
    };
    for (number, failure) in report.failures.iter().take(cli.show).enumerate() {
        show(failure, number, &cli)?;
    }
    if let Some(name) = &cli.record {
        record(name, &report.steps)?;
    }
    print!("{}", report.tally);
    println!("matched {} of {}", report.matched(), report.predicted());
    Ok(if report.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn show(failure: &Failure, number: usize, cli: &Cli) -> anyhow::Result<()> {
    let step = failure.step.clone().with_committed_document();
    println!("{failure}");
    if let Some(folder) = &cli.findings {
        let file = folder.join(format!("{}-{number}.json", step.sequence().replace(' ', "-")));
        let text = format!("{}\n{}\n{}\n", failure.difference, step.line(), failure.prediction);
        fs::write(&file, text).with_context(|| format!("can't write {}", file.display()))?;
        println!("  see {}", file.display());
    }
    Ok(())
}

fn record(name: &str, steps: &[Step]) -> anyhow::Result<()> {
    let folder = transcript::folder();
    fs::create_dir_all(&folder).with_context(|| format!("can't create {}", folder.display()))?;
    let file = folder.join(format!("{name}.jsonl"));
    let lines: Vec<_> =
        steps.iter().map(|step| step.clone().with_committed_document().line() + "\n").collect();
    fs::write(&file, lines.concat()).with_context(|| format!("can't write {}", file.display()))?;
    println!("{} steps are in {}", steps.len(), file.display());
    Ok(())
}
