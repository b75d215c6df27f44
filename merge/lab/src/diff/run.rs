//! Asks two sides the generated requests in batches, and keeps the differences.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    thread::{self, ScopedJoinHandle},
};

use anyhow::{Result, anyhow};
use baton_testbed::Json;

use super::{
    compare::{Verdict, compare},
    generate::{Scenario, Scenarios},
    shrink::Difference,
};
use crate::{
    peer::Peer,
    tally::Tally,
    traits::{kind, traits},
};

/// The requests of a scenario.
const STEPS: u64 = 16;
/// The scenarios at a time: a batch has one request of each.
const LANES: u64 = 256;
/// The most differences that a job keeps, each of another scenario: later ones often follow from the first.
const KEPT: usize = 25;

/// The requests of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The number of requests.
    pub cases: u64,
    /// The seed of all choices.
    pub seed: u64,
    /// The release that the requests name; without one each peer uses its default.
    pub profile: Option<String>,
}

/// Starts a peer.
pub type Start<'a> = &'a (dyn Fn() -> Result<Peer> + Sync);

/// The compared sides. The right one's response leads to the next request, so it should be the oracle.
#[derive(Clone, Copy)]
pub struct Sides<'a> {
    /// The tested side.
    pub left: Start<'a>,
    /// The trusted side.
    pub right: Start<'a>,
}

/// The results of a run.
#[derive(Debug)]
pub struct Report {
    /// All counts.
    pub tally: Tally,
    /// The first differences, each with the number of its scenario.
    pub failures: Vec<(u64, Difference)>,
}

impl Report {
    fn new() -> Self {
        Self { tally: Tally::new(&["matched", "errors", "abstained", "differ"]), failures: Vec::new() }
    }

    fn add(&mut self, request: &Json, response: &Json, verdict: &Verdict) {
        let outcome = match verdict {
            Verdict::Matched => 0,
            Verdict::ErrorsAgreed => 1,
            Verdict::Abstained => 2,
            Verdict::Differs { .. } => 3,
        };
        let kind = kind(request);
        let traits = traits(request, response).into_iter().map(|name| format!("{kind}: {name}"));
        self.tally.add(outcome, traits.chain([kind.clone()]));
    }

    /// Requests with equal responses, errors included.
    pub fn matched(&self) -> u64 {
        self.tally.count(&[0, 1])
    }

    /// Requests that a side abstained from.
    pub fn abstained(&self) -> u64 {
        self.tally.count(&[2])
    }

    /// Requests that both sides responded to.
    pub fn answered(&self) -> u64 {
        self.tally.count(&[0, 1, 3])
    }
}

/// Asks all cases.
pub fn run(options: &Options, sides: Sides<'_>) -> Result<Report> {
    let next = AtomicU64::new(0);
    let jobs = thread::available_parallelism().map_or(1, usize::from);
    let reports: Vec<_> = thread::scope(|scope| {
        let jobs: Vec<_> = (0..jobs).map(|_| scope.spawn(|| job(options, sides, &next))).collect();
        jobs.into_iter().map(ScopedJoinHandle::join).collect()
    });
    let mut all = Report::new();
    for report in reports {
        let report = report.map_err(|_| anyhow!("a job of the run panicked; the message is above"))??;
        all.tally.merge(report.tally);
        all.failures.extend(report.failures);
    }
    all.failures.sort_by_key(|(scenario, _)| *scenario);
    Ok(all)
}

/// Takes groups of scenarios until all are asked.
fn job(options: &Options, sides: Sides<'_>, next: &AtomicU64) -> Result<Report> {
    let scenarios = options.cases.div_ceil(STEPS);
    let (mut left_peer, mut right_peer) = ((sides.left)()?, (sides.right)()?);
    let mut report = Report::new();
    let mut source = Scenarios::new(options.seed);
    loop {
        let group = next.fetch_add(1, Ordering::Relaxed) * LANES;
        if group >= scenarios {
            return Ok(report);
        }
        let mut lanes: Vec<(u64, Box<dyn Scenario>)> =
            (group..scenarios.min(group + LANES)).map(|number| (number, source.scenario(number))).collect();
        for step in 0..STEPS {
            // The last scenario may be shorter than the others.
            lanes.retain(|(number, _)| number * STEPS + step < options.cases);
            let requests: Vec<Json> = lanes
                .iter_mut()
                .map(|(_, scenario)| complete(scenario.next(), options.profile.as_deref()))
                .collect();
            let batch: Vec<String> = requests.iter().map(Json::to_string).collect();
            let responses = left_peer(&batch)?.into_iter().zip(right_peer(&batch)?);
            for (((number, scenario), request), (left, right)) in
                lanes.iter_mut().zip(requests).zip(responses)
            {
                let mut verdict = compare(&left, &right);
                if matches!(verdict, Verdict::Differs { .. })
                    && is_another_choice(&mut right_peer, &request, &left)?
                {
                    verdict = Verdict::Matched;
                }
                let response = right.parse().unwrap_or(Json::Null);
                report.add(&request, &response, &verdict);
                scenario.learn(&request, &response);
                if let Verdict::Differs { at, .. } = verdict
                    && report.failures.len() < KEPT
                    && report.failures.iter().all(|(known, _)| known != number)
                {
                    report.failures.push((*number, Difference { request, left, right, at }));
                }
            }
        }
    }
}

/// The time of a write without one: two clocks never agree for long.
const NOW: &str = "2026-01-02T03:04:05Z";

/// How often the right side is asked again for other responses.
const ASKED_AGAIN: usize = 24;

/// Whether the right side, asked again, gives the left one's response as well. The libraries walk over managers of several
/// versions in the random order of Go's maps, and pruning can depend on it.
fn is_another_choice(right: &mut Peer, request: &Json, left: &str) -> Result<bool> {
    let again = vec![request.to_string(); ASKED_AGAIN];
    Ok(right(&again)?.iter().any(|response| compare(left, response) == Verdict::Matched))
}

/// Adds the release, and the time of a write without one.
fn complete(mut request: Json, profile: Option<&str>) -> Json {
    if request.get("gvk").is_some() && request.get("now").is_none() {
        request.set("now", NOW);
    }
    if let (Some(release), None) = (profile, request.get("profile")) {
        request.set("profile", release);
    }
    request
}
