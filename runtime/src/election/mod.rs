//! Leader election on a Lease, and the fence that stops writes of replicas that don't lead.
//!
//! The protocol is client-go's (`k8s.io/client-go/tools/leaderelection`), with each write guarded by the resourceVersion that
//! it was decided from. Other crates for it renew and acquire without that guard and compare clocks of different machines, so that two
//! could lead at once, or need an older release of kube.
//!
//! - `candidate` decides, without I/O, what comes next; this module reads and writes the Lease for it.
//! - The first write is a POST, of which the API server lets only one succeed. All others are forced server-side applies of the
//!   Lease as it was read, with its resourceVersion; of two candidates, the second is refused.
//! - A lease counts from the moment when the request that acquired or renewed it was *sent*, by a clock that goes on while the machine is
//!   suspended. The others count from when they read that write, which is later.
//! - [`Fence`] keeps a program's writes within that time. A process that is paused after it read the clock and before the bytes are
//!   in the socket, and a write that the network delays for longer than the lease, are beyond any client. So a write that is safe only
//!   in the state that was read should have that state's `uid` and `resourceVersion`.
//! - The Lease is renewed on a [thread of its own](LeaseThread): no pass can cost the leadership. But a leader whose loop stands still for
//!   half a minute isn't renewed any more, and an annotation of the Lease names the object for the [next one](Watchdog).
//! - A leader that can't renew in time, or reads that another leads, ends its process: no state is left over, and its
//!   successor reads from the cluster what is still to be done. A leader that gets SIGTERM finishes its passes first and then
//!   empties the Lease, so that the next needn't wait.
//!
//! Two things are up to the administrator. Clocks may differ, but must run at about the same speed. And if the Lease is emptied by hand,
//! its duration shortened, or if it is deleted before a candidate has read it, the leader learns only at its next renewal that it lost it.
//!
//! A candidate needs `create` for `leases` of `coordination.k8s.io` in the Lease's namespace, and `get` and `patch` for the Lease.

mod candidate;
mod fence;
mod leadership;
mod record;
mod thread;
mod turn;
mod watchdog;

use std::{fmt, future::pending, pin::pin, time::Duration};

use k8s_openapi::api::coordination::v1::Lease;
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
};
use tokio::{
    runtime::Handle,
    sync::{oneshot, watch},
    task::JoinSet,
};
use tracing::{debug, info, instrument::WithSubscriber as _, warn};

use self::{
    candidate::{Candidate, ElectionStep},
    record::{Draft, ElectionRecord},
};
pub use self::{
    fence::{Fence, Fenced, fence_layer},
    leadership::Leadership,
    thread::LeaseThread,
    watchdog::{Suspect, Watchdog},
};
use crate::{
    clock::Moment,
    text::with_causes,
    timeout::{RequestError, with_timeout},
};

/// How long a turn of a pass may take until the Lease isn't renewed any more, so that another process leads. Liveness fails later.
const STALLED: Duration = Duration::from_secs(30);
/// The shortest retry period.
const SHORTEST_PERIOD: Duration = Duration::from_millis(10);
/// How long a release of the lease may take: the process is about to end.
const RELEASE: Duration = Duration::from_secs(3);

/// The times of an election. They have the names and the meaning that they have in client-go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    lease_duration: Duration,
    renew_deadline: Duration,
    retry_period: Duration,
}

/// 15, 10 and 2 seconds, as in client-go.
impl Default for Timing {
    fn default() -> Self {
        let [lease_duration, renew_deadline, retry_period] = [15, 10, 2].map(Duration::from_secs);
        Self { lease_duration, renew_deadline, retry_period }
    }
}

/// Why times don't work for an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TimingError {
    /// The API keeps the lease's duration in seconds.
    #[error("the lease duration has to be in whole seconds, at least one")]
    NotInSeconds,
    /// A leader would still write when another leads.
    #[error(
        "the lease duration has to be longer than the renew deadline, or two processes could lead at the same time"
    )]
    DeadlineTooLong,
    /// Requests would follow each other without a pause.
    #[error(
        "the retry period has to be at least {SHORTEST_PERIOD:?}, or requests would follow each other without a pause"
    )]
    NoPause,
    /// One failed request would end a leader.
    #[error(
        "the renew deadline has to be at least twice as long as the retry period, or one failed request would end a leader"
    )]
    PeriodTooLong,
}

