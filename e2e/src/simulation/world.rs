//! A simulated cluster: a server with its actors, operators that run the real code, people, and a wire on which things get
//! lost and come late.

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock, Mutex},
    time::Duration,
};

use baton_apiserver::{Actor, ApiServer, Load};
use baton_testbed::{Error, lock, workspace};
use bytes::Bytes;
use http::{
    HeaderValue, Request, Response, StatusCode,
    header::{AUTHORIZATION, CONTENT_TYPE},
};
use jiff::{SignedDuration, Timestamp};
use kube::{Client, client::Body};
use serde_json::{Value, json};
use tokio::{
    runtime::Builder,
    time::{Instant, sleep, sleep_until},
};

use super::{
    event::{Event, Plan, Site, Slot},
    faulty::{self, About, Faulty},
    judge::{Author, Judge, Violation},
    network::{Answer, AnswerBody, Item, Network, NoResponse, Process, Reply, Sent, Ticket, What, is_write},
    observer::{self, Observer},
    people, rest,
    trace::Trace,
};
use crate::{
    handover_model::{Fate, Fault},
    logs::Log,
    operator::in_process::InProcess,
    soak::choice::PER_POD,
};

/// The operator's user, as the manifests have it.
pub(super) const USER: &str = "system:serviceaccount:baton-system:baton";
const CREDENTIALS: &str = "Bearer system:serviceaccount:baton-system:baton";
/// When a run begins, by the server's clock.
const START: Timestamp = Timestamp::constant(1_767_225_600, 0);
/// A fifth of the renewals that there usually are.
const ELECTION: [&str; 4] =
    ["--lease-namespace=baton-system", "--lease-duration=75s", "--renew-deadline=50s", "--retry-period=10s"];
/// The actors that make pods of Deployments, and what goes by pods.
const POD_MAKERS: [Actor; 3] = [Actor::Deployments, Actor::Pods, Actor::DisruptionBudgets];
/// How long one thing on the wire takes. In between everybody comes to do what there is to do.
const TICK: Duration = Duration::from_millis(1);
/// How often somebody looks whether a process has ended.
const GLANCE: Duration = Duration::from_secs(5);
/// So long after its end a process is started again.
const RESTART: Duration = Duration::from_secs(2);
/// How long it is until a write arrives that its sender has given up.
const LATE: [u64; 4] = [5, 300, 4000, 31_000];
/// No run has that much to say.
const MOST: u64 = 300_000;

/// The cluster.
pub(super) struct World {
    server: ApiServer,
    pub(super) admin: Client,
    began: Instant,
    network: Network,
    observer: Observer,
    pub(super) judge: Judge,
    random: fastrand::Rng,
    elected: bool,
    slots: Vec<Place>,
    /// Of each process, in the order of their starts.
    logs: Vec<Log>,
    lags: Vec<(&'static str, Instant)>,
    fates: BTreeMap<u64, Fate>,
    refuses: (u8, u16),
    fights: Vec<Fight>,
    pub(super) trace: Arc<Mutex<Trace>>,
    pub(super) violation: Option<Violation>,
    faulty: Option<Faulty>,
    pub(super) tally: Tally,
}

/// What is counted of a run.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Requests of operators that reached the server.
    pub requests: u64,
    /// Those that could change something.
    pub writes: u64,
    /// Processes of operators.
    pub starts: u32,
    /// Stored versions that were judged.
    pub versions: u64,
    /// Numbers that Baton changed.
    pub changes: u64,
    /// How often each event happened.
    pub events: BTreeMap<&'static str, u64>,
    /// How much time passed in the cluster.
    pub simulated: Duration,
}

impl Tally {
    /// Adds that of another run.
    pub(super) fn add(&mut self, other: &Self) {
        let Self { requests, writes, starts, versions, changes, events, simulated } = other;
        self.requests += requests;
        self.writes += writes;
        self.starts += starts;
        self.versions += versions;
        self.changes += changes;
        self.simulated += *simulated;
        for (name, times) in events {
            *self.events.entry(name).or_default() += times;
        }
    }
}

/// Where an operator runs.
struct Place {
    slot: Slot,
    running: Option<(Process, InProcess)>,
    starts_at: Instant,
    skew: SignedDuration,
    cut_off_until: Instant,
}

/// Somebody who applies the same again and again.
struct Fight {
    site: Site,
    every: Duration,
    left: u8,
    next: Instant,
}

