//! A simulated cluster: a server with its actors, operators that run the real code, users, and a network that loses and delays
//! requests and responses.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use baton_apiserver::{Actor, ApiServer, Load};
use baton_testbed::{Error, lock};
use http::Request;
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use tokio::time::{Instant, sleep, sleep_until};

use super::{
    faulty::Faulty,
    judge::{Author, Judge, Violation},
    network::{Network, Process, Ticket, What},
    observer::Observer,
    origin::{INSTALLED, START},
    plan::{Effect, Event, OperatorId, PER_POD, Plan, Trigger, WorkloadId},
    requests,
    tally::Tally,
    trace::Trace,
};
use crate::{
    handover_model::{Delivery, Fault},
    logs::Log,
    operator::in_process::InProcess,
};

/// A fifth of the usual renewals.
const ELECTION: [&str; 4] =
    ["--lease-namespace=baton-system", "--lease-duration=75s", "--renew-deadline=50s", "--retry-period=10s"];
/// The actors that create the pods of Deployments, or that depend on pods.
const POD_MAKERS: [Actor; 3] = [Actor::Deployments, Actor::Pods, Actor::DisruptionBudgets];
/// The time for one delivery. All tasks finish their work in between.
const TICK: Duration = Duration::from_millis(1);
/// How often the simulation checks whether a process has ended.
const POLL_INTERVAL: Duration = Duration::from_secs(5);
/// How long after its end a process is started again.
const RESTART: Duration = Duration::from_secs(2);
/// Ten times the average number of requests in a run.
const MOST: u64 = 3_000;

/// The cluster.
pub(crate) struct SimulatedCluster {
    server: ApiServer,
    pub(super) admin: Client,
    pub(super) began: Instant,
    pub(super) network: Network,
    observer: Observer,
    pub(super) judge: Judge,
    pub(super) random: fastrand::Rng,
    elected: bool,
    hosts: Vec<Host>,
    /// The log of each process, in the order of their starts.
    logs: Vec<Log>,
    lags: Vec<(&'static str, Instant)>,
    pub(super) deliveries: Vec<(Trigger, Delivery)>,
    /// How many requests are refused, and with which status code.
    pub(super) refuses: (u8, u16),
    pub(super) contentions: Vec<Contention>,
    /// The server restarts next, with its history if true.
    pub(super) restarts: Option<bool>,
    pub(super) trace: Arc<Mutex<Trace>>,
    pub(super) violation: Option<Violation>,
    pub(super) faulty: Option<Faulty>,
    pub(super) tally: Tally,
}

/// The place in which an operator runs.
pub(super) struct Host {
    operator: OperatorId,
    running: Option<(Process, InProcess)>,
    starts_at: Instant,
    /// The deviation of its clock, for the next process.
    pub(super) skew: SignedDuration,
    cut_off_until: Instant,
}

/// A manager that applies the same again and again.
pub(super) struct Contention {
    workload: WorkloadId,
    every: Duration,
    left: u8,
    next: Instant,
}

impl Contention {
    /// From now on, so many times.
    pub(super) fn new(workload: WorkloadId, every: Duration, times: u8) -> Self {
        Self { workload, every, left: times, next: Instant::now() }
    }
}

impl SimulatedCluster {
    /// A cluster in which only Baton is installed.
    pub(super) async fn new(plan: &Plan, fault: Option<Fault>) -> Result<Self, Error> {
        let began = Instant::now();
        let trace = Arc::<Mutex<Trace>>::default();
        let lines = trace.clone();
        let server = ApiServer::builder()
            .actors(Actor::all().filter(|actor| plan.has_pods || !POD_MAKERS.contains(actor)))
            .clock(move || time_since(began))
            .audit(move |line| lock(&lines).request(line));
        let started = server.like(&INSTALLED).start();
        let server = started.map_err(Error::parse("how a simulated server starts"))?;
        let admin = server.client();
        let observer = Observer::start(admin.clone()).await.map_err(Error::api("watch all"))?;
        let operators = if plan.elected { 0..2 } else { 0..1 };
        let host = |number| Host {
            operator: OperatorId(number),
            running: None,
            starts_at: began,
            skew: SignedDuration::ZERO,
            cut_off_until: began,
        };
        Ok(Self {
            server,
            admin,
            began,
            network: Network::default(),
            observer,
            judge: Judge::default(),
            random: fastrand::Rng::with_seed(plan.seed),
            elected: plan.elected,
            hosts: operators.map(host).collect(),
            logs: Vec::new(),
            lags: Vec::new(),
            deliveries: Vec::new(),
            refuses: (0, 0),
            contentions: Vec::new(),
            restarts: None,
            trace,
            violation: None,
            faulty: fault.map(Faulty::new),
            tally: Tally::default(),
        })
    }

