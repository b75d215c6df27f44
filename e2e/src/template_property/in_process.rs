//! Runs on API servers inside this process: many short ones side by side, each on a server of its own.

use std::{
    sync::{Mutex, PoisonError},
    time::Instant,
};

use baton_apiserver::Actor;
use baton_testbed::{Cluster, Error, lock};

use super::{
    findings::Findings,
    local::Local,
    run::{Effort, run},
};
use crate::{processors, servers};

/// How many cases a run has. The next run has the next seed.
const RUN: usize = 250;

/// Plays so many cases, as [`run`] does. `print` gets a line from time to time.
///
/// # Errors
/// As [`run`].
pub fn run_in_process(effort: Effort, print: impl Fn(&str) + Sync) -> Result<Findings, Error> {
    let (all, began) = (Mutex::new(Findings::default()), Instant::now());
    let runs = (0..effort.cases).step_by(RUN).zip(effort.seed..);
    processors::on_all(runs, |(done, seed)| {
        let run_effort = Effort { cases: RUN.min(effort.cases - done), seed, ..effort };
        let findings = servers::paused(async {
            // Nothing here depends on pods.
            let cluster = Cluster::in_process_without(Actor::Deployments)?;
            run(&mut Local::start(&cluster).await?, run_effort, |_| {}).await
        })?;
        let all = &mut *lock(&all);
        all.add(findings);
        all.took = began.elapsed();
        print(&all.progress(began.elapsed(), effort.cases));
        Ok(())
    })?;
    Ok(all.into_inner().unwrap_or_else(PoisonError::into_inner))
}
