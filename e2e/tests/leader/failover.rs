//! The leader is disturbed in the middle of a handover, and the other operator takes over.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use baton_crd::HandoverPhase::{Fixed, HandedOver};
use baton_e2e::{End, Operator, scenarios};
use baton_testbed::{Action, Cluster, PATIENCE, Proxy, ReplicaWatch, eventually};
use futures::FutureExt;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use tokio::{sync::oneshot, time::Instant};

use crate::{
    candidates::{Candidates, LEASE_DURATION, RENEW_DEADLINE, RETRY_PERIOD},
    judge::Record,
};

scenarios! {
    a_killed_leader_is_replaced_when_its_lease_has_expired,
    a_leader_that_is_asked_to_stop_is_replaced_at_once,
    a_leader_that_is_cut_off_ends_before_the_next_one_leads,
    a_leader_whose_lease_was_emptied_by_hand_ends_at_its_next_renewal,
}

scenarios! {
    only real, because "a process is paused":
    a_leader_that_is_paused_past_its_lease_writes_nothing_when_it_resumes,
}

/// The time that a busy machine may add.
const SLACK: Duration = Duration::from_secs(2);

/// Two operators, of which `a` leads through a proxy and is in the middle of a handover: the temporary manager owns the replica
/// count beside Baton, and `a` hasn't received the response.
struct Failover {
    a: Operator,
    b: Operator,
    watch: ReplicaWatch,
    proxy: Arc<Proxy>,
    /// Whether `a` is cut off from the API server.
    is_cut_off: Arc<AtomicBool>,
    // Dropped last: a running operator recreates what is deleted with the namespace.
    candidates: Candidates,
}

impl Failover {
    /// The response to the temporary manager's write is lost.
    async fn in_a_handover(cluster: &Cluster) -> Self {
        let failover = Self::before_a_handover(cluster, || Action::after(Action::Cut)).await;
        let handover = tokio::time::timeout(PATIENCE, failover.proxy.cut()).await;
        handover.expect("the leader begins the handover");
        failover
    }

    /// `a` is paused while it waits for the response to the temporary manager's write. So no other write is on its way to a socket,
    /// where it couldn't be stopped.
    async fn paused_in_a_handover(cluster: &Cluster) -> Self {
        let (started, starts) = oneshot::channel();
        let (pause, paused) = oneshot::channel();
        let failover = Self::before_a_handover(cluster, move || {
            let _ = started.send(());
            Action::behind(paused.map(drop))
        });
        let failover = failover.await;
        tokio::time::timeout(PATIENCE, starts).await.expect("the handover to begin in time").unwrap();
        failover.a.process().pause().unwrap();
        pause.send(()).unwrap();
        failover
    }

    /// The handover begins at once. `first_write` is what happens to the temporary manager's first write.
    async fn before_a_handover(
        cluster: &Cluster,
        first_write: impl FnOnce() -> Action + Send + 'static,
    ) -> Self {
        let candidates = Candidates::of(cluster, &["a", "b"]).await;
        let is_cut_off = Arc::new(AtomicBool::new(false));
        let cut_off = is_cut_off.clone();
        let first_write = Mutex::new(Some(first_write));
        let proxy = Proxy::start(cluster, move |request| {
            let is_temporary = request.query("fieldManager") == Some("handover-to-hpa");
            if cut_off.load(Ordering::SeqCst) {
                return Action::Cut;
            }
            match is_temporary.then(|| first_write.lock().unwrap().take()).flatten() {
                Some(first_write) => first_write(),
                None => Action::Forward,
            }
        });
        let proxy = Arc::new(proxy.await.unwrap());
        let a = candidates.start("a", Some(&proxy)).await;
        candidates.leads("a").await;
        let b = candidates.start("b", None).await;

        candidates.env.apply(&json!({"replicas": 2})).await;
        candidates.env.phase(Fixed, 2).await;
        let watch = candidates.env.watch().await.unwrap();
        candidates
            .env
            .apply(&json!({"replicas": 2, "autoscaling": {"minReplicas": 3, "maxReplicas": 8}}))
            .await;
        Self { a, b, watch, proxy, is_cut_off, candidates }
    }

    /// The time until `b` led.
    async fn taken_over_since(&self, begun: Instant) -> Duration {
        self.candidates.leads("b").await;
        begun.elapsed()
    }

