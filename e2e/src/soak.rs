//! A soak of the handover: a [plan](crate::simulation::plan) of the simulation, played on a real control plane with the real
//! HorizontalPodAutoscaler controller, and judged by the simulation's judge. Users change Workloads, autoscalers come and go, and
//! the load goes up and down.
//!
//! The judge needs the author of each write. The simulation knows it; here the audit log does. All objects are in one etcd, so that
//! their revisions are comparable. In the end, everything comes to rest, and each autoscaler has set what its load asks for.
//!
//! A seed determines what happens and when. The result also depends on the speed of the machine.

use std::{collections::BTreeMap, fmt::Write as _, time::Duration};

use baton_controller::HANDOVER_MANAGER;
use baton_crd::labels;
use baton_testbed::{AuditEntry, Cluster, Error, Mark, MetricsApi};
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client, api::PostParams};
use tokio::time::{Instant, sleep, sleep_until};

use crate::{
    Operator, OperatorOptions,
    simulation::{
        Judged, Plan, Violation, choice,
        judge::{Author, Judge},
        observer::{self, Observer, Version},
        plan::{Effect, Event, PER_POD, WorkloadId},
        rest::{Resting, violation_at_rest},
        run::story,
    },
};

/// How often progress is reported.
const INTERVAL: Duration = Duration::from_secs(5);
/// What was seen within this time isn't judged yet: one watch may be slower than another, and the audit log than all.
const MOMENT: Duration = Duration::from_secs(2);
/// How long everything may take to come to rest in the end.
const REST: Duration = Duration::from_mins(2);

/// How much to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// How often Workloads are changed, all together.
    pub switches: u32,
    /// Workloads.
    pub workloads: u8,
    /// Determines what happens when.
    pub seed: u64,
}

/// The result of a soak.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The first promise that was broken.
    pub violation: Option<Violation>,
    /// What the judge counts.
    pub judged: Judged,
    /// How often each event happened.
    pub events: BTreeMap<&'static str, u32>,
    /// What happened last, if a promise was broken.
    pub story: String,
    /// How long it took, until all was at rest.
    pub took: Duration,
}

/// Plays a soak on a cluster that nothing else uses, with an operator of its own, and ends with its first violation. `print` gets a
/// line from time to time.
///
/// # Errors
/// When something fails that isn't under test: a watch, the operator's start.
///
/// # Panics
/// When a prediction of the operator was wrong.
pub async fn run(
    cluster: &Cluster,
    metrics: &MetricsApi,
    effort: Effort,
    print: impl Fn(&str),
) -> Result<Outcome, Error> {
    let plan = choice::soak(effort.seed, effort.workloads, effort.switches);
    let mut soak = Soak::start(cluster, metrics).await?;
    soak.play(&plan, print).await?;
    if soak.violation.is_none() {
        soak.until_rest(effort.workloads).await?;
    }
    let violation = soak.violation.take();
    let story = violation.as_ref().map(|_| story(&soak.trace, &soak.operator.logs())).unwrap_or_default();
    soak.operator.stop().await?;
    let Soak { judge, events, began, .. } = soak;
    Ok(Outcome { violation, judged: judge.judged, events, story, took: began.elapsed() })
}

struct Soak<'a> {
    cluster: &'a Cluster,
    metrics: &'a MetricsApi,
    admin: Client,
    operator: Operator,
    observer: Observer,
    judge: Judge,
    began: Instant,
    /// What was seen, but isn't judged yet.
    pending: Vec<(Instant, Version)>,
    /// The authors of Baton's writes, by what they stored.
    authors: BTreeMap<u64, Author>,
    /// The end of the audit log when it was read last.
    mark: Mark,
    loads: BTreeMap<WorkloadId, u32>,
    events: BTreeMap<&'static str, u32>,
    /// Events and Baton's writes, for people.
    trace: Vec<String>,
    violation: Option<Violation>,
}

impl<'a> Soak<'a> {
    async fn start(cluster: &'a Cluster, metrics: &'a MetricsApi) -> Result<Self, Error> {
        let admin = cluster.admin().await?;
        for name in WorkloadId::NAMESPACES {
            let mut namespace = Namespace::default();
            namespace.metadata.name = Some(name.to_owned());
            let created = Api::all(admin.clone()).create(&PostParams::default(), &namespace).await;
            created.map_err(Error::api(format!("create the namespace {name}")))?;
        }
        let mark = cluster.audit()?.mark()?;
        let namespace = Some(WorkloadId::NAMESPACES.join(","));
        let operator =
            Operator::start(cluster, OperatorOptions { namespace, ..OperatorOptions::default() }).await?;
        let observer = Observer::start(admin.clone()).await.map_err(Error::api("watch all"))?;
        Ok(Self {
            cluster,
            metrics,
            admin,
            operator,
            observer,
            judge: Judge::default(),
            began: Instant::now(),
            pending: Vec::new(),
            authors: BTreeMap::new(),
            mark,
            loads: BTreeMap::new(),
            events: BTreeMap::new(),
            trace: Vec::new(),
            violation: None,
        })
    }

