//! Puts generated questions to the Rust merge core and to the Go libraries of a release of Kubernetes, compares their
//! answers, and shows every difference as a small request that can be replayed by hand. The last line on standard output
//! is `matched X of Y`.

use std::{env, process::ExitCode};

use anyhow::{Context as _, Result};
use baton_merge_driver::corpus::{RECORDED, RELEASES};
use baton_merge_lab::{
    diff::{
        corpus,
        generate::Level,
        run::{Failure, Options, Report, Sides, run},
        shrink::{Small, shrink},
    },
    oracle::oracle,
    peer::{CorePeer, Peer, ProcessPeer},
};
use baton_testbed::workspace;
use clap::Parser;

/// Compare the merge core with the libraries that a kube-apiserver is made of, over generated cases.
#[derive(Parser)]
struct Cli {
    /// How many requests to ask.
    #[arg(long, default_value_t = 100_000)]
    cases: u64,
    /// What all choices follow from: the same seed asks the same.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Begin with this scenario. Each has 16 requests.
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Ask only on these levels of the protocol.
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..=3))]
    level: Vec<u8>,
    /// The release of Kubernetes whose libraries are asked, and whose rules the core follows.
    #[arg(long, value_parser = RELEASES, default_value = RECORDED)]
    release: String,
    /// Ask the libraries of this release too, instead of the core, to see what differs between releases.
    #[arg(long, value_parser = RELEASES, value_name = "RELEASE", conflicts_with = "left")]
    against: Option<String>,
    /// How many threads ask, each with peers of its own.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// How many differences to make small and to show.
    #[arg(long, default_value_t = 5)]
    show: usize,
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
    /// The command line of the right side, instead of the oracle.
    #[arg(long, value_name = "COMMAND")]
    right: Option<String>,
}

fn main() -> Result<ExitCode> {
    let cli = Cli::parse();
    // Paths in requests are relative to the workspace.
    env::set_current_dir(workspace()).with_context(|| format!("can't enter {}", workspace().display()))?;
    if cli.record {
        let start = |release: &str| ProcessPeer::boxed(libraries(release)?);
        println!("recorded in {}", corpus::record(start)?.display());
        return Ok(ExitCode::SUCCESS);
    }
    let right_command = match &cli.right {
        Some(command) => words(command),
        None => libraries(&cli.release)?,
    };
    let left_command = match (&cli.left, &cli.against) {
        (Some(command), _) => Some(words(command)),
        (None, Some(release)) => Some(libraries(release)?),
        (None, None) => None,
    };
    let left = || match &left_command {
        Some(command) => ProcessPeer::boxed(command.clone()),
        None => Ok(Box::new(CorePeer::default()) as Box<dyn Peer>),
    };
    let right = || ProcessPeer::boxed(right_command.clone());
    let sides = Sides { left: &left, right: &right };
    if cli.corpus {
        return replay(sides, &cli.release);
    }
    let levels: Vec<_> = cli.level.iter().filter_map(|number| Level::from_number(*number)).collect();
    let options = Options {
        cases: cli.cases,
        seed: cli.seed,
        first: cli.first,
        levels: if levels.is_empty() { Level::ALL.to_vec() } else { levels },
        jobs: cli.jobs,
        // The libraries of two releases don't answer for the same one.
        profile: cli.against.is_none().then(|| cli.release.clone()),
    };
    let report = run(&options, sides)?;
    explain(&report, &cli, sides)?;
    print!("{}", report.tally);
    println!("abstained from {}", report.abstained());
    println!("matched {} of {}", report.matched(), report.answered());
    Ok(if report.matched() == report.answered() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The command line of the libraries of a release.
fn libraries(release: &str) -> Result<Vec<String>> {
    Ok(vec![oracle(release)?.display().to_string()])
}

/// Asks every case of the corpus, and shows all that differ.
fn replay(sides: Sides<'_>, release: &str) -> Result<ExitCode> {
    let (left, right) = (&mut *(sides.left)()?, &mut *(sides.right)()?);
    let (asked, differences) = corpus::replay(&corpus::read()?, release, left, right)?;
    for difference in &differences {
        println!("{difference}");
    }
    println!("matched {} of {asked}", asked - differences.len());
    Ok(if differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn words(command: &str) -> Vec<String> {
    command.split_whitespace().map(str::to_owned).collect()
}

/// Makes the failures small, and shows one of each sort.
fn explain(report: &Report, cli: &Cli, sides: Sides<'_>) -> Result<()> {
    if report.failures.is_empty() {
        return Ok(());
    }
    let (mut left, mut right) = ((sides.left)()?, (sides.right)()?);
    let mut sorts: Vec<(String, String, Small, usize)> = Vec::new();
    for failure in &report.failures {
        let small = shrink(left.as_mut(), right.as_mut(), &failure.case.request)?;
        let small = small.unwrap_or_else(|| alone(failure));
        let sort = small.shape();
        if let Some((.., count)) = sorts.iter_mut().find(|(known, ..)| *known == sort) {
            *count += 1;
        } else if sorts.len() < cli.show {
            let name = format!("seed {}, scenario {}, step {}", cli.seed, failure.scenario, failure.step);
            sorts.push((sort, name, small, 1));
        } else {
            break;
        }
    }
    for (_, name, small, count) in sorts {
        println!("{name}, and {} like it: {}", count - 1, small.at);
        println!("  request {}\n  left    {}\n  right   {}", small.request, small.left, small.right);
        if cli.save {
            println!("  saved in {}", corpus::save(&corpus::folder(), &name, &small)?.display());
        }
    }
    Ok(())
}

/// A failure that can't be made small, since it is none when it is asked alone.
fn alone(failure: &Failure) -> Small {
    let case = failure.case.clone();
    Small { at: format!("{} (only after what was asked before it)", case.at), ..case }
}
