//! Many runs, one seed after the other.

use std::{
    fmt::Write as _,
    time::{Duration, Instant},
};

use baton_testbed::Error;

use super::{
    choice,
    event::{Event, Plan},
    run::{Outcome, run},
    shrink::shrink,
    world::Tally,
};
use crate::handover_model::Fault;

/// How often something is said.
const PROGRESS: Duration = Duration::from_secs(30);

/// How much is done.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// The seed of the first run; each other one has the next.
    pub seed: u64,
    /// How many runs.
    pub runs: u64,
    /// No run begins after this time.
    pub time: Option<Duration>,
    /// What is wrong with the operator.
    pub fault: Option<Fault>,
    /// After so many runs that broke a promise it ends.
    pub failures: usize,
    /// Whether a plan that breaks a promise is shrunk, which takes up to a minute.
    pub shrinks: bool,
}

/// A run that broke a promise.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Its seed.
    pub seed: u64,
    /// The smallest plan that breaks the same promise.
    pub plan: Plan,
    /// What came of that.
    pub outcome: Outcome,
}

/// What came of all runs.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// How many there were.
    pub runs: u64,
    /// Their sum.
    pub tally: Tally,
    /// A number that is the same for two series in which the same happened.
    pub digest: u64,
    /// How long they took.
    pub took: Duration,
    /// Those that broke a promise.
    pub failures: Vec<Failure>,
}

/// Plays runs. `say` gets a line now and then, and what is to be told of a failure.
///
/// # Errors
/// When something fails that isn't under test.
pub fn series(effort: Effort, mut say: impl FnMut(&str)) -> Result<Series, Error> {
    let (began, mut said) = (Instant::now(), Instant::now());
    let mut series = Series::default();
    let is_time = || effort.time.is_none_or(|time| began.elapsed() < time);
    while series.runs < effort.runs && is_time() && series.failures.len() < effort.failures {
        let seed = effort.seed + series.runs;
        let plan = choice::plan(seed);
        let outcome = run(&plan, effort.fault)?;
        series.runs += 1;
        series.tally.add(&outcome.tally);
        series.digest = series.digest.rotate_left(5) ^ outcome.digest;
        if outcome.violation.is_some() {
            let (plan, outcome) = if effort.shrinks {
                shrink(plan, outcome, |plan| run(plan, effort.fault).ok())
            } else {
                (plan, outcome)
            };
            let failure = Failure { seed, plan, outcome };
            say(&failure.tell());
            series.failures.push(failure);
        }
        series.took = began.elapsed();
        if said.elapsed() > PROGRESS {
            say(&series.progress());
            said = Instant::now();
        }
    }
    Ok(series)
}

impl Failure {
    /// All that is to be said of it.
    pub fn tell(&self) -> String {
        let Self { seed, plan, outcome } = self;
        let (what, how) = match &outcome.violation {
            Some(violation) => (violation.what.as_str(), violation.how.as_str()),
            None => ("nothing", ""),
        };
        format!(
            "seed {seed} breaks: {what}\n{how}\n\nthe smallest plan that breaks it:\n{plan}\n{}\nagain: cargo simulate \
             --seed {seed} --runs 1\n",
            outcome.story
        )
    }
}

impl Series {
    fn progress(&self) -> String {
        let Self { runs, tally, took, failures, .. } = self;
        format!(
            "{:>6} s: {runs} runs, {:.1} a second, {} events, {} requests, {} failed",
            took.as_secs(),
            speed(*runs, *took),
            tally.events.values().sum::<u64>(),
            tally.requests,
            failures.len()
        )
    }

    /// What came of it, for people.
    pub fn table(&self) -> String {
        let Self { runs, tally, digest, took, failures } = self;
        let mut text = String::new();
        let mut row = |what: &str, value: String| {
            // Writing to a string can't fail.
            let _ = writeln!(text, "{what:<42}{value:>14}");
        };
        row("runs", runs.to_string());
        row("runs that broke a promise", failures.len().to_string());
        row("time", format!("{:.1} s", took.as_secs_f64()));
        row("runs a second", format!("{:.1}", speed(*runs, *took)));
        row("simulated time", format!("{:.1} h", tally.simulated.as_secs_f64() / 3600.0));
        row("starts of operators", tally.starts.to_string());
        row("requests of operators", tally.requests.to_string());
        row("writes among them", tally.writes.to_string());
        row("stored versions that were judged", tally.versions.to_string());
        row("numbers that Baton changed", tally.changes.to_string());
        row("digest", format!("{digest:016x}"));
        row("events", tally.events.values().sum::<u64>().to_string());
        for name in Event::NAMES {
            let times = tally.events.get(name).copied().unwrap_or_default();
            row(&format!("  {name}"), if times == 0 { "never".to_owned() } else { times.to_string() });
        }
        text
    }
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn speed(runs: u64, took: Duration) -> f64 {
    runs as f64 / took.as_secs_f64().max(f64::EPSILON)
}
