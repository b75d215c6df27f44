//! One run: plays a plan in a cluster of its own, under paused time, and judges it.

use std::time::Duration;

use baton_testbed::{Error, lock};

use super::{
    cluster::SimulatedCluster,
    events::{DELETE, Made},
    judge::Violation,
    origin,
    plan::{Event, Plan, WorkloadId},
    rest::{self, Resting},
    tally::Tally,
};
use crate::{handover_model::Fault, operator::mismatches::mismatches, servers};

/// By then every failure has been retried.
const BACKED_OFF: Duration = Duration::from_mins(6);
/// By then every contention is over too.
const CALMED: Duration = Duration::from_mins(20);
/// By then the children of a deleted Workload are gone.
const COLLECTED: Duration = Duration::from_mins(1);
/// By then Baton has sent the applies of every Workload again, even without a change.
const RESYNC: Duration = Duration::from_hours(3);
/// How many lines of the log and of the requests are shown for a run that failed.
const SHOWN: usize = 60;

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The first promise that was broken.
    pub violation: Option<Violation>,
    /// The counters.
    pub tally: Tally,
    /// Equal for two runs with the same events in the same order.
    pub digest: u64,
    /// The last events, if a promise was broken.
    pub story: String,
}

/// Plays a plan, with operators that may have a fault.
///
/// # Errors
/// When something fails that isn't under test.
///
/// # Panics
/// When no runtime can be built.
pub fn run(plan: &Plan, fault: Option<Fault>) -> Result<Outcome, Error> {
    origin::install();
    fastrand::seed(plan.seed);
    servers::paused(async {
        let mut cluster = SimulatedCluster::new(plan, fault).await?;
        let found = play(&mut cluster, plan).await?;
        // An operator with a fault doesn't receive what it predicts.
        let violation = found.or_else(|| predicted_wrongly(&cluster.log()).filter(|_| fault.is_none()));
        let (digest, story) = {
            let trace = lock(&cluster.trace);
            let story = violation.as_ref().map(|_| story(trace.lines(), &cluster.log()));
            (trace.digest(), story.unwrap_or_default())
        };
        Ok(Outcome { violation, tally: cluster.tally.clone(), digest, story })
    })
}

async fn play(cluster: &mut SimulatedCluster, plan: &Plan) -> Result<Option<Violation>, Error> {
    cluster.pass(Duration::from_secs(2)).await?;
    for timed in &plan.events {
        cluster.happen(&timed.event).await;
        cluster.pass(timed.pause).await?;
    }
    cluster.calm();
    let contended = plan.events.iter().any(|timed| timed.event.kind.contends);
    cluster.pass(BACKED_OFF).await?;
    let mut broken = at_rest(cluster).await?;
    if broken.is_some() && contended {
        cluster.pass(CALMED).await?;
        broken = at_rest(cluster).await?;
    }
    if broken.is_some() {
        return Ok(broken);
    }
    let mark = lock(&cluster.trace).mark();
    cluster.pass(plan.quiet).await?;
    if let Some(broken) = at_rest(cluster).await? {
        return Ok(Some(broken));
    }
    if let Some(broken) = rest::writes(&lock(&cluster.trace), mark, plan.quiet > RESYNC) {
        return Ok(Some(broken));
    }
    for workload in WorkloadId::SIMULATED {
        cluster.happen(&Event::of(DELETE, Made::deleted(workload))).await;
    }
    cluster.pass(COLLECTED).await?;
    at_rest(cluster).await
}

async fn at_rest(cluster: &SimulatedCluster) -> Result<Option<Violation>, Error> {
    if let Some(broken) = &cluster.violation {
        return Ok(Some(broken.clone()));
    }
    let metrics =
        cluster.operators().map(|operator| operator.view.metrics().map_err(Error::parse("metrics")));
    rest::violation_at_rest(&Resting {
        admin: &cluster.admin,
        now: cluster.now(),
        workloads: &WorkloadId::SIMULATED,
        metrics: metrics.collect::<Result<_, _>>()?,
    })
    .await
}

/// The first wrong prediction in an operator's log.
pub(crate) fn predicted_wrongly(log: &str) -> Option<Violation> {
    let line = mismatches(log).next()?;
    Some(Violation { what: "predictions are right".to_owned(), how: line.to_owned() })
}

/// The end of what happened, for people.
pub(crate) fn story(trace: &[String], log: &str) -> String {
    let mut text = "what happened last:\n".to_owned();
    for line in &trace[trace.len().saturating_sub(SHOWN)..] {
        text.push_str("  ");
        text.push_str(&shortened(line));
        text.push('\n');
    }
    text.push_str("the end of the operators' log:\n");
    let lines: Vec<&str> = log.lines().collect();
    for line in &lines[lines.len().saturating_sub(SHOWN)..] {
        text.push_str("  ");
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// A line of the audit log, without bodies.
fn shortened(line: &str) -> String {
    match baton_testbed::AuditEntry::without_bodies(line) {
        Ok(request) => format!("  {request}"),
        Err(_) => line.to_owned(),
    }
}
