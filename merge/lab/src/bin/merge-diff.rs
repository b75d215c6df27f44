//! Sends generated requests to the Rust merge core and to the Go libraries of a release of Kubernetes, compares their
//! responses, and shows every difference as a small request that can be replayed by hand. The last line on standard output
//! is `matched X of Y`.

use std::{env, process::ExitCode};

use anyhow::{Context as _, Result};
use baton_merge_driver::corpus::{RECORDED, RELEASES};
use baton_merge_lab::{
    diff::{
        corpus,
        run::{Options, Report, Sides, run},
        shrink::shrink,
    },
    oracle::oracle,
    peer,
};
use baton_testbed::workspace;
use clap::Parser;

/// Compare the merge core with the libraries that a kube-apiserver is made of, over generated cases.
#[derive(Parser)]
struct Cli {
    /// Number of requests.
    #[arg(long, default_value_t = 100_000)]
    cases: u64,
    /// Seed of all choices: the same seed asks the same.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The release of Kubernetes whose libraries are asked, and whose rules the core follows.
    #[arg(long, value_parser = RELEASES, default_value = RECORDED)]
    release: String,
    /// Ask the libraries of this release too, instead of the core, to see what differs between releases.
    #[arg(long, value_parser = RELEASES, value_name = "RELEASE", conflicts_with = "left")]
    against: Option<String>,
    /// Keep the cases that are shown in the corpus.
    #[arg(long)]
    save: bool,
    /// Replay the corpus instead of asking what is generated, and compare its recorded responses too.
    #[arg(long)]
    corpus: bool,
    /// Ask the libraries of every release all of the corpus, and record their responses.
    #[arg(long)]
    record: bool,
    /// The command line of the left side, instead of the merge core.
    #[arg(long, value_name = "COMMAND")]
    left: Option<String>,
}

fn main() -> Result<ExitCode> {
    let cli = Cli::parse();
    // Paths in requests are relative to the workspace.
    env::set_current_dir(workspace()).with_context(|| format!("can't enter {}", workspace().display()))?;
    let libraries = |release: &str| peer::process(&[oracle(release)?.display().to_string()]);
    if cli.record {
        println!("recorded in {}", corpus::record(libraries)?.display());
        return Ok(ExitCode::SUCCESS);
    }
    let left = || match (&cli.left, &cli.against) {
        (Some(command), _) => {
            peer::process(&command.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        }
        (None, Some(release)) => libraries(release),
        (None, None) => Ok(peer::core()),
    };
    let right = || libraries(&cli.release);
    let sides = Sides { left: &left, right: &right };
    if cli.corpus {
        return replay(sides, &cli.release);
    }
    let options = Options {
        cases: cli.cases,
        seed: cli.seed,
        // Libraries of two releases are compared with their own defaults.
        profile: cli.against.is_none().then(|| cli.release.clone()),
    };
    let report = run(&options, sides)?;
    explain(&report, &cli, sides)?;
    print!("{}", report.tally);
    println!("abstained from {}", report.abstained());
    println!("matched {} of {}", report.matched(), report.answered());
    Ok(if report.matched() == report.answered() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Asks both sides every case of the corpus, and shows all that differ.
fn replay(sides: Sides<'_>, release: &str) -> Result<ExitCode> {
    let (mut left, mut right) = ((sides.left)()?, (sides.right)()?);
    let (asked, differences) = corpus::replay(&corpus::read()?, release, &mut left, &mut right)?;
    for difference in &differences {
        println!("{difference}");
    }
    println!("matched {} of {asked}", asked - differences.len());
    Ok(if differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The most differences that are shrunk and shown.
const SHOWN: usize = 5;

/// Shrinks the first failures and shows them.
fn explain(report: &Report, cli: &Cli, sides: Sides<'_>) -> Result<()> {
    if report.failures.is_empty() {
        return Ok(());
    }
    let (mut left, mut right) = ((sides.left)()?, (sides.right)()?);
    for (scenario, failure) in report.failures.iter().take(SHOWN) {
        let name = format!("seed {}, scenario {scenario}", cli.seed);
        let small = shrink(&mut left, &mut right, &failure.request)?;
        let only = if small.is_none() { " (only after what was asked before it)" } else { "" };
        let small = small.unwrap_or_else(|| failure.clone());
        println!("{name}: {}{only}", small.at);
        println!("  request {}\n  left    {}\n  right   {}", small.request, small.left, small.right);
        if cli.save {
            println!("  saved in {}", corpus::save(&corpus::folder(), &name, &small)?.display());
        }
    }
    Ok(())
}
