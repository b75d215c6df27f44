//! Explores a configuration to its end, and reports what was found.

use std::{
    collections::BTreeSet,
    num::NonZeroUsize,
    thread,
    time::{Duration, Instant},
};

use stateright::{Checker, HasDiscoveries, Model};

use super::{
    configurations::Configuration, fault::Fault, model::Handover, occurrences::Occurrences,
    properties::Promise, trace::Trace,
};

/// How far an exploration has come.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// States that were reached, counted each time.
    pub states: usize,
    /// Different states.
    pub unique: usize,
    /// The longest of the shortest paths to a state.
    pub depth: usize,
    /// How long it took.
    pub time: Duration,
}

/// The result of an exploration.
#[derive(Clone, Debug)]
pub struct Exploration {
    /// How far it went.
    pub progress: Progress,
    /// How often each occurrence happened.
    pub occurrences: Occurrences,
    /// The objects that were stored, the passes at each of their points, and the responses of the API server: each different.
    pub sizes: [usize; 3],
    /// A shortest path to a broken promise, if there is one.
    pub broken: Option<Trace>,
}

/// Explores a configuration with an operator that may have a fault, until all states are visited or a promise is broken.
pub fn explore(
    configuration: Configuration,
    fault: Option<Fault>,
    mut report: impl FnMut(Progress),
) -> Exploration {
    let model = Handover::new(configuration, fault);
    let (progress, mut broken) = search(&model, None, &mut report);
    // The checker visits some more states before it stops, and reports the last broken one.
    while let Some(trace) = &broken {
        let (_, shorter) = search(&model, Some(trace.states()), &mut report);
        let is_as_useful = |shorter: &Trace| shorter.has_happened() || !trace.has_happened();
        let Some(shorter) = shorter.filter(is_as_useful) else { break };
        broken = Some(shorter);
    }
    let machinery = model.machinery();
    let (objects, responses) = machinery.server.sizes();
    Exploration {
        progress,
        occurrences: machinery.occurrences.clone(),
        sizes: [objects, machinery.operator.passes(), responses],
        broken,
    }
}

/// Searches for a broken promise, on paths of fewer states than this.
fn search(
    model: &Handover,
    shorter_than: Option<usize>,
    report: &mut impl FnMut(Progress),
) -> (Progress, Option<Trace>) {
    const POLL_INTERVAL: Duration = Duration::from_millis(20);
    const REPORT_INTERVAL: Duration = Duration::from_secs(5);
    let began = Instant::now();
    // An operator that doesn't come to rest is shown only if nothing worse happens.
    let worse = Promise::all().iter().copied().filter(|promise| *promise != Promise::Rest);
    let worse: BTreeSet<&str> = worse.map(Promise::name).collect();
    let mut builder = model.clone().checker().finish_when(HasDiscoveries::AnyOf(worse.clone()));
    if let Some(depth) = shorter_than.and_then(NonZeroUsize::new) {
        builder = builder.target_max_depth(depth.get());
    }
    let mut checker = builder.spawn_bfs();
    let handles = checker.handles();
    let mut reported = Instant::now();
    let progress = |states, unique, depth| Progress { states, unique, depth, time: began.elapsed() };
    while !handles.iter().all(thread::JoinHandle::is_finished) {
        thread::sleep(POLL_INTERVAL);
        if reported.elapsed() > REPORT_INTERVAL {
            report(progress(checker.state_count(), checker.unique_state_count(), checker.max_depth()));
            reported = Instant::now();
        }
    }
    for handle in handles {
        handle.join().expect("the model doesn't panic");
    }
    let progress = progress(checker.state_count(), checker.unique_state_count(), checker.max_depth());
    let traces = checker.discoveries().into_iter().map(|(name, path)| {
        let is_worse = worse.contains(name);
        (!is_worse, Trace::new(model, &path.into_vec()))
    });
    let broken = traces.min_by_key(|(rank, trace)| (*rank, trace.states())).map(|(_, trace)| trace);
    (progress, broken)
}

impl Exploration {
    /// The promises that were broken.
    pub fn promises(&self) -> Vec<Promise> {
        self.broken.as_ref().map(|trace| trace.broken.clone()).unwrap_or_default()
    }
}
