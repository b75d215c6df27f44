//! Puts generated questions to the Rust merge core and to the Go libraries, compares their answers, and shows every
//! difference as a small request that can be replayed by hand. The last line on standard output is `matched X of Y`.

use std::{
    env,
    path::Path,
    process::ExitCode,
    sync::{Arc, atomic::Ordering, mpsc},
    thread,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use baton_e2e::merge_diff::{
    Error, Peer, ProcessPeer,
    compare::Verdict,
    corpus,
    generate::Level,
    run::{Failure, Options, Progress, Report, Sides, run},
    shrink::{Small, shrink},
    workspace,
};
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
    /// How many threads ask, each with peers of its own.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// How many differences to make small and to show.
    #[arg(long, default_value_t = 5)]
    show: usize,
    /// Keep the cases that are shown in the corpus.
    #[arg(long)]
    save: bool,
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
    let oracle = if cli.right.is_none() || cli.left.is_none() {
        baton_e2e::assets::oracle().map_err(Error::from)?
    } else {
        "unused".into()
    };
    let left = || peer(cli.left.as_deref(), &oracle);
    let right = || peer(cli.right.as_deref(), &oracle);
    let sides = Sides { left: &left, right: &right };
    let levels: Vec<_> = cli.level.iter().filter_map(|number| Level::from_number(*number)).collect();
    let options = Options {
        cases: cli.cases,
        seed: cli.seed,
        first: cli.first,
        levels: if levels.is_empty() { Level::ALL.to_vec() } else { levels },
        jobs: cli.jobs,
    };
    let report = watched(&options, sides)?;
    for (i, failure) in report.failures.iter().take(cli.show).enumerate() {
        println!("difference {} of {}", i + 1, report.tally.mismatched());
        explain(failure, &cli, sides)?;
    }
    print!("{}", report.tally);
    println!("abstained from {}", report.tally.abstained());
    println!("matched {} of {}", report.tally.matched(), report.tally.answered());
    Ok(if report.tally.mismatched() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn peer(command: Option<&str>, oracle: &Path) -> Result<Box<dyn Peer>, Error> {
    let command = match command {
        Some(command) => command.split_whitespace().map(str::to_owned).collect(),
        None => vec![oracle.display().to_string()],
    };
    Ok(Box::new(ProcessPeer::start(command)?))
}

/// Runs, and tells on standard error how far it is.
fn watched(options: &Options, sides: Sides<'_>) -> Result<Report, Error> {
    let progress = Arc::new(Progress::default());
    let (done, ended) = mpsc::channel::<()>();
    let (watched, cases) = (Arc::clone(&progress), options.cases);
    let began = Instant::now();
    let tell = move || {
        let (asked, differ) = (watched.asked.load(Ordering::Relaxed), watched.differ.load(Ordering::Relaxed));
        let rate = Duration::from_secs(asked).checked_div(1).unwrap_or_default().as_secs_f64()
            / began.elapsed().as_secs_f64();
        eprintln!("{asked} of {cases} cases, {rate:.0} a second, {differ} differ");
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

/// Makes a failure small, and shows it.
fn explain(failure: &Failure, cli: &Cli, sides: Sides<'_>) -> Result<(), Error> {
    let (mut left, mut right) = ((sides.left)()?, (sides.right)()?);
    let name = format!("seed {}, scenario {}, step {}", cli.seed, failure.scenario, failure.step);
    let small = shrink(left.as_mut(), right.as_mut(), &failure.request)?;
    let small = small.unwrap_or_else(|| {
        println!("it doesn't differ when it is asked alone: an answer depends on what was asked before");
        let at = match &failure.verdict {
            Verdict::Differs { at, .. } => at.clone(),
            _ => String::new(),
        };
        Small {
            request: failure.request.clone(),
            left: failure.left.clone(),
            right: failure.right.clone(),
            at,
        }
    });
    println!(
        "  {name}\n  {}\n  request {}\n  left    {}\n  right   {}",
        small.at, small.request, small.left, small.right
    );
    if cli.save {
        println!("  saved as {}", corpus::save(&corpus::folder(), &name, &small)?.display());
    }
    Ok(())
}
