//! Asks two sides what the generators make, in batches, and keeps what differs. It judges nothing itself.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use baton_testbed::Json;

use super::{
    Error, Peer,
    compare::{Verdict, compare},
    generate::{Level, Scenario, Scenarios},
    tally::Tally,
};
use crate::oracle::Release;

/// How many requests a scenario has.
pub const STEPS: u64 = 16;
/// How many scenarios are asked about at a time: a batch has one request of each.
const LANES: u64 = 256;
/// How many cases that differ are kept by a job.
const KEPT: usize = 25;
/// How many of them may be of one scenario: the later ones often follow from the first.
const KEPT_OF_SCENARIO: usize = 1;

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
    pub profile: Option<Release>,
}

/// Starts a peer.
pub type Start<'a> = &'a (dyn Fn() -> Result<Box<dyn Peer>, Error> + Sync);

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
    /// The request.
    pub request: Json,
    /// The left answer.
    pub left: String,
    /// The right answer.
    pub right: String,
    /// In what they differ.
    pub verdict: Verdict,
}

/// What came out.
#[derive(Debug, Default)]
pub struct Report {
    /// All counts.
    pub tally: Tally,
    /// The first cases that differ.
    pub failures: Vec<Failure>,
}

/// How far a run is.
#[derive(Debug, Default)]
pub struct Progress {
    /// Requests that were answered.
    pub asked: AtomicU64,
    /// How many of them differ.
    pub differ: AtomicU64,
}

/// Asks all cases. `progress` may be watched meanwhile.
pub fn run(options: &Options, sides: Sides<'_>, progress: &Progress) -> Result<Report, Error> {
    let next = AtomicU64::new(0);
    let reports: Vec<Result<Report, Error>> = thread::scope(|scope| {
        let jobs: Vec<_> =
            (0..options.jobs.max(1)).map(|_| scope.spawn(|| job(options, sides, &next, progress))).collect();
        jobs.into_iter().map(|job| job.join().unwrap_or(Err(Error::Panicked))).collect()
    });
    let mut all = Report::default();
    for report in reports {
        let report = report?;
        all.tally.merge(&report.tally);
        all.failures.extend(report.failures);
    }
    all.failures.sort_by_key(|failure| (failure.scenario, failure.step));
    Ok(all)
}

/// Takes one group of scenarios after the other until all are asked.
fn job(options: &Options, sides: Sides<'_>, next: &AtomicU64, progress: &Progress) -> Result<Report, Error> {
    let scenarios = options.cases.div_ceil(STEPS);
    let (mut left_peer, mut right_peer) = ((sides.left)()?, (sides.right)()?);
    let mut report = Report::default();
    let mut source = Scenarios::new(options.seed, options.levels.clone());
    loop {
        let group = next.fetch_add(1, Ordering::Relaxed) * LANES;
        if group >= scenarios {
            return Ok(report);
        }
        let mut lanes: Vec<(u64, Box<dyn Scenario>)> = (group..scenarios.min(group + LANES))
            .map(|number| {
                let number = options.first + number;
                (number, source.scenario(number))
            })
            .collect();
        for step in 0..STEPS {
            // The last scenario may be shorter than the others.
            lanes.retain(|(number, _)| (number - options.first) * STEPS + step < options.cases);
            let requests: Vec<Json> =
                lanes.iter_mut().map(|(_, scenario)| complete(scenario.next(), options.profile)).collect();
            let batch: Arc<[String]> = requests.iter().map(Json::to_string).collect();
            right_peer.start(Arc::clone(&batch))?;
            left_peer.start(batch)?;
            let (lefts, rights) = (left_peer.finish()?, right_peer.finish()?);
            for (((number, scenario), request), (left, right)) in
                lanes.iter_mut().zip(requests).zip(lefts.into_iter().zip(rights))
            {
                let mut verdict = compare(&left, &right);
                if matches!(verdict, Verdict::Differs { .. })
                    && is_another_choice(&mut *right_peer, &request, &left)?
                {
                    verdict = Verdict::Matched;
                }
                let answer = right.parse().unwrap_or(Json::Null);
                report.tally.add(&request, &answer, &verdict);
                scenario.learn(&request, &answer);
                progress.asked.fetch_add(1, Ordering::Relaxed);
                if matches!(verdict, Verdict::Differs { .. }) {
                    progress.differ.fetch_add(1, Ordering::Relaxed);
                    let alike = report.failures.iter().filter(|known| known.scenario == *number).count();
                    if report.failures.len() < KEPT && alike < KEPT_OF_SCENARIO {
                        report.failures.push(Failure {
                            scenario: *number,
                            step,
                            request,
                            left,
                            right,
                            verdict,
                        });
                    }
                }
            }
        }
    }
}

/// The time of a write that doesn't say one: two clocks never agree for long.
const NOW: &str = "2026-01-02T03:04:05Z";

/// How often the right side is asked again whether it has only one answer.
const ASKED_AGAIN: usize = 24;

/// Whether the right side, asked again, gives the left one's answer too. The libraries walk over managers of several
/// versions in the random order of Go's maps, and what is pruned can depend on it.
fn is_another_choice(right: &mut dyn Peer, request: &Json, left: &str) -> Result<bool, Error> {
    let again = vec![request.to_string(); ASKED_AGAIN];
    Ok(right.ask(&again)?.iter().any(|answer| compare(left, answer) == Verdict::Matched))
}

/// Names the release in a request, and the time where a server would look at its clock.
fn complete(mut request: Json, profile: Option<Release>) -> Json {
    if request.get("gvk").is_some() && request.get("now").is_none() {
        request.set("now", NOW);
    }
    if let (Some(release), None) = (profile, request.get("profile")) {
        request.set("profile", release.name());
    }
    request
}