impl Timing {
    /// A leader renews its lease every `retry_period`, ends when that failed for `renew_deadline`, and others take over after
    /// `lease_duration`.
    ///
    /// # Errors
    /// When these times would let two lead, or end a leader without need.
    pub fn new(
        lease_duration: Duration,
        renew_deadline: Duration,
        retry_period: Duration,
    ) -> Result<Self, TimingError> {
        let whole_seconds =
            lease_duration.subsec_nanos() == 0 && i32::try_from(lease_duration.as_secs()).is_ok();
        if !whole_seconds || lease_duration.is_zero() {
            Err(TimingError::NotInSeconds)
        } else if lease_duration <= renew_deadline {
            Err(TimingError::DeadlineTooLong)
        } else if retry_period < SHORTEST_PERIOD {
            Err(TimingError::NoPause)
        } else if renew_deadline / 2 < retry_period {
            Err(TimingError::PeriodTooLong)
        } else {
            Ok(Self { lease_duration, renew_deadline, retry_period })
        }
    }
}

/// Why a leader doesn't lead any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Lost {
    /// The API server accepted no renewal for this long.
    #[error("the lease could not be renewed for {0:?}")]
    NotRenewed(Duration),
    /// Another process holds it; an empty name means that it was emptied.
    #[error("the lease is {}", if .0.is_empty() { "empty".to_owned() } else { format!("held by {} now", .0) })]
    TakenBy(String),
    /// A pass has kept the loop's thread for this long: the object's namespace and name.
    #[error("the pass of {0} has kept all others waiting for {1:?}")]
    Stalled(String, Duration),
    /// The election itself ended, which is a bug.
    #[error("the election ended by itself")]
    Ended,
}

/// The Lease of an election, and the name of this process in it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Candidacy {
    /// The namespace of the Lease.
    pub namespace: String,
    /// The name of the Lease.
    pub lease: String,
    /// The field manager of its writes.
    pub manager: String,
    /// The name of this process, different for each process.
    pub identity: String,
    /// The annotation of the Lease with the leader's [`Suspect`]: a name that Kubernetes accepts.
    pub annotation: String,
}

impl Candidacy {
    /// A candidacy whose identity is the host's name, which in a pod is the pod's, and a random part that distinguishes this process
    /// from the last one there. Its annotation is `MANAGER/suspect`, with dashes for what the name of an annotation can't have.
    pub fn new(namespace: impl Into<String>, lease: impl Into<String>, manager: impl Into<String>) -> Self {
        let (host, manager) = (rustix::system::uname(), manager.into());
        let identity = format!("{}_{:08x}", host.nodename().to_string_lossy(), fastrand::u32(..));
        let allowed = |char: char| if char.is_ascii_alphanumeric() || char == '.' { char } else { '-' };
        let prefix: String = manager.to_lowercase().chars().map(allowed).collect();
        let annotation = format!("{}/suspect", prefix.trim_matches(['-', '.']));
        Self { namespace: namespace.into(), lease: lease.into(), manager, identity, annotation }
    }
}

/// This process's part in the election. Dropping it ends its candidacy without releasing the lease, which runs out then.
#[derive(Debug)]
pub struct Election {
    leads: watch::Receiver<bool>,
    release: oneshot::Sender<()>,
    /// The election, which ends with this.
    task: JoinSet<Result<(), Lost>>,
}

impl Election {
    /// Stands as a candidate from now on, in this runtime, such as that of a [`LeaseThread`]: if no pass runs there, none can keep the
    /// lease from being renewed. A client's connections are tasks of the runtime in which it is made, so it is made here; it must not be
    /// behind the fence.
    ///
    /// # Errors
    /// When no client can be made.
    pub fn stand(
        runtime: &Handle,
        client: impl FnOnce() -> kube::Result<Client>,
        candidacy: Candidacy,
        leadership: Leadership,
        watchdog: Watchdog,
    ) -> kube::Result<Self> {
        let client = {
            let _context = runtime.enter();
            client()?
        };
        let (leading, leads) = watch::channel(false);
        let (release, released) = oneshot::channel();
        let stand = Stand {
            api: Api::namespaced(client, &candidacy.namespace),
            candidate: Candidate::new(candidacy.identity.clone(), leadership.timing()),
            candidacy,
            leadership,
            watchdog,
            leading,
            logged_leader: None,
            logged_error: None,
        };
        let mut task = JoinSet::new();
        task.spawn_on(stand.run(released).with_current_subscriber(), runtime);
        Ok(Self { leads, release, task })
    }

