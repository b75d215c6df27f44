//! Many runs, one seed after the other.

use std::{
    fmt::Write as _,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use baton_testbed::{Error, lock};

use super::{
    choice,
    events::EVENTS,
    plan::Plan,
    run::{Outcome, run},
    shrink::shrink,
    tally::Tally,
};
use crate::{handover_model::Fault, processors};

/// How often progress is reported.
const PROGRESS: Duration = Duration::from_secs(30);

/// The size of a series.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// The seed of the first run. Each further run has the next number.
    pub seed: u64,
    /// How many runs.
    pub runs: u64,
    /// No run begins after this time.
    pub time: Option<Duration>,
    /// The operator's fault.
    pub fault: Option<Fault>,
    /// It ends after so many runs that broke a promise.
    pub failures: usize,
    /// Whether a plan that breaks a promise is shrunk, which takes up to a minute.
    pub shrinks: bool,
}

/// A run that broke a promise.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The operator's fault.
    pub fault: Option<Fault>,
    /// The smallest plan that breaks the same promise.
    pub plan: Plan,
    /// Its result.
    pub outcome: Outcome,
}

/// The result of all runs.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// How many there were.
    pub runs: u64,
    /// Their sum.
    pub tally: Tally,
    /// Equal for two series with the same events.
    pub digest: u64,
    /// How long they took.
    pub took: Duration,
    /// The runs that broke a promise.
    pub failures: Vec<Failure>,
}

/// Plays runs, as many at once as there are processors. `print` gets a line of progress from time to time, and each failure.
///
/// # Errors
/// When something fails that isn't under test.
pub fn series(effort: Effort, print: impl FnMut(&str) + Send) -> Result<Series, Error> {
    let began = Instant::now();
    let done = Mutex::new((Series::default(), print, began));
    let goes_on = |_: &u64| {
        let is_over = effort.time.is_some_and(|time| began.elapsed() >= time);
        !is_over && lock(&done).0.failures.len() < effort.failures
    };
    let seeds = (effort.seed..effort.seed.saturating_add(effort.runs)).take_while(goes_on);
    processors::on_all(seeds, |seed| {
        let plan = choice::plan(seed);
        let outcome = run(&plan, effort.fault)?;
        let (tally, digest) = (outcome.tally.clone(), outcome.digest);
        let failure = outcome.violation.is_some().then(|| Failure::of(plan, outcome, effort));
        let (series, print, printed) = &mut *lock(&done);
        series.runs += 1;
        series.tally.add(&tally);
        series.digest ^= digest;
        series.took = began.elapsed();
        if let Some(failure) = failure {
            print(&failure.report());
            series.failures.push(failure);
        }
        if printed.elapsed() > PROGRESS {
            print(&series.progress());
            *printed = Instant::now();
        }
        Ok(())
    })?;
    let (mut series, ..) = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    series.failures.sort_by_key(|failure| failure.plan.seed);
    Ok(series)
}

impl Failure {
    fn of(plan: Plan, outcome: Outcome, effort: Effort) -> Self {
        let (plan, outcome) = if effort.shrinks {
            shrink(plan, outcome, |plan| run(plan, effort.fault).ok())
        } else {
            (plan, outcome)
        };
        Self { fault: effort.fault, plan, outcome }
    }

    /// The promise that was broken.
    pub fn what(&self) -> &str {
        self.outcome.violation.as_ref().map_or("nothing", |violation| &violation.what)
    }

    /// The promise, the plan, and what happened.
    pub fn report(&self) -> String {
        let Self { fault, plan, outcome } = self;
        let fault = fault.map(|fault| format!(" --fault {}", fault.name())).unwrap_or_default();
        let seed = plan.seed;
        let how = outcome.violation.as_ref().map_or("", |violation| &violation.how);
        format!(
            "seed {seed} breaks: {}\n{how}\n\nthe smallest plan that breaks it:\n{plan}\n{}\nto replay it: cargo simulate \
             --seed {seed} --runs 1{fault}\n",
            self.what(),
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

    /// The result as a table for requests.
    pub fn table(&self) -> String {
        let Self { runs, tally, digest, took, failures } = self;
        let mut text = String::new();
        let mut row = |what: &str, value: String| {
            // Writing to a string can't fail.
            let _ = writeln!(text, "{what:<54}{value:>14}");
        };
        row("runs", runs.to_string());
        row("runs that broke a promise", failures.len().to_string());
        row("time", format!("{:.1} s", took.as_secs_f64()));
        row("runs a second", format!("{:.1}", speed(*runs, *took)));
        row("simulated time", format!("{:.1} h", tally.simulated.as_secs_f64() / 3600.0));
        row("starts of operators", tally.starts.to_string());
        row("requests of operators", tally.requests.to_string());
        row("writes among them", tally.writes.to_string());
        tally.judged.rows().into_iter().for_each(|(what, value)| row(what, value));
        row("digest", format!("{digest:016x}"));
        row("events", tally.events.values().sum::<u64>().to_string());
        for name in EVENTS.iter().map(|kind| kind.name) {
            let times = tally.events.get(name).copied().unwrap_or_default();
            row(&format!("  {name}"), if times == 0 { "never".to_owned() } else { times.to_string() });
        }
        text
    }
}

#[expect(clippy::cast_precision_loss, reason = "for requests")]
fn speed(runs: u64, took: Duration) -> f64 {
    runs as f64 / took.as_secs_f64().max(f64::EPSILON)
}
