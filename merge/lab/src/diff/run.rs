//! Asks two sides what the generators make, in batches, and keeps what differs. It judges nothing itself.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread::{self, ScopedJoinHandle},
    time::{Duration, Instant},
};

use anyhow::{Result, anyhow};
use baton_testbed::Json;

use super::{
    compare::{Verdict, compare},
    generate::{Level, Scenario, Scenarios},
    shrink::Small,
    traits::{kind, traits},
};
use crate::{peer::Peer, tally::Tally};

/// How many requests a scenario has.
pub const STEPS: u64 = 16;
/// How many scenarios are asked about at a time: a batch has one request of each.
const LANES: u64 = 256;
/// How many cases that differ are kept by a job.
const KEPT: usize = 25;
/// How many of them may be of one scenario: the later ones often follow from the first.
const KEPT_OF_SCENARIO: usize = 1;

/// How often progress is told.
const TELL: Duration = Duration::from_secs(5);

/// What to ask.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many requests.
    pub cases: u64,
    /// What all choices follow from.
    pub seed: u64,
    /// The scenario to begin with; each has [`STEPS`] requests.
    pub first: u64,
    /// Which levels of the protocol.
    pub levels: Vec<Level>,
    /// How many threads, each with peers of its own.
    pub jobs: usize,
    /// The release that the requests name; without one the peers answer as they like best.
    pub profile: Option<String>,
}

/// Starts a peer.
pub type Start<'a> = &'a (dyn Fn() -> Result<Box<dyn Peer>> + Sync);

/// The two that are asked. What the right one answers leads to the next question, so it should be the oracle.
#[derive(Clone, Copy)]
pub struct Sides<'a> {
    /// The one that is tested.
    pub left: Start<'a>,
    /// The one that is believed.
    pub right: Start<'a>,
}

/// A case in which the sides differ.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Its scenario, which [`Options::first`] leads back to.
    pub scenario: u64,
    /// Which request of the scenario, counted from zero.
    pub step: u64,
    /// The case as it was asked.
    pub case: Small,
}

/// What came out.
#[derive(Debug)]
pub struct Report {
    /// All counts.
    pub tally: Tally,
    /// The first cases that differ.
    pub failures: Vec<Failure>,
}

impl Report {
    fn new() -> Self {
        Self { tally: Tally::new(&["matched", "errors", "abstained", "differ"]), failures: Vec::new() }
    }

    fn add(&mut self, request: &Json, answer: &Json, verdict: &Verdict) {
        let outcome = match verdict {
            Verdict::Matched => 0,
            Verdict::ErrorsAgreed => 1,
            Verdict::Abstained => 2,
            Verdict::Differs { .. } => 3,
        };
        let kind = kind(request);
        let traits = traits(request, answer);
        let traits: Vec<_> = traits.into_iter().map(|name| ("of which", format!("{kind} {name}"))).collect();
        self.tally.add(outcome, traits.into_iter().chain([("level and operation", kind)]));
    }

    /// Questions with the same answer, refusals included.
    pub fn matched(&self) -> u64 {
        self.tally.count(&[0, 1])
    }

    /// Those that a side abstained from.
    pub fn abstained(&self) -> u64 {
        self.tally.count(&[2])
    }

    /// Those that both sides answered.
    pub fn answered(&self) -> u64 {
        self.tally.count(&[0, 1, 3])
    }
}

/// How far a run is, which it tells on standard error now and then.
struct Progress {
    cases: u64,
    asked: AtomicU64,
    differ: AtomicU64,
    began: Instant,
    told: Mutex<Instant>,
}

impl Progress {
    fn new(cases: u64) -> Self {
        let now = Instant::now();
        Self { cases, asked: AtomicU64::new(0), differ: AtomicU64::new(0), began: now, told: Mutex::new(now) }
    }

    fn add(&self, asked: u64, differ: u64) {
        let asked = self.asked.fetch_add(asked, Ordering::Relaxed) + asked;
        let differ = self.differ.fetch_add(differ, Ordering::Relaxed) + differ;
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if asked >= self.cases || told.elapsed() > TELL {
            *told = Instant::now();
            let rate = u128::from(asked) * 1000 / self.began.elapsed().as_millis().max(1);
            eprintln!("{asked} of {} cases, {rate} a second, {differ} differ", self.cases);
        }
    }
}

