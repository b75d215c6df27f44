//! Puts generated questions to the Rust merge core and to the Go libraries of a release of Kubernetes, compares their
//! answers, and shows every difference as a small request that can be replayed by hand. The last line on standard output
//! is `matched X of Y`.

use std::{
    env,
    process::ExitCode,
    sync::{Arc, atomic::Ordering, mpsc},
    thread,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use baton_e2e::{
    merge_diff::{
        CorePeer, Error, Peer, ProcessPeer,
        compare::Verdict,
        corpus,
        generate::Level,
        run::{Failure, Options, Progress, Report, Sides, run},
        shrink::{Small, shrink},
    },
    oracle::{self, Release},
};
use baton_testbed::{Json, workspace};
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
    #[arg(long, value_enum, default_value_t)]
    release: Release,
    /// Ask the libraries of this release too, instead of the core, to see what differs between releases.
    #[arg(long, value_enum, value_name = "RELEASE", conflicts_with = "left")]
    against: Option<Release>,
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

/// How often progress is told.
const TELL: Duration = Duration::from_secs(5);

fn main() -> anyhow::Result<ExitCode> {
    let cli = Cli::parse();
    // Paths in requests are relative to the workspace.
    env::set_current_dir(workspace()).with_context(|| format!("can't enter {}", workspace().display()))?;
    if cli.record {
        let start = |release| Ok(Box::new(ProcessPeer::start(oracle(release)?)?) as Box<dyn Peer>);
        println!("recorded in {}", corpus::record(start)?.display());
        return Ok(ExitCode::SUCCESS);
    }
    let right_command = match &cli.right {
        Some(command) => words(command),
        None => oracle(cli.release)?,
    };
    let left_command = match (&cli.left, cli.against) {
        (Some(command), _) => Some(words(command)),
        (None, Some(release)) => Some(oracle(release)?),
        (None, None) => None,
    };
    let left = || -> Result<Box<dyn Peer>, Error> {
        Ok(match &left_command {
            Some(command) => Box::new(ProcessPeer::start(command.clone())?),
            None => Box::new(CorePeer::new()),
        })
    };
    let right =
        || -> Result<Box<dyn Peer>, Error> { Ok(Box::new(ProcessPeer::start(right_command.clone())?)) };
    let sides = Sides { left: &left, right: &right };
    if cli.corpus {
        return replay(sides, cli.release);
    }
    let levels: Vec<_> = cli.level.iter().filter_map(|number| Level::from_number(*number)).collect();
    let options = Options {
        cases: cli.cases,
        seed: cli.seed,
        first: cli.first,
        levels: if levels.is_empty() { Level::ALL.to_vec() } else { levels },
        jobs: cli.jobs,
        // The libraries of two releases don't answer for the same one.
        profile: cli.against.is_none().then_some(cli.release),
    };
    let report = watched(&options, sides)?;
    explain(&report, &cli, sides)?;
    print!("{}", report.tally);
    println!("abstained from {}", report.tally.abstained());
    println!("matched {} of {}", report.tally.matched(), report.tally.answered());
    Ok(if report.tally.mismatched() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The command line of the libraries of a release.
fn oracle(release: Release) -> Result<Vec<String>, Error> {
    Ok(vec![oracle::oracle(release)?.display().to_string()])
}

/// Asks every case of the corpus, and shows all that differ.
fn replay(sides: Sides<'_>, release: Release) -> anyhow::Result<ExitCode> {
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

/// Runs, and tells on standard error how far it is.
fn watched(options: &Options, sides: Sides<'_>) -> Result<Report, Error> {
    let progress = Arc::new(Progress::default());
    let (done, ended) = mpsc::channel::<()>();
    let (watched, cases) = (Arc::clone(&progress), options.cases);
    let began = Instant::now();
    let tell = move || {
        let (asked, differ) = (watched.asked.load(Ordering::Relaxed), watched.differ.load(Ordering::Relaxed));
        let rate = u128::from(asked) * 1000 / began.elapsed().as_millis().max(1);
        eprintln!("{asked} of {cases} cases, {rate} a second, {differ} differ");
    };
    let teller = thread::spawn(move || {
        while let Err(mpsc::RecvTimeoutError::Timeout) = ended.recv_timeout(TELL) {
            tell();
        }
        tell();
    });
    let report = run(options, sides, &progress);
    drop(done);
    teller.join().map_err(|_| Error::Panicked)?;
    report
}

/// Makes the failures small, and shows one of each sort.
fn explain(report: &Report, cli: &Cli, sides: Sides<'_>) -> Result<(), Error> {
    if report.failures.is_empty() {
        return Ok(());
    }
    let (mut left, mut right) = ((sides.left)()?, (sides.right)()?);
    let mut sorts: Vec<(String, String, Small, usize)> = Vec::new();
    for failure in &report.failures {
        let small = shrink(left.as_mut(), right.as_mut(), &failure.request)?;
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
    let at = match &failure.verdict {
        Verdict::Differs { at, .. } => at.as_str(),
        _ => "",
    };
    Small {
        request: failure.request.clone(),
        left: failure.left.clone(),
        right: failure.right.clone(),
        at: format!("{at} (only after what was asked before it)"),
    }
}
