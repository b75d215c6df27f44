//! One operator over so many Workloads on a fresh server, from an empty cluster to an empty cluster.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use baton_testbed::{Error, wait_for};
use tokio::time::sleep;

use super::{
    figures::{Figures, Latency, Phase, Requests, Residence, Run, ServerKind},
    operator::{Running, Subject, requests},
    server::Server,
    timeline::{Observer, Timeline},
    workloads::{self, Children, Load},
};

/// How long one phase may take.
const LIMIT: Duration = Duration::from_hours(6);
/// How often the bench checks whether the operator is quiet, and whether everything is current.
const STEP: Duration = Duration::from_millis(500);
/// Less than this share of a core is quiet.
const BUSY: f64 = 0.05;
/// The writes in a step of a cluster at rest, such as of leases.
const AT_REST: u64 = 2;
/// How often progress is reported while a phase lasts.
const PROGRESS: Duration = Duration::from_secs(15);

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// How many Workloads there are.
    pub workloads: u32,
    /// How many are edited one at a time, at most all.
    pub singles: u32,
    /// How long nothing happens in the idle phase.
    pub idle: Duration,
    /// How long operator and cluster must be quiet at the end of each phase.
    pub quiet: Duration,
}

/// Runs all phases. `print` gets a line for each phase, and from time to time.
///
/// # Errors
/// When the server or the operator fails, when a phase takes hours, or when Baton predicted a write wrongly.
pub async fn run(
    kind: ServerKind,
    subject: &Subject,
    effort: Effort,
    print: impl Fn(&str),
) -> Result<Run, Error> {
    print(&format!("{} Workloads: starting a {}", effort.workloads, kind.name()));
    let server = Server::start(kind).await?;
    let client = server.client().await?;
    let observer = Observer::start(workloads::api(client.clone()));
    let load = Load::new(client, &observer, effort.workloads);
    load.prepare().await?;
    let bench = Bench { server: &server, observer: &observer, load: &load, effort, print: &print };
    let empty = load.children().await?;
    let full = empty.map(|count| count + u64::from(effort.workloads));
    let start = async || subject.start(server.kubeconfig(), &server.logs()).await;
    let mut phases = BTreeMap::new();
    let mut memory = Residence::default();
    let mut done = |phase: Phase, figures: Figures| {
        print(&format!(
            "{} Workloads: {}: {:.1} s, CPU {:.2} s, {} writes, {} reads",
            effort.workloads,
            phase.name(),
            figures.seconds,
            figures.cpu,
            figures.requests.writes,
            figures.requests.reads
        ));
        phases.insert(phase, figures);
    };

    let mark = Mark::before_start(&server)?;
    let operator = start().await?;
    let goal = bench.quiet(&operator).await?;
    done(Phase::Start, mark.figures(&bench, &operator, goal, 0).await?);
    memory.bare = operator.memory()?.resident;

    let mark = Mark::now(&server, &operator).await?;
    load.create().await?;
    bench.current(effort.workloads).await?;
    bench.children(full).await?;
    let goal = Instant::now();
    bench.quiet(&operator).await?;
    done(Phase::Create, mark.figures(&bench, &operator, goal, effort.workloads).await?);

    let mark = Mark::now(&server, &operator).await?;
    sleep(effort.idle).await;
    let idle = mark.figures(&bench, &operator, Instant::now(), 0).await?;
    done(Phase::Idle, idle);
    let settled = operator.memory()?;
    (memory.settled, memory.anonymous) = (settled.resident, settled.anonymous);

    let singles = effort.singles.min(effort.workloads);
    let mark = Mark::now(&server, &operator).await?;
    for single in 0..singles {
        // Spread over all.
        let number = u64::from(single) * u64::from(effort.workloads) / u64::from(singles);
        load.edit_one(u32::try_from(number).unwrap_or(0), "registry.example/shop/app:1.1.0").await?;
        bench.current(single + 1).await?;
    }
    let goal = Instant::now();
    bench.quiet(&operator).await?;
    done(Phase::EditOne, mark.figures(&bench, &operator, goal, singles).await?);

    let mark = Mark::now(&server, &operator).await?;
    load.edit("registry.example/shop/app:1.2.0").await?;
    bench.current(effort.workloads).await?;
    let goal = Instant::now();
    bench.quiet(&operator).await?;
    done(Phase::EditAll, mark.figures(&bench, &operator, goal, effort.workloads).await?);
    memory.peak = operator.memory()?.peak;
    none_was_mispredicted(&operator).await?;
    operator.stop().await?;

    let mark = Mark::before_start(&server)?;
    let operator = start().await?;
    let goal = bench.quiet(&operator).await?;
    done(Phase::Restart, mark.figures(&bench, &operator, goal, effort.workloads).await?);
    let restarted = operator.memory()?;
    (memory.restarted, memory.restart_peak) = (restarted.resident, restarted.peak);

    if subject.resyncs() {
        let mark = Mark::now(&server, &operator).await?;
        operator.hang_up()?;
        let goal = bench.quiet(&operator).await?;
        let mut figures = mark.figures(&bench, &operator, goal, effort.workloads).await?;
        figures.server_cpu = figures.server_cpu.zip(idle.server_cpu).map(|(used, in_idle)| {
            let lasted = figures.seconds + effort.quiet.as_secs_f64();
            (used - in_idle / idle.seconds * lasted).max(0.0)
        });
        done(Phase::Resync, figures);
    }

    let mark = Mark::now(&server, &operator).await?;
    load.delete().await?;
    bench.gone().await?;
    bench.children(empty).await?;
    let goal = Instant::now();
    bench.quiet(&operator).await?;
    done(Phase::Delete, mark.figures(&bench, &operator, goal, effort.workloads).await?);
    none_was_mispredicted(&operator).await?;
    operator.stop().await?;
    Ok(Run { operator: subject.name(), server: kind, workloads: effort.workloads, phases, memory })
}