    pub(super) fn now(&self) -> Timestamp {
        time_since(self.began)
    }

    /// The logs of the operators, one process after the other.
    pub(super) fn log(&self) -> String {
        self.logs.iter().map(Log::text).collect()
    }

    /// Makes an event happen.
    pub(super) async fn happen(&mut self, event: &Event) {
        lock(&self.trace).note(self.began.elapsed(), &format!("-- {event}"));
        *self.tally.events.entry(event.kind.name).or_default() += 1;
        match &event.effect {
            Effect::Load(workload, pods) => {
                let load = Load::Millicores(pods * PER_POD);
                self.server.set_load(workload.namespace(), "Deployment", &workload.name(), load);
            }
            Effect::Disturb(act) => act(self),
            Effect::Apply(..) | Effect::Requests(_) => {
                for request in event.effect.requests() {
                    self.ask(request).await;
                }
            }
        }
    }

    /// Ends all disturbances.
    pub(super) fn calm(&mut self) {
        self.deliveries.clear();
        self.refuses = (0, 0);
        self.lags.clear();
        self.contentions.clear();
        let now = Instant::now();
        self.hosts.iter_mut().for_each(|host| host.cut_off_until = now);
    }

    /// Lets this much time pass. Ends early when a promise is broken.
    pub(super) async fn pass(&mut self, time: Duration) -> Result<(), Error> {
        if let Some(keeps_history) = self.restarts.take() {
            self.observe(None);
            self.server.restart(keeps_history);
            self.observer.begin().await.map_err(Error::api("watch again"))?;
        }
        let until = Instant::now() + time;
        while self.violation.is_none() {
            self.observe(None);
            self.keep_running()?;
            self.contend().await;
            if Instant::now() >= until {
                break;
            }
            let (ready, next) = self.ready();
            if ready.is_empty() {
                let at = self.next_moment().into_iter().chain(next).fold(until, Instant::min);
                tokio::select! {
                    biased;
                    () = self.network.arrived() => {}
                    () = sleep_until(at) => {}
                }
                continue;
            }
            sleep(TICK).await;
            let (ready, _) = self.ready();
            if ready.is_empty() {
                continue;
            }
            let ticket = &ready[self.random.usize(..ready.len())];
            if let Some(item) = self.network.take(ticket) {
                self.deliver(ticket, item).await;
            }
            if self.tally.requests > MOST {
                self.violation = Some(Violation {
                    what: "the operators stop sending requests".to_owned(),
                    how: format!("there were {} requests", self.tally.requests),
                });
            }
        }
        self.tally.simulated = self.began.elapsed();
        self.tally.judged = self.judge.judged.clone();
        Ok(())
    }

    /// The items that may be delivered now, and when more may be.
    fn ready(&self) -> (Vec<Ticket>, Option<Instant>) {
        self.network.ready(|ticket, item| {
            let host = self.hosts.iter().find(|host| host.operator == ticket.process.operator);
            let lag = match &item.what {
                What::Event(event) => self
                    .lags
                    .iter()
                    .filter(|(what, _)| *what == event.resource)
                    .map(|(_, until)| *until)
                    .max(),
                _ => None,
            };
            host.map(|host| host.cut_off_until).max(lag)
        })
    }

    pub(super) fn host(&mut self, operator: OperatorId) -> Option<&mut Host> {
        self.hosts.iter_mut().find(|host| host.operator == operator)
    }