    /// Resolves when this process leads.
    ///
    /// # Errors
    /// When the election has ended.
    pub async fn won(&mut self) -> Result<(), Lost> {
        // An error means that the task has ended; its result says why.
        if self.leads.wait_for(|leads| *leads).await.is_ok() { Ok(()) } else { Err(self.lost().await) }
    }

    /// Resolves when this process doesn't lead any more.
    pub async fn lost(&mut self) -> Lost {
        match self.task.join_next().await {
            Some(Ok(Err(lost))) => lost,
            _ => Lost::Ended,
        }
    }

    /// Releases the lease, if it is held. Call it when no write is under way any more.
    pub async fn release(self) {
        let Self { release, mut task, .. } = self;
        // Fails only if the task has ended already.
        let _ = release.send(());
        task.join_next().await;
    }
}

/// The task behind an [`Election`].
struct Stand {
    api: Api<Lease>,
    candidacy: Candidacy,
    candidate: Candidate,
    leadership: Leadership,
    watchdog: Watchdog,
    leading: watch::Sender<bool>,
    /// The leader that was logged last.
    logged_leader: Option<Leader>,
    /// The error that was logged last, while the lease can't be read or written.
    logged_error: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Leader {
    None,
    Other(String),
    This,
}

impl Stand {
    async fn run(mut self, released: oneshot::Receiver<()>) -> Result<(), Lost> {
        // If the handle is dropped, the lease runs out instead.
        let mut released = pin!(async {
            if released.await.is_err() {
                pending::<()>().await;
            }
        });
        loop {
            let clock = self.leadership.clock();
            let now = clock.moment();
            let leads = self.candidate.leads();
            if leads {
                self.candidate.note(self.watchdog.current());
            }
            let stalled = self.watchdog.turn().filter(|turn| leads && turn.begun.elapsed() >= STALLED);
            if let Some(turn) = stalled {
                let (namespace, name) = &*turn.object;
                return Err(Lost::Stalled(format!("{namespace}/{name}"), STALLED));
            }
            match self.candidate.next(now, clock.timestamp()) {
                ElectionStep::Read => tokio::select! {
                    () = self.read(now) => {}
                    () = &mut released => return self.release().await,
                },
                ElectionStep::Write(draft) => {
                    let mut write = Box::pin(self.write(now, &draft));
                    let is_released = tokio::select! {
                        () = &mut write => false,
                        () = &mut released => true,
                    };
                    if is_released {
                        // The release has the version that it stores.
                        let _ = tokio::time::timeout(RELEASE, write).await;
                        return self.release().await;
                    }
                }
                ElectionStep::Wait(until) => {
                    tokio::select! {
                        () = &mut released => return self.release().await,
                        () = self.leadership.check_asked_for() => {}
                        () = self.watchdog.appears(), if leads => {}
                        () = tokio::time::sleep(until.after(now)) => {}
                    }
                }
                ElectionStep::Resign(lost) => return Err(lost),
            }
        }
    }

    fn now(&self) -> Moment {
        self.leadership.clock().moment()
    }

    async fn read(&mut self, now: Moment) {
        let response = with_timeout(self.candidate.limit(now), self.api.get_opt(&self.candidacy.lease)).await;
        match response {
            Ok(found) => {
                let record = found.map(|found| self.record(found));
                self.candidate.read(self.now(), record);
                self.fine();
            }
            Err(error) => self.failed(&error),
        }
    }

    async fn write(&mut self, now: Moment, draft: &Draft) {
        match with_timeout(self.candidate.limit(now), self.send(draft)).await {
            Ok(stored) => {
                let record = self.record(stored);
                self.candidate.written(now, self.now(), record);
                let noted = self.candidate.noted();
                if !*self.leading.borrow() {
                    self.watchdog.inherited(noted.clone());
                }
                self.watchdog.noted(noted);
                self.leadership.renewed(now);
                self.leading.send_replace(true);
                self.fine();
            }
            Err(RequestError::Response(status)) if status.code == 409 => self.candidate.refused(self.now()),
            Err(error) => self.failed(&error),
        }
    }

    fn record(&self, lease: Lease) -> ElectionRecord {
        ElectionRecord::of(lease, &self.candidacy.annotation)
    }