async fn none_was_mispredicted(operator: &Running) -> Result<(), Error> {
    let wrong = operator.metrics().await?.count("baton_predictions_total", &[("outcome", "mismatch")]);
    if wrong == 0 {
        return Ok(());
    }
    Err(Error::parse("the operator's predictions")(format!("{wrong} were wrong")))
}

/// The parts of a run.
struct Bench<'b, S> {
    server: &'b Server,
    observer: &'b Observer,
    load: &'b Load<'b>,
    effort: Effort,
    print: &'b S,
}

impl<S: Fn(&str)> Bench<'_, S> {
    /// Waits until the operator has been quiet for a while, and no other client has written anything that it may have to react to.
    /// Returns since when.
    async fn quiet(&self, operator: &Running) -> Result<Instant, Error> {
        let end = Instant::now() + LIMIT;
        let (mut since, mut seen, mut cpu) = (Instant::now(), Instant::now(), operator.cpu()?);
        let mut version = self.load.version().await?;
        loop {
            sleep(STEP.min(self.effort.quiet)).await;
            let (now, used, latest) = (Instant::now(), operator.cpu()?, self.load.version().await?);
            let is_busy = used.saturating_sub(cpu).as_secs_f64() > BUSY * (now - seen).as_secs_f64();
            if is_busy || latest > version + AT_REST {
                since = now;
            }
            (seen, cpu, version) = (now, used, latest);
            if now - since >= self.effort.quiet {
                return Ok(since);
            }
            if now > end {
                let state = "it still works, or the cluster still changes".to_owned();
                return Err(Error::Timeout {
                    what: "the operator being quiet".to_owned(),
                    limit: LIMIT,
                    state,
                });
            }
        }
    }

    /// Waits until so many of the Workloads that were written in this phase are current.
    async fn current(&self, wanted: u32) -> Result<(), Error> {
        let count = async || Ok(self.observer.with(|timeline| timeline.done()));
        self.until("Workloads are current", wanted as usize, count).await
    }

    /// Waits until there are no Workloads.
    async fn gone(&self) -> Result<(), Error> {
        let all = self.effort.workloads as usize;
        self.until("Workloads are gone", all, async || {
            Ok(all.saturating_sub(self.observer.with(|timeline| timeline.existing())))
        })
        .await
    }

    /// Waits until there are so many children.
    async fn children(&self, wanted: Children) -> Result<(), Error> {
        self.until("kinds of children are complete", wanted.len(), async || {
            let found = self.load.children().await?;
            Ok(found.iter().zip(&wanted).filter(|(found, wanted)| found == wanted).count())
        })
        .await
    }

    async fn until(
        &self,
        what: &str,
        wanted: usize,
        count: impl AsyncFn() -> Result<usize, Error>,
    ) -> Result<(), Error> {
        let mut printed = Instant::now();
        wait_for(what, LIMIT, async || {
            let found = count().await?;
            let state = format!("{found} of {wanted} {what}");
            if printed.elapsed() >= PROGRESS {
                (self.print)(&state);
                printed = Instant::now();
            }
            Ok(if found == wanted { Ok(()) } else { Err(state) })
        })
        .await
    }
}

/// The counts at the beginning of a phase.
struct Mark {
    began: Instant,
    cpu: Duration,
    server_cpu: Option<Duration>,
    requests: Requests,
}

impl Mark {
    /// Before the operator is started: all that it does counts.
    fn before_start(server: &Server) -> Result<Self, Error> {
        let requests = Requests::default();
        Ok(Self { began: Instant::now(), cpu: Duration::ZERO, server_cpu: server.cpu()?, requests })
    }

    async fn now(server: &Server, operator: &Running) -> Result<Self, Error> {
        // The metrics first: the cost of serving them isn't part of the phase.
        let requests = requests(&operator.metrics().await?);
        Ok(Self { began: Instant::now(), cpu: operator.cpu()?, server_cpu: server.cpu()?, requests })
    }

    /// The cost since then, with the latencies of all Workloads that became current.
    async fn figures<S>(
        self,
        bench: &Bench<'_, S>,
        operator: &Running,
        goal: Instant,
        touched: u32,
    ) -> Result<Figures, Error> {
        let cpu = operator.cpu()?.saturating_sub(self.cpu).as_secs_f64();
        let server_cpu = bench.server.cpu()?.zip(self.server_cpu);
        let requests = requests(&operator.metrics().await?).since(self.requests);
        Ok(Figures {
            touched,
            seconds: goal.saturating_duration_since(self.began).as_secs_f64(),
            cpu,
            server_cpu: server_cpu.map(|(now, before)| now.saturating_sub(before).as_secs_f64()),
            requests,
            latency: Latency::of(bench.observer.with(Timeline::take)),
        })
    }
}