    /// The process of an operator, if it runs.
    pub(super) fn running(&self, operator: OperatorId) -> Option<&InProcess> {
        let host = self.hosts.iter().find(|host| host.operator == operator)?;
        host.running.as_ref().map(|(_, running)| running)
    }

    /// The operators that run.
    pub(super) fn operators(&self) -> impl Iterator<Item = &InProcess> {
        self.hosts.iter().filter_map(|host| Some(&host.running.as_ref()?.1))
    }

    /// Cuts an operator off for so long. What was sent arrives afterwards.
    pub(super) fn cut_off(&mut self, operator: OperatorId, time: Duration) {
        let until = Instant::now() + time;
        self.host(operator).into_iter().for_each(|host| host.cut_off_until = until);
    }

    /// Delays the events of watches of a resource for so long.
    pub(super) fn delay_watches(&mut self, resource: &'static str, time: Duration) {
        self.lags.push((resource, Instant::now() + time));
    }

    /// Restarts the operators that have ended, after a while.
    fn keep_running(&mut self) -> Result<(), Error> {
        let (now, time) = (Instant::now(), self.now());
        for host in &mut self.hosts {
            if let Some((process, _)) = host.running.take_if(|(_, operator)| operator.end().is_some()) {
                self.network.gone(process, false);
                host.starts_at = now + RESTART;
            }
            if host.running.is_some() || host.starts_at > now {
                continue;
            }
            self.tally.starts += 1;
            let process = Process { operator: host.operator, start: self.tally.starts };
            let mut args = Vec::new();
            if self.elected {
                let identity = format!("--identity=baton-{}-{}", process.operator.0, process.start);
                args.extend(["--leader-elect".to_owned(), identity]);
                args.extend(ELECTION.map(str::to_owned));
            }
            let time = time.saturating_add(host.skew).unwrap_or(time);
            lock(&self.trace).note(self.began.elapsed(), &format!("-- {} starts", process.operator));
            let operator = InProcess::start(self.network.client(process), &args, time)?;
            self.logs.push(operator.log.clone());
            host.running = Some((process, operator));
        }
        Ok(())
    }

    pub(super) fn kill(&mut self, operator: OperatorId, keeps_requests: bool) {
        let network = self.network.clone();
        if let Some(host) = self.host(operator)
            && let Some((process, running)) = host.running.take()
        {
            running.kill();
            network.gone(process, keeps_requests);
            host.starts_at = Instant::now() + RESTART;
        }
    }

    /// When something is due that doesn't come from the network.
    fn next_moment(&self) -> Option<Instant> {
        let poll = Instant::now() + POLL_INTERVAL;
        let start = |host: &Host| if host.running.is_none() { host.starts_at } else { poll };
        self.hosts.iter().map(start).chain(self.contentions.iter().map(|contention| contention.next)).min()
    }

    async fn contend(&mut self) {
        let now = Instant::now();
        let mut due = Vec::new();
        for contention in self.contentions.iter_mut().filter(|contention| contention.next <= now) {
            contention.left -= 1;
            contention.next = now + contention.every;
            due.push(contention.workload);
        }
        self.contentions.retain(|contention| contention.left > 0);
        for workload in due {
            self.ask(requests::contention(workload)).await;
        }
    }

    /// Sends a request of another client, and ignores its response.
    async fn ask(&mut self, request: Request<Vec<u8>>) {
        self.observe(None);
        let _ = self.admin.request_text(request).await;
        self.observe(None);
    }

    /// Judges what was stored since the last call. `author` wrote the version with this number.
    pub(super) fn observe(&mut self, author: Option<(u64, &Author)>) {
        for version in self.observer.seen() {
            let author =
                author.filter(|(revision, _)| *revision == version.revision).map(|(_, author)| author);
            self.network.is_at(version.revision);
            let found = self.judge.next(&version, author, self.began.elapsed());
            if self.violation.is_none() {
                self.violation = found;
            }
        }
    }
}

fn time_since(began: Instant) -> Timestamp {
    START.saturating_add(began.elapsed()).unwrap_or(Timestamp::MAX)
}