    async fn send(&self, draft: &Draft) -> kube::Result<Lease> {
        let Candidacy { lease: name, manager, annotation, .. } = &self.candidacy;
        let lease = draft.lease(name, annotation);
        if draft.version.is_none() {
            let params = PostParams { field_manager: Some(manager.clone()), ..PostParams::default() };
            return self.api.create(&params, &lease).await;
        }
        self.api.patch(name, &PatchParams::apply(manager).force(), &Patch::Apply(&lease)).await
    }

    async fn release(&mut self) -> Result<(), Lost> {
        let clock = self.leadership.clock();
        let draft = self.candidate.release(clock.moment(), clock.timestamp());
        // Before the request: once it is under way, another may lead.
        self.leadership.end();
        if let Some(draft) = draft {
            match with_timeout(RELEASE, self.send(&draft)).await {
                Ok(_) => info!(lease = %self.candidacy, "the lease is released"),
                Err(error) => warn!(
                    lease = %self.candidacy, error = with_causes(&error),
                    "can't release the lease; the next leader has to wait until it runs out"
                ),
            }
        }
        Ok(())
    }

    /// A request succeeded; logs who leads if that has changed.
    fn fine(&mut self) {
        self.logged_error = None;
        let leader = match self.candidate.holder() {
            _ if *self.leading.borrow() => Leader::This,
            None => Leader::None,
            Some(holder) => Leader::Other(holder.to_owned()),
        };
        if self.logged_leader.as_ref() == Some(&leader) {
            return;
        }
        let identity = &self.candidacy.identity;
        match &leader {
            Leader::This => info!(lease = %self.candidacy, identity, "leading"),
            Leader::Other(holder) => info!(lease = %self.candidacy, identity, "standing by: {holder} leads"),
            Leader::None => info!(lease = %self.candidacy, identity, "standing by: there is no leader yet"),
        }
        self.logged_leader = Some(leader);
    }