    /// `b` completes the handover. No operator wrote without the lease, and the replica count never fell.
    async fn ends_well(&self, what: &str, took: Duration) -> Record {
        self.candidates.env.phase(HandedOver, 3).await;
        assert!(self.b.end().is_none(), "{}", self.b.log_tail(30));
        let history = self.watch.history().await.unwrap();
        history.never_below(2).unwrap();
        assert_eq!(history.values(), [2, 3], "{history}");
        let record = Record::of(&self.candidates);
        record.no_operator_wrote_without_the_lease();
        let holders: Vec<_> = record.terms.iter().map(|term| &*term.holder).collect();
        println!(
            "{what}: taken over after {took:.1?}; lease holders {holders:?}; writes {:?}",
            record.writes_by_user()
        );
        record
    }

    /// Waits until `a` has ended, and returns when.
    async fn a_has_ended(&self) -> Timestamp {
        let ended = async || self.a.end().map(|_| self.candidates.env.cluster.now()).ok_or(());
        eventually("the old leader to end", ended).await
    }

    fn assert_that_a_lost(&self) {
        assert_eq!(self.a.end(), Some(End::Failure), "{}", self.a.log_tail(30));
        assert!(self.a.logs().contains("not the leader any more"), "{}", self.a.log_tail(30));
    }
}

async fn a_killed_leader_is_replaced_when_its_lease_has_expired(cluster: Cluster) {
    let failover = Failover::in_a_handover(&cluster).await;
    let begun = Instant::now();
    failover.a.kill();
    let took = failover.taken_over_since(begun).await;
    assert!(took <= LEASE_DURATION + RETRY_PERIOD + SLACK, "{took:?}");
    failover.ends_well("killed", took).await;
}

async fn a_leader_that_is_asked_to_stop_is_replaced_at_once(cluster: Cluster) {
    let failover = Failover::in_a_handover(&cluster).await;
    let begun = Instant::now();
    assert_eq!(failover.a.stop().await.unwrap(), End::Success, "{}", failover.a.log_tail(30));
    let released = Instant::now();
    let took = failover.taken_over_since(begun).await;
    let wait = released.elapsed();
    assert!(wait <= RETRY_PERIOD + SLACK, "{wait:?} after the end of the old leader");
    let record = failover.ends_well("asked to stop", took).await;
    let holders: Vec<_> = record.terms.iter().map(|term| &*term.holder).collect();
    assert_eq!(holders, ["a", "", "b"], "it releases the lease");
}

async fn a_leader_that_is_cut_off_ends_before_the_next_one_leads(cluster: Cluster) {
    let failover = Failover::in_a_handover(&cluster).await;
    let begun = Instant::now();
    failover.is_cut_off.store(true, Ordering::SeqCst);
    failover.proxy.cut_watches();
    let ended = failover.a_has_ended().await;
    let lasted = begun.elapsed();
    assert!(lasted <= RENEW_DEADLINE + SLACK, "{lasted:?}");
    failover.assert_that_a_lost();
    let took = failover.taken_over_since(begun).await;
    assert!(took <= LEASE_DURATION + RETRY_PERIOD + SLACK, "{took:?}");
    let record = failover.ends_well("cut off", took).await;
    assert!(ended < record.began("b"), "{ended} and {}", record.began("b"));
    println!("cut off: the old leader ended after {lasted:.1?}");
}

async fn a_leader_that_is_paused_past_its_lease_writes_nothing_when_it_resumes(cluster: Cluster) {
    let failover = Failover::paused_in_a_handover(&cluster).await;
    let begun = Instant::now();
    let took = failover.taken_over_since(begun).await;
    assert!(took <= LEASE_DURATION + RETRY_PERIOD + SLACK, "{took:?}");
    failover.candidates.env.phase(HandedOver, 3).await;
    let resumed = Instant::now();
    failover.a.process().resume().unwrap();
    failover.a_has_ended().await;
    println!("paused: the stale leader ended {:.1?} after it was resumed", resumed.elapsed());
    failover.assert_that_a_lost();
    failover.ends_well("paused", took).await;
}

/// A leader notices a change of its lease only at its next renewal.
async fn a_leader_whose_lease_was_emptied_by_hand_ends_at_its_next_renewal(cluster: Cluster) {
    let failover = Failover::in_a_handover(&cluster).await;
    let begun = Instant::now();
    let empty = Patch::Merge(json!({"spec": {"holderIdentity": ""}}));
    let leases = failover.candidates.env.api::<Lease>();
    leases.patch("baton", &PatchParams::default(), &empty).await.unwrap();
    failover.a_has_ended().await;
    failover.assert_that_a_lost();
    let took = failover.taken_over_since(begun).await;
    assert!(took <= LEASE_DURATION, "{took:?}");
    failover.candidates.env.phase(HandedOver, 3).await;
    failover.watch.history().await.unwrap().never_below(2).unwrap();
}