/// Asks all cases.
pub fn run(options: &Options, sides: Sides<'_>) -> Result<Report> {
    let (next, progress) = (AtomicU64::new(0), Progress::new(options.cases));
    let reports: Vec<_> = thread::scope(|scope| {
        let job = || scope.spawn(|| job(options, sides, &next, &progress));
        let jobs: Vec<_> = (0..options.jobs.max(1)).map(|_| job()).collect();
        jobs.into_iter().map(ScopedJoinHandle::join).collect()
    });
    let mut all = Report::new();
    for report in reports {
        let report = report.map_err(|_| anyhow!("a job of the run panicked; the message is above"))??;
        all.tally.merge(report.tally);
        all.failures.extend(report.failures);
    }
    all.failures.sort_by_key(|failure| (failure.scenario, failure.step));
    Ok(all)
}

/// Takes one group of scenarios after the other until all are asked.
fn job(options: &Options, sides: Sides<'_>, next: &AtomicU64, progress: &Progress) -> Result<Report> {
    let scenarios = options.cases.div_ceil(STEPS);
    let (mut left_peer, mut right_peer) = ((sides.left)()?, (sides.right)()?);
    let mut report = Report::new();
    let mut source = Scenarios::new(options.seed, options.levels.clone());
    loop {
        let group = next.fetch_add(1, Ordering::Relaxed) * LANES;
        if group >= scenarios {
            return Ok(report);
        }
        let mut lanes: Vec<(u64, Box<dyn Scenario>)> = (group..scenarios.min(group + LANES))
            .map(|number| (options.first + number, source.scenario(options.first + number)))
            .collect();
        for step in 0..STEPS {
            // The last scenario may be shorter than the others.
            lanes.retain(|(number, _)| (number - options.first) * STEPS + step < options.cases);
            let requests: Vec<Json> = lanes
                .iter_mut()
                .map(|(_, scenario)| complete(scenario.next(), options.profile.as_deref()))
                .collect();
            let batch: Arc<[String]> = requests.iter().map(Json::to_string).collect();
            right_peer.start(Arc::clone(&batch))?;
            left_peer.start(batch)?;
            let responses = left_peer.finish()?.into_iter().zip(right_peer.finish()?);
            let mut differ = 0;
            for (((number, scenario), request), (left, right)) in
                lanes.iter_mut().zip(requests).zip(responses)
            {
                let mut verdict = compare(&left, &right);
                if matches!(verdict, Verdict::Differs { .. })
                    && is_another_choice(&mut *right_peer, &request, &left)?
                {
                    verdict = Verdict::Matched;
                }
                let answer = right.parse().unwrap_or(Json::Null);
                report.add(&request, &answer, &verdict);
                scenario.learn(&request, &answer);
                if let Verdict::Differs { at, .. } = verdict {
                    differ += 1;
                    let alike = report.failures.iter().filter(|known| known.scenario == *number).count();
                    if report.failures.len() < KEPT && alike < KEPT_OF_SCENARIO {
                        let case = Small { request, left, right, at };
                        report.failures.push(Failure { scenario: *number, step, case });
                    }
                }
            }
            progress.add(lanes.len() as u64, differ);
        }
    }
}

/// The time of a write that doesn't say one: two clocks never agree for long.
const NOW: &str = "2026-01-02T03:04:05Z";

/// How often the right side is asked again whether it has only one answer.
const ASKED_AGAIN: usize = 24;

/// Whether the right side, asked again, gives the left one's answer too. The libraries walk over managers of several
/// versions in the random order of Go's maps, and what is pruned can depend on it.
fn is_another_choice(right: &mut dyn Peer, request: &Json, left: &str) -> Result<bool> {
    let again = vec![request.to_string(); ASKED_AGAIN];
    Ok(right.ask(&again)?.iter().any(|answer| compare(left, answer) == Verdict::Matched))
}

/// Names the release in a request, and the time where a server would look at its clock.
fn complete(mut request: Json, profile: Option<&str>) -> Json {
    if request.get("gvk").is_some() && request.get("now").is_none() {
        request.set("now", NOW);
    }
    if let (Some(release), None) = (profile, request.get("profile")) {
        request.set("profile", release);
    }
    request
}