impl World {
    /// A cluster in which Baton is installed and nothing else.
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
        let slots = if plan.elected { 0..2 } else { 0..1 };
        let place = |slot| Place {
            slot: Slot(slot),
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
            slots: slots.map(place).collect(),
            logs: Vec::new(),
            lags: Vec::new(),
            fates: BTreeMap::new(),
            refuses: (0, 0),
            fights: Vec::new(),
            trace,
            violation: None,
            faulty: fault.map(Faulty::new),
            tally: Tally::default(),
        })
    }

    pub(super) fn now(&self) -> Timestamp {
        time_since(self.began)
    }

    /// What the operators have logged, one process after the other.
    pub(super) fn log(&self) -> String {
        self.logs.iter().map(Log::text).collect()
    }

    /// Makes something happen.
    pub(super) async fn happen(&mut self, event: &Event) -> Result<(), Error> {
        lock(&self.trace).note(self.began.elapsed(), &format!("-- {event}"));
        *self.tally.events.entry(event.name()).or_default() += 1;
        if let Event::Visit(site, number) = *event {
            for number in [Some(number), None] {
                let request = people::request(&Event::Rogue(site, number));
                self.ask(request.expect("a rogue asks")).await;
            }
            return Ok(());
        }
        if let Some(request) = people::request(event) {
            self.ask(request).await;
            return Ok(());
        }
        let now = Instant::now();
        match *event {
            Event::Load(site, pods) => {
                let load = Load::Millicores(pods * PER_POD);
                self.server.set_load(site.namespace(), "Deployment", site.name(), load);
            }
            Event::Fight(site, every, left) => self.fights.push(Fight { site, every, left, next: now }),
            Event::Crash(slot) => {
                let keeps_requests = self.random.bool();
                self.kill(slot, keeps_requests);
            }
            Event::Stop(slot) => self.running(slot).into_iter().for_each(|(_, it)| it.control.stop()),
            Event::LookAgain(slot) => {
                self.running(slot).into_iter().for_each(|(_, it)| it.control.look_again());
            }
            Event::Skew(slot, seconds) => {
                self.place(slot)
                    .into_iter()
                    .for_each(|place| place.skew = SignedDuration::from_secs(seconds));
            }
            Event::Fate(after, fate) => {
                self.fates.insert(self.tally.writes + 1 + u64::from(after), fate);
            }
            Event::Refuse(times, code) => self.refuses = (times, code),
            Event::Lag(what, time) => self.lags.push((what, now + time)),
            Event::Partition(slot, time) => {
                self.place(slot).into_iter().for_each(|place| place.cut_off_until = now + time);
            }
            Event::Restart(keeps_history) => {
                self.observe(None);
                self.server.restart(keeps_history);
                self.observer.begin().await.map_err(Error::api("watch again"))?;
            }
            Event::CutWatches => {
                self.observe(None);
                self.server.restart(true);
                self.observer.begin().await.map_err(Error::api("watch again"))?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Ends all that disturbs.
    pub(super) fn calm(&mut self) {
        self.fates.clear();
        self.refuses = (0, 0);
        self.lags.clear();
        self.fights.clear();
        let now = Instant::now();
        self.slots.iter_mut().for_each(|place| place.cut_off_until = now);
    }

    /// Lets this much time pass. Ends early when a promise is broken.
    pub(super) async fn pass(&mut self, time: Duration) -> Result<(), Error> {
        let until = Instant::now() + time;
        while self.violation.is_none() {
            self.observe(None);
            self.keep_running()?;
            self.fight().await;
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
                    what: "the operators never stop asking".to_owned(),
                    how: format!("there were {} requests", self.tally.requests),
                });
            }
        }
        self.tally.simulated = self.began.elapsed();
        (self.tally.versions, self.tally.changes) = (self.judge.versions, self.judge.changes);
        Ok(())
    }

    /// What may be let through now, and when more may.
    fn ready(&self) -> (Vec<Ticket>, Option<Instant>) {
        self.network.ready(|ticket, item| {
            let cut_off = self.slots.iter().find(|place| place.slot == ticket.process.slot);
            let lag = match &item.what {
                What::Event(event) => self
                    .lags
                    .iter()
                    .filter(|(what, _)| *what == event.resource)
                    .map(|(_, until)| *until)
                    .max(),
                _ => None,
            };
            cut_off.map(|place| place.cut_off_until).max(lag)
        })
    }

    fn place(&mut self, slot: Slot) -> Option<&mut Place> {
        self.slots.iter_mut().find(|place| place.slot == slot)
    }

    fn running(&self, slot: Slot) -> Option<&(Process, InProcess)> {
        self.slots.iter().find(|place| place.slot == slot)?.running.as_ref()
    }

    /// What is to be seen of the operators that run.
    pub(super) fn operators(&self) -> impl Iterator<Item = &InProcess> {
        self.slots.iter().filter_map(|place| Some(&place.running.as_ref()?.1))
    }

    /// Starts again what has ended, after a while.
    fn keep_running(&mut self) -> Result<(), Error> {
        let (now, time) = (Instant::now(), self.now());
        for place in &mut self.slots {
            if let Some((process, _)) = place.running.take_if(|(_, operator)| operator.end().is_some()) {
                self.network.gone(process, false);
                place.starts_at = now + RESTART;
            }
            if place.running.is_some() || place.starts_at > now {
                continue;
            }
            self.tally.starts += 1;
            let process = Process { slot: place.slot, start: self.tally.starts };
            let mut args = Vec::new();
            if self.elected {
                let identity = format!("--identity=baton-{}-{}", process.slot.0, process.start);
                args.extend(["--leader-elect".to_owned(), identity]);
                args.extend(ELECTION.map(str::to_owned));
            }
            let time = time.saturating_add(place.skew).unwrap_or(time);
            lock(&self.trace).note(self.began.elapsed(), &format!("-- operator {} starts", process.slot.0));
            let operator = InProcess::start(self.network.client(process), &args, time)?;
            self.logs.push(operator.log.clone());
            place.running = Some((process, operator));
        }
        Ok(())
    }

    fn kill(&mut self, slot: Slot, keeps_requests: bool) {
        let network = self.network.clone();
        if let Some(place) = self.place(slot)
            && let Some((process, operator)) = place.running.take()
        {
            operator.kill();
            network.gone(process, keeps_requests);
            place.starts_at = Instant::now() + RESTART;
        }
    }

    /// When something is due that nobody sends.
    fn next_moment(&self) -> Option<Instant> {
        let glance = Instant::now() + GLANCE;
        let start = |place: &Place| if place.running.is_none() { place.starts_at } else { glance };
        self.slots.iter().map(start).chain(self.fights.iter().map(|fight| fight.next)).min()
    }

    async fn fight(&mut self) {
        let now = Instant::now();
        let mut due = Vec::new();
        for fight in self.fights.iter_mut().filter(|fight| fight.next <= now) {
            fight.left -= 1;
            fight.next = now + fight.every;
            due.push(fight.site);
        }
        self.fights.retain(|fight| fight.left > 0);
        for site in due {
            self.ask(people::fight(site)).await;
        }
    }

    /// A request of somebody else's, whatever comes of it.
    async fn ask(&mut self, request: Request<Vec<u8>>) {
        self.observe(None);
        let _ = self.admin.request_text(request).await;
        self.observe(None);
    }

    /// Judges what was stored since it was done last. What has the version of `author` is theirs.
    fn observe(&mut self, author: Option<(u64, &Author)>) {
        for version in self.observer.seen() {
            let author =
                author.filter(|(revision, _)| *revision == version.revision).map(|(_, author)| author);
            self.network.is_at(version.revision);
            let found = self.judge.next(&version, author);
            if self.violation.is_none() {
                self.violation = found;
            }
        }
    }

    /// Lets something arrive.
    async fn deliver(&mut self, ticket: &Ticket, item: Item) {
        match item.what {
            What::Request(sent) => self.arrives(ticket, *sent).await,
            What::Response(answer, reply) => {
                lock(&self.trace).note(self.began.elapsed(), &format!("{ticket}: {}", answer.head.status));
                // Whoever asked may be gone.
                let _ = reply.send(Ok(*answer));
            }
            What::Event(event) => {
                lock(&self.trace).note(self.began.elapsed(), &ticket.to_string());
                let data = match &mut self.faulty {
                    None => Some(event.data.clone()),
                    Some(faulty) => faulty.shows_event(ticket.process, &event),
                };
                event.give(data);
            }
        }
    }

    async fn arrives(&mut self, ticket: &Ticket, mut sent: Sent) {
        let path = sent.request.uri().path();
        let counts = is_write(&sent.request) && !path.contains("/events") && !path.contains("/leases");
        self.tally.requests += 1;
        let mut fate = Fate::Responded;
        if counts {
            self.tally.writes += 1;
            fate = self.fates.remove(&self.tally.writes).unwrap_or(Fate::Responded);
        }
        lock(&self.trace).note(self.began.elapsed(), &format!("{ticket}: {fate:?}"));
        if sent.reply.is_some() && self.refuses.0 > 0 && !path.contains("/leases") {
            self.refuses.0 -= 1;
            let answer = refusal(self.refuses.1);
            self.respond(ticket, answer, sent.reply);
            return;
        }
        match fate {
            Fate::Responded => {}
            Fate::Lost => return lose(sent.reply),
            Fate::CrashBefore => return self.kill(ticket.process.slot, false),
            Fate::ResponseLost => {
                let reply = sent.reply.take();
                drop(self.serve(ticket.process, sent, reply.is_none()).await);
                return lose(reply);
            }
            Fate::CrashAfter => {
                let is_late = sent.reply.is_none();
                drop(self.serve(ticket.process, sent, is_late).await);
                return self.kill(ticket.process.slot, false);
            }
            Fate::Late | Fate::CrashLate => {
                let at = Instant::now() + Duration::from_millis(LATE[self.random.usize(..LATE.len())]);
                lose(sent.reply.take());
                let label = format!("late {}", ticket.label);
                self.network.put_later(ticket.process, label, What::Request(Box::new(sent)), Some(at));
                if fate == Fate::CrashLate {
                    self.kill(ticket.process.slot, true);
                }
                return;
            }
        }
        let reply = sent.reply.take().filter(|reply| !reply.is_closed());
        let is_late = reply.is_none();
        if let Some(answer) = self.serve(ticket.process, sent, is_late).await {
            self.respond(ticket, answer, reply);
        }
    }

    fn respond(&self, ticket: &Ticket, answer: Answer, reply: Option<Reply>) {
        if let Some(reply) = reply {
            let label = format!("response to {}", ticket.label);
            self.network.put(ticket.process, label, What::Response(Box::new(answer), reply));
        }
    }

    /// What comes of a request that has arrived.
    async fn serve(&mut self, process: Process, sent: Sent, is_late: bool) -> Option<Answer> {
        let Sent { request, since, .. } = sent;
        let author = is_write(&request).then(|| author(&request, since, is_late));
        self.observe(None);
        if self.faulty.is_none() {
            return self.carry_out(request, author.as_ref()).await;
        }
        let path = request.uri().path().to_owned();
        let mut answer = None;
        match self.mistakes(process, request).await {
            Mistaken::Told(told) => answer = Some(told),
            Mistaken::Sends(requests, afterwards) => {
                for request in requests {
                    answer = self.carry_out(request, author.as_ref()).await;
                }
                if let Some(request) = afterwards {
                    self.carry_out(request, None).await;
                }
            }
        }
        if let (Some(faulty), Some(answer)) = (&mut self.faulty, &mut answer)
            && let AnswerBody::Whole(body) = &mut answer.body
        {
            *body = faulty.shows_response(process, &path, body);
        }
        answer
    }

    /// What an operator with a fault in it sends, or is told, in the place of a request.
    async fn mistakes(&mut self, process: Process, request: Request<Bytes>) -> Mistaken {
        let Some(faulty) = &mut self.faulty else { return Mistaken::Sends(vec![request], None) };
        let about = About::of(&request);
        let seen = match &about {
            Some(about) if is_write(&request) => rest::seen(&self.admin, about.site).await.ok().flatten(),
            _ => None,
        };
        if let Some((status, body)) = faulty.response(process, &request, seen.as_ref()) {
            return Mistaken::Told(told(status, &body));
        }
        let (fault, Some(seen)) = (faulty.fault, seen) else { return Mistaken::Sends(vec![request], None) };
        if fault == Fault::SkipsOwnership
            && let Some(unchanged) = self.changes_no_value(&request).await
        {
            return Mistaken::Told(told(StatusCode::OK, &unchanged));
        }
        let requests = faulty::mistaken(fault, &request, &seen).unwrap_or_else(|| vec![request]);
        let takes = requests.iter().any(faulty::takes_number);
        let postponed = match (&mut self.faulty, about) {
            (Some(faulty), Some(about)) if takes => faulty.postponed.remove(&about.site),
            _ => None,
        };
        Mistaken::Sends(requests, postponed)
    }

    /// The live object, where an apply would change none of its values.
    async fn changes_no_value(&self, request: &Request<Bytes>) -> Option<Value> {
        let query = request.uri().query().filter(|query| query.contains("force="))?;
        let path = request.uri().path();
        let mut dry = request.clone();
        *dry.uri_mut() = format!("{path}?{query}&dryRun=All").parse().ok()?;
        let tried: Value = self.admin.request(dry.map(|body| body.to_vec())).await.ok()?;
        let live: Value = self.admin.request(people::get(path)).await.ok()?;
        let values = |object: &Value| {
            let mut values = object.clone();
            values["metadata"]["managedFields"] = Value::Null;
            values["metadata"]["resourceVersion"] = Value::Null;
            values
        };
        (values(&tried) == values(&live)).then_some(live)
    }

    /// What the server makes of a request.
    async fn carry_out(&mut self, mut request: Request<Bytes>, author: Option<&Author>) -> Option<Answer> {
        request.headers_mut().insert(AUTHORIZATION, HeaderValue::from_static(CREDENTIALS));
        let query = request.uri().query().unwrap_or_default();
        let watched = query
            .contains("watch=")
            .then(|| request.uri().path().rsplit('/').next().unwrap_or_default().to_owned());
        let response: Response<Body> = self.admin.send(request.map(Body::from)).await.ok()?;
        let (head, body) = response.into_parts();
        let body = match watched {
            Some(resource) if head.status.is_success() => AnswerBody::Watch(resource, body),
            _ => AnswerBody::Whole(body.collect_bytes().await.ok()?),
        };
        if let (Some(author), AnswerBody::Whole(body), true) = (author, &body, head.status.is_success()) {
            let stored: Value = serde_json::from_slice(body).unwrap_or_default();
            self.observe(Some((observer::revision(&stored), author)));
        }
        Some(Answer { head, body })
    }
}