    fn failed(&mut self, error: &RequestError) {
        self.candidate.failed(self.now());
        let error = with_causes(error);
        if self.logged_error.as_ref() == Some(&error) {
            debug!(lease = %self.candidacy, error, "still can't read or write the lease");
        } else {
            warn!(lease = %self.candidacy, error, "can't read or write the lease; retrying");
            self.logged_error = Some(error);
        }
    }
}

/// Whatever ends the task, nothing renews the lease any more.
impl Drop for Stand {
    fn drop(&mut self) {
        self.leadership.end();
        self.leading.send_replace(false);
    }
}

impl fmt::Display for Candidacy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.lease)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        task::{Context, Poll},
    };

    use futures::{FutureExt, future::BoxFuture};
    use http::{Method, Request, Response};
    use kube::client::Body;
    use serde_json::{Value, json};
    use tower::Service;

    use prometheus_client::metrics::gauge::Gauge;

    use super::*;
    use crate::clock::Clock;

    /// An API server without a Lease, that stores what it gets; counts the writes.
    #[derive(Clone)]
    struct Server(Arc<AtomicUsize>);

    impl Service<Request<Body>> for Server {
        type Response = Response<Body>;
        type Error = Infallible;
        type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, request: Request<Body>) -> Self::Future {
            let writes = self.0.clone();
            async move {
                let is_read = request.method() == Method::GET;
                let body = request.into_body().collect_bytes().await.unwrap();
                let mut object: Value = serde_json::from_slice(&body).unwrap_or_default();
                let code = if is_read {
                    object =
                        json!({"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404});
                    404
                } else {
                    writes.fetch_add(1, Ordering::Relaxed);
                    object["metadata"]["resourceVersion"] = json!("1");
                    200
                };
                Ok(Response::builder()
                    .status(code)
                    .body(Body::from(object.to_string().into_bytes()))
                    .unwrap())
            }
            .boxed()
        }
    }

    async fn leader() -> (Election, Arc<AtomicUsize>) {
        let (election, writes, _) = leader_in(&Handle::current(), Watchdog::default()).await;
        (election, writes)
    }

    async fn leader_in(runtime: &Handle, watchdog: Watchdog) -> (Election, Arc<AtomicUsize>, Leadership) {
        let writes = Arc::<AtomicUsize>::default();
        let leadership = Leadership::new(Timing::default(), Clock::SYSTEM, Gauge::default());
        let (server, shared) = (Server(writes.clone()), leadership.clone());
        let client = || Ok(Client::new(server, "ns"));
        let candidacy = Candidacy::new("ns", "operator", "operator");
        let mut election = Election::stand(runtime, client, candidacy, shared, watchdog).unwrap();
        election.won().await.unwrap();
        (election, writes, leadership)
    }

    #[test]
    fn a_loop_that_stands_still_keeps_the_lease_and_is_noted_in_it() {
        let thread = LeaseThread::start().unwrap();
        let single = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let watchdog = Watchdog::default();
        single.block_on(async {
            let (election, writes, leadership) = leader_in(thread.handle(), watchdog.clone()).await;
            let object = Arc::new(("shop".to_owned(), "web".to_owned()));
            let pass = async {
                std::thread::sleep(Duration::from_millis(2500));
                (writes.load(Ordering::Relaxed), watchdog.noted_in_the_lease(), leadership.may_begin())
            };
            let (renewed, noted, leads) = watchdog.run(&object, pass).await;
            assert!(renewed >= 3, "acquired, noted and renewed: {renewed}");
            let suspect = Suspect { object: (*object).clone(), ends: 1 };
            assert!(leads && noted == Some(suspect), "{noted:?}");
            election.release().await;
        });
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_lease_is_released_on_request_and_not_when_the_election_is_dropped() {
        let (election, writes) = leader().await;
        election.release().await;
        assert_eq!(writes.load(Ordering::Relaxed), 2, "it was acquired and emptied");

        let (election, writes) = leader().await;
        drop(election);
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(writes.load(Ordering::Relaxed), 1, "it runs out");
    }

    #[tokio::test]
    async fn a_candidate_whose_writes_are_refused_pauses_and_can_be_released() {
        let writes = Arc::<AtomicUsize>::default();
        let counted = writes.clone();
        let server = tower::service_fn(move |request: Request<Body>| {
            let code = if request.method() == Method::GET { 404 } else { 409 };
            counted.fetch_add(usize::from(code == 409), Ordering::Relaxed);
            let reason = if code == 404 { "NotFound" } else { "Conflict" };
            let status = json!({"kind": "Status", "status": "Failure", "reason": reason, "code": code});
            let response = Response::builder().status(code).body(Body::from(status.to_string().into_bytes()));
            std::future::ready(Ok::<_, Infallible>(response.unwrap()))
        });
        let leadership = Leadership::new(Timing::default(), Clock::SYSTEM, Gauge::default());
        let client = || Ok(Client::new(server, "ns"));
        let candidacy = Candidacy::new("ns", "operator", "example.com/My_operator");
        assert_eq!(candidacy.annotation, "example.com-my-operator/suspect");
        let watchdog = Watchdog::default();
        let election = Election::stand(&Handle::current(), client, candidacy, leadership, watchdog).unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        tokio::time::timeout(Duration::from_secs(1), election.release()).await.unwrap();
        assert_eq!(writes.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn an_election_that_was_lost_is_not_won() {
        let (mut election, _, leadership) = leader_in(&Handle::current(), Watchdog::default()).await;
        election.task.abort_all();
        assert_eq!([election.lost().await, election.won().await.unwrap_err()], [Lost::Ended, Lost::Ended]);
        assert!(!leadership.may_begin());
    }

    #[test]
    fn times_that_would_let_two_lead_are_refused_with_a_fix() {
        let seconds = Duration::from_secs;
        assert!(Timing::new(seconds(15), seconds(10), seconds(2)).is_ok());
        assert_eq!(Timing::new(seconds(10), seconds(10), seconds(2)), Err(TimingError::DeadlineTooLong));
        for period in [Duration::ZERO, Duration::from_millis(9)] {
            assert_eq!(Timing::new(seconds(15), seconds(10), period), Err(TimingError::NoPause));
        }
        for period in [seconds(6), Duration::MAX] {
            assert_eq!(Timing::new(seconds(15), seconds(10), period), Err(TimingError::PeriodTooLong));
        }
        for duration in [Duration::ZERO, Duration::from_millis(1500)] {
            assert_eq!(
                Timing::new(duration, seconds(0), seconds(0)),
                Err(TimingError::NotInSeconds),
                "{duration:?}"
            );
        }
    }

    #[test]
    fn a_lost_lease_is_reported_with_its_holder() {
        assert_eq!(Lost::TakenBy("b".to_owned()).to_string(), "the lease is held by b now");
        assert_eq!(Lost::TakenBy(String::new()).to_string(), "the lease is empty");
    }
}