    async fn play(&mut self, plan: &Plan, print: impl Fn(&str)) -> Result<(), Error> {
        let (mut at, mut printed) = (self.began, self.began);
        for (number, timed) in plan.events.iter().enumerate() {
            self.happen(&timed.event).await;
            at += timed.pause;
            sleep_until(at).await;
            self.observe().await;
            if printed.elapsed() > INTERVAL {
                printed = Instant::now();
                self.judge_until(printed - MOMENT)?;
                print(&self.progress(number + 1, plan.events.len()));
            }
            if self.violation.is_some() {
                break;
            }
        }
        Ok(())
    }

    async fn happen(&mut self, event: &Event) {
        self.note(&event.to_string());
        *self.events.entry(event.kind.name).or_default() += 1;
        if let Effect::Load(workload, pods) = event.effect {
            let pods_of_it = format!("{}={}", labels::WORKLOAD, workload.name());
            self.metrics.set_cpu(workload.namespace(), &pods_of_it, pods * PER_POD);
            self.loads.insert(workload, pods);
        }
        for request in event.effect.requests() {
            // A user may delete what isn't there.
            let _ = self.admin.request_text(request).await;
        }
    }

    /// Reads the watches until none has an event.
    async fn observe(&mut self) {
        loop {
            let (now, seen) = (Instant::now(), self.observer.seen());
            if seen.is_empty() {
                break;
            }
            self.pending.extend(seen.into_iter().map(|version| (now, version)));
            // A connection hands over its next event only after this one was taken.
            sleep(Duration::from_millis(1)).await;
        }
    }

    /// Judges what was seen until then.
    fn judge_until(&mut self, end: Instant) -> Result<(), Error> {
        self.pending.sort_by_key(|(_, version)| version.revision);
        let log = self.cluster.audit()?;
        let (since, user) = (self.mark, self.operator.user().to_owned());
        self.mark = log.mark()?;
        for request in log.by_since(&user, since)?.writes().iter() {
            self.note(&request.to_string());
            self.authors.extend(author(request));
        }
        let due = self.pending.iter().take_while(|(at, _)| *at <= end).count();
        for (at, version) in self.pending.drain(..due) {
            let author = self.authors.get(&version.revision);
            let found = self.judge.next(&version, author, at - self.began);
            self.violation = self.violation.take().or(found);
        }
        Ok(())
    }

    /// Waits until every Workload is at rest under its last load.
    async fn until_rest(&mut self, workloads: u8) -> Result<(), Error> {
        let workloads: Vec<WorkloadId> = (0..workloads).map(WorkloadId).collect();
        let end = Instant::now() + REST;
        loop {
            sleep(MOMENT).await;
            self.observe().await;
            self.judge_until(Instant::now() - MOMENT)?;
            if self.violation.is_some() {
                return Ok(());
            }
            let resting = Resting {
                admin: &self.admin,
                now: self.cluster.now(),
                workloads: &workloads,
                metrics: vec![self.operator.metrics_text().await?],
            };
            let found = match violation_at_rest(&resting).await? {
                None => self.loads.iter().find_map(|(workload, load)| self.off_load(*workload, *load)),
                found => found,
            };
            if found.is_none() || Instant::now() > end {
                self.violation = found;
                return Ok(());
            }
        }
    }

    fn off_load(&self, workload: WorkloadId, load: u32) -> Option<Violation> {
        let how = self.judge.off_load(workload, load)?;
        Some(Violation { what: "an autoscaler follows the load".to_owned(), how })
    }

    fn note(&mut self, what: &str) {
        self.trace.push(format!("{:>12.3} {what}", self.began.elapsed().as_secs_f64()));
    }

    fn progress(&self, done: usize, all: usize) -> String {
        let judged = &self.judge.judged;
        format!(
            "{:4} s: {done} of {all} events, {} replica counts changed by Baton, {} by autoscalers, lowest margin {}",
            self.began.elapsed().as_secs(),
            judged.changes,
            judged.scalings,
            judged.lowest_margin.map_or("–".to_owned(), |margin| margin.to_string()),
        )
    }
}

/// The author of a write that was stored, by its revision.
fn author(request: &AuditEntry) -> Option<(u64, Author)> {
    let stored = request.response_object.as_ref().filter(|_| request.code.is_some_and(|code| code < 300))?;
    let revision = observer::revision(stored);
    let body = request.request_object.clone().unwrap_or_default();
    let hands_over = request.query("fieldManager").as_deref() == Some(HANDOVER_MANAGER)
        && body.pointer("/spec/replicas").is_some();
    // Passes of a Workload follow each other, so the status is the previous pass's until this one is over.
    Some((revision, Author::of(&body, hands_over, revision.saturating_sub(1))))
}

impl Outcome {
    /// The result as a table for people.
    pub fn table(&self, effort: Effort) -> String {
        let Effort { switches, workloads, seed } = effort;
        let took = self.took.as_secs_f64();
        let mut text =
            format!("{switches} switches of {workloads} Workloads, seed {seed}, in {took:.0} s\n\n");
        let events = self.events.iter().map(|(name, times)| (format!("  {name}"), times.to_string()));
        let judged = self.judged.rows().into_iter().map(|(what, value)| (what.to_owned(), value));
        let broken = u32::from(self.violation.is_some()).to_string();
        let rows = [("events".to_owned(), self.events.values().sum::<u32>().to_string())].into_iter();
        for (what, value) in rows.chain(events).chain(judged).chain([("violations".to_owned(), broken)]) {
            // Writing to a string can't fail.
            let _ = writeln!(text, "{what:<54}{value:>6}");
        }
        text
    }
}