/// What becomes of a request of an operator with a fault in it.
enum Mistaken {
    /// The operator is told this, and nothing is sent.
    Told(Answer),
    /// These are sent, of which the operator gets the last response; and one more.
    Sends(Vec<Request<Bytes>>, Option<Request<Bytes>>),
}

/// A connection ends without a response.
fn lose(reply: Option<Reply>) {
    if let Some(reply) = reply {
        // Whoever asked may be gone.
        let _ = reply.send(Err(NoResponse));
    }
}

/// A response without the server.
fn told(status: StatusCode, body: &Value) -> Answer {
    let mut head = Response::new(()).into_parts().0;
    head.status = status;
    head.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Answer { head, body: AnswerBody::Whole(body.to_string().into()) }
}

fn refusal(code: u16) -> Answer {
    let reason = if code == 429 { "TooManyRequests" } else { "InternalError" };
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "code": code, "reason": reason, "message": "refused by the simulation",
    });
    told(StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), &status)
}

/// What a write says of what it was planned from.
fn author(request: &Request<Bytes>, since: u64, is_late: bool) -> Author {
    let body: Value = serde_json::from_slice(request.body()).unwrap_or_default();
    let tested = body.as_array().into_iter().flatten();
    let tested = tested.filter(|operation| operation["path"] == "/metadata/resourceVersion");
    let guards = tested.map(|operation| &operation["value"]).chain(body.pointer("/metadata/resourceVersion"));
    let planned_from = guards.filter_map(Value::as_str).find_map(|version| version.parse().ok());
    let creates = body.is_object() && body.pointer("/metadata/uid").is_none();
    Author { since, planned_from, creates, is_late }
}

