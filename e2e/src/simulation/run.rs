//! One run: plays a plan in a cluster of its own, under paused time, and judges it.

use std::time::Duration;

use baton_testbed::{Error, lock};

use super::{
    event::{Event, Plan, Site},
    judge::Violation,
    origin, rest,
    tally::Tally,
    world::World,
};
use crate::{handover_model::Fault, servers};

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
    /// What is counted.
    pub tally: Tally,
    /// Equal for two runs with the same events in the same order.
    pub digest: u64,
    /// What happened last, if a promise was broken.
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
        let mut world = World::new(plan, fault).await?;
        let found = play(&mut world, plan).await?;
        // An operator with a fault doesn't receive what it predicts.
        let violation = found.or_else(|| predicted_wrongly(&world.log()).filter(|_| fault.is_none()));
        let (digest, story) = {
            let trace = lock(&world.trace);
            let story = violation.as_ref().map(|_| story(trace.lines(), &world.log()));
            (trace.digest(), story.unwrap_or_default())
        };
        Ok(Outcome { violation, tally: world.tally.clone(), digest, story })
    })
}

async fn play(world: &mut World, plan: &Plan) -> Result<Option<Violation>, Error> {
    world.pass(Duration::from_secs(2)).await?;
    for step in &plan.steps {
        world.happen(&step.event).await?;
        world.pass(step.pause).await?;
    }
    world.calm();
    let contends = |event: &Event| {
        use Event::{Contention, Edit, Remove, Rogue, Scale, ScaleWorkload, TheirScale, Visit};
        matches!(
            event,
            Edit(..)
                | Contention(..)
                | Remove(..)
                | Rogue(..)
                | Scale(..)
                | ScaleWorkload(..)
                | TheirScale(..)
                | Visit(..)
        )
    };
    let contended = plan.steps.iter().any(|step| contends(&step.event));
    world.pass(BACKED_OFF).await?;
    let mut broken = at_rest(world).await?;
    if broken.is_some() && contended {
        world.pass(CALMED).await?;
        broken = at_rest(world).await?;
    }
    if broken.is_some() {
        return Ok(broken);
    }
    let mark = lock(&world.trace).mark();
    world.pass(plan.quiet).await?;
    if let Some(broken) = at_rest(world).await? {
        return Ok(Some(broken));
    }
    if let Some(broken) = rest::writes(world, mark, plan.quiet > RESYNC) {
        return Ok(Some(broken));
    }
    for site in Site::ALL {
        world.happen(&Event::Delete(site)).await?;
    }
    world.pass(COLLECTED).await?;
    at_rest(world).await
}

async fn at_rest(world: &World) -> Result<Option<Violation>, Error> {
    if let Some(broken) = &world.violation {
        return Ok(Some(broken.clone()));
    }
    rest::unrest(world).await
}

fn predicted_wrongly(log: &str) -> Option<Violation> {
    let line = log.lines().find(|line| line.contains("prediction mismatch"))?;
    Some(Violation { what: "predictions are right".to_owned(), how: line.to_owned() })
}

/// The end of what happened.
fn story(trace: &[String], log: &str) -> String {
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
