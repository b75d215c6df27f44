//! The soak itself: users at work, a recorder that sees all writes, and a judgement at intervals.

use std::{pin::pin, sync::Arc, time::Duration};

use baton_crd::Workload;
use baton_testbed::{Cluster, Error, Event, MetricsApi, Random, Recorder, poll};
use k8s_openapi::api::{apps::v1::Deployment, autoscaling::v2::HorizontalPodAutoscaler};
use kube::core::ApiResource;

use super::{
    choice::{self, Kind},
    judge::{self, Judgement, Violation},
    seen, story,
    user::{Diary, User},
};
use crate::{Environment, OperatorOptions};

/// How often writes are judged and progress is reported.
const INTERVAL: Duration = Duration::from_secs(5);
/// What was seen within this time isn't judged yet, as long as the soak goes on.
const MOMENT: Duration = Duration::from_secs(2);
/// How long everything may take to come to rest in the end.
const REST: Duration = Duration::from_mins(2);

/// How much to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Switches of all Workloads together.
    pub switches: u32,
    /// Workloads.
    pub workloads: u32,
    /// Determines what is switched when.
    pub seed: u64,
}

/// The result of a soak.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The switches that were done, by kind.
    pub switches: [(Kind, usize); Kind::ALL.len()],
    /// The violations and the counts.
    pub judgement: Judgement,
    /// The history of the first Workload with a violation, if there is one.
    pub story: Option<String>,
    /// How long it took, until all was at rest.
    pub took: Duration,
}

/// Runs a soak in a namespace of its own, with an operator of its own, and ends with its first violation. `print` gets a line from
/// time to time.
///
/// # Errors
/// When something fails that isn't under test: a user's request, a watch, the operator's start.
///
/// # Panics
/// When a prediction of the operator was wrong.
pub async fn run(
    cluster: &Cluster,
    metrics: &MetricsApi,
    effort: Effort,
    print: impl Fn(&str),
) -> Result<Outcome, Error> {
    let env = Environment::new(cluster, "soak").await?;
    let mark = cluster.audit()?.mark()?;
    let operator = env.start_operator(OperatorOptions::default()).await?;
    let kinds = [
        ApiResource::erase::<Workload>(&()),
        ApiResource::erase::<Deployment>(&()),
        ApiResource::erase::<HorizontalPodAutoscaler>(&()),
    ];
    let recorder = Recorder::start(cluster, env.ns(), &kinds, None).await?;
    let began = recorder.began();
    let diary = Diary::new(began);

    let live = async |number: u32| {
        let switches =
            effort.switches / effort.workloads + u32::from(number < effort.switches % effort.workloads);
        let user = User::new(name(number), env.ns(), env.client.clone(), metrics, &diary);
        live(user, Random::new(effort.seed, number.into()), switches).await
    };
    let mut users = pin!(futures::future::try_join_all((0..effort.workloads).map(live)));
    let mut interval = tokio::time::interval_at(tokio::time::Instant::now() + INTERVAL, INTERVAL);
    let loads = loop {
        tokio::select! {
            loads = &mut users => break Some(loads?),
            _ = interval.tick() => {
                let judgement = judge::judge(&seen::sightings(&settled(&recorder)?)?);
                print(&progress(began.elapsed(), effort, &diary, &judgement));
                if !judgement.violations.is_empty() {
                    break None;
                }
            }
        }
    };
    let unrest = match loads {
        Some(loads) => until_rest(&recorder, &loads).await?,
        None => Vec::new(),
    };
    let sightings = seen::sightings(&recorder.events().await?)?;
    let took = began.elapsed();
    let mut judgement = judge::judge(&sightings);
    judgement.violations.extend(unrest);
    let story = match judgement.violations.first() {
        Some(violation) => {
            let requests = cluster.audit()?.since(mark)?.namespace(env.ns());
            Some(story::text(violation, &sightings, &diary.entries(), &requests, &operator.logs()))
        }
        None => None,
    };
    let outcome = Outcome { switches: diary.switches(), judgement, story, took };
    operator.stop().await?;
    Ok(outcome)
}

/// A Workload's name. With at least two digits, so that no name is a prefix of another.
fn name(number: u32) -> String {
    format!("web-{number:02}")
}

/// Creates and switches one Workload. Returns its last load, in pods.
async fn live(mut user: User<'_>, mut random: Random, switches: u32) -> Result<u32, Error> {
    let mut asked = choice::first(&mut random);
    let mut load = choice::load(&mut random);
    user.load(load);
    user.apply(None, &asked).await?;
    user.until_created().await?;
    for _ in 0..switches {
        let choice = choice::next(&mut random, &asked);
        asked = choice.asked;
        if let Some(before) = choice.load_before {
            load = before;
            user.load(load);
        }
        user.switch(&choice).await?;
        tokio::time::sleep(choice.pause / 2).await;
        if let Some(after) = choice.load_after {
            load = after;
            user.load(load);
        }
        tokio::time::sleep(choice.pause / 2).await;
    }
    Ok(load)
}

/// What was seen up to a moment ago. Later writes may be incomplete, because one watch may be slower than another.
fn settled(recorder: &Recorder) -> Result<Vec<Arc<Event>>, Error> {
    let until = recorder.began().elapsed().saturating_sub(MOMENT);
    let mut events = recorder.seen()?;
    events.retain(|event| event.at <= until);
    Ok(events)
}

/// Waits until every Workload is at rest under its last load. Returns those that aren't in the end.
async fn until_rest(recorder: &Recorder, loads: &[u32]) -> Result<Vec<Violation>, Error> {
    let rest = poll(REST, async || match unrest(recorder, loads).await {
        Ok(unrest) if !unrest.is_empty() => Err(unrest),
        outcome => Ok(outcome),
    });
    rest.await.unwrap_or_else(Ok)
}

async fn unrest(recorder: &Recorder, loads: &[u32]) -> Result<Vec<Violation>, Error> {
    let sightings = seen::sightings(&recorder.events().await?)?;
    let unrest = |(number, load): (u32, &u32)| {
        let workload = name(number);
        let own: Vec<_> = sightings.iter().filter(|one| one.workload == workload).cloned().collect();
        let revision = own.last().map_or(0, |last| last.revision);
        let wanted = i32::try_from(*load).unwrap_or(i32::MAX);
        let what = judge::unrest(&own, wanted)?;
        Some(Violation { revision, workload, what: format!("it doesn't come to rest: {what}") })
    };
    Ok((0..).zip(loads).filter_map(unrest).collect())
}

fn progress(at: Duration, effort: Effort, diary: &Diary, judgement: &Judgement) -> String {
    let switches: usize = diary.switches().iter().map(|(_, count)| count).sum();
    let tally = &judgement.tally;
    format!(
        "{:4} s: {switches} of {} switches, {} values, {} handovers, {} scalings, lowest margin {}",
        at.as_secs(),
        effort.switches,
        tally.values,
        tally.completed,
        tally.scaled_up + tally.scaled_down,
        tally.lowest_margin.map_or("–".to_owned(), |margin| margin.to_string()),
    )
}