fn time_since(began: Instant) -> Timestamp {
    START.saturating_add(began.elapsed()).unwrap_or(Timestamp::MAX)
}

/// What each cluster begins with: a server on which Baton is installed. Made once, and always in the same way.
static INSTALLED: LazyLock<ApiServer> =
    LazyLock::new(|| installed().expect("the manifests can be installed"));

fn installed() -> Result<ApiServer, Error> {
    fastrand::seed(0);
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime has no needs").block_on(async {
        let server = ApiServer::builder().actor(Actor::AccessControl).clock(|| START);
        let manifests = manifests()?.join("\n---\n");
        let server = server.load(&manifests).and_then(baton_apiserver::Builder::start);
        // Roles are made of others.
        sleep(TICK).await;
        server.map_err(Error::parse("how a server with Baton starts"))
    })
}

/// Makes sure that what each cluster begins with is there.
pub(super) fn install() {
    LazyLock::force(&INSTALLED);
}

/// What is installed, as YAML.
fn manifests() -> Result<Vec<String>, Error> {
    const NAMESPACES: &str = "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: lab}}
";
    let files = [
        "cluster/namespace.yaml",
        "crd/workloads.baton.rs.yaml",
        "rbac/clusterrole.yaml",
        "rbac/clusterrolebinding.yaml",
        "deploy/serviceaccount.yaml",
        "deploy/role.yaml",
        "deploy/rolebinding.yaml",
    ];
    let read = |file: &str| {
        let path = workspace().join("manifests").join(file);
        std::fs::read_to_string(&path).map_err(Error::file("read", &path))
    };
    let texts: Result<Vec<String>, Error> = files.into_iter().map(read).collect();
    Ok([NAMESPACES.to_owned()].into_iter().chain(texts?).collect())
}
