//! One leads and is disturbed in the middle of a handover; the other takes over.

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
    a_leader_that_is_killed_is_followed_when_its_lease_has_run_out,
    a_leader_that_is_asked_to_end_is_followed_at_once,
    a_leader_that_is_cut_off_ends_before_the_next_one_leads,
    a_leader_whose_lease_was_emptied_by_hand_ends_at_its_next_renewal,
}

scenarios! {
    only real, because "a process is put to sleep":
    a_leader_that_slept_past_its_lease_writes_nothing_when_it_wakes_up,
}

/// What a busy machine may add to any time.
const SLACK: Duration = Duration::from_secs(2);

/// Two operators, of which `a` leads through a proxy and is in the middle of a handover: the temporary manager holds the
/// number beside Baton, and `a` has not heard the answer.
struct Scene {
    a: Operator,
    b: Operator,
    watch: ReplicaWatch,
    proxy: Arc<Proxy>,
    /// Whether `a` is cut off from the API server.
    is_cut_off: Arc<AtomicBool>,
    // Dropped last: as long as an operator runs, it makes anew what goes with the namespace.
    candidates: Candidates,
}

impl Scene {
    /// The answer to the temporary manager's write is lost.
    async fn in_a_handover(cluster: &Cluster) -> Self {
        let scene = Self::before_a_handover(cluster, || Action::after(Action::Cut)).await;
        let lent = tokio::time::timeout(PATIENCE, scene.proxy.cut()).await;
        lent.expect("the operator that leads begins the handover");
        scene
    }

    /// `a` was put to sleep while it waited for the answer to the temporary manager's write, so that no other write was
    /// on its way to a socket: such a one can't be held back.
    async fn asleep_in_a_handover(cluster: &Cluster) -> Self {
        let (lending, lends) = oneshot::channel();
        let (sleeping, sleeps) = oneshot::channel();
        let scene = Self::before_a_handover(cluster, move || {
            let _ = lending.send(());
            Action::behind(sleeps.map(drop))
        });
        let scene = scene.await;
        tokio::time::timeout(PATIENCE, lends).await.expect("the handover to begin in time").unwrap();
        scene.a.process().pause().unwrap();
        sleeping.send(()).unwrap();
        scene
    }

    /// The handover will begin at once, and this is what happens to the temporary manager's first write.
    async fn before_a_handover(cluster: &Cluster, lend: impl FnOnce() -> Action + Send + 'static) -> Self {
        let candidates = Candidates::of(cluster, &["a", "b"]).await;
        let is_cut_off = Arc::new(AtomicBool::new(false));
        let cut_off = is_cut_off.clone();
        let lend = Mutex::new(Some(lend));
        let proxy = Proxy::start(cluster, move |request| {
            let lends = request.query("fieldManager") == Some("handover-to-hpa");
            if cut_off.load(Ordering::SeqCst) {
                return Action::Cut;
            }
            match lends.then(|| lend.lock().unwrap().take()).flatten() {
                Some(lend) => lend(),
                None => Action::Forward,
            }
        });
        let proxy = Arc::new(proxy.await.unwrap());
        let a = candidates.start("a", Some(&proxy)).await;
        candidates.leads("a").await;
        let b = candidates.start("b", None).await;

        candidates.apply(&json!({"replicas": 2})).await;
        candidates.reach(Fixed, 2).await;
        let watch = candidates.watch().await;
        candidates.apply(&json!({"replicas": 2, "autoscaling": {"minReplicas": 3, "maxReplicas": 8}})).await;
        Self { a, b, watch, proxy, is_cut_off, candidates }
    }

    /// How long it took until `b` led.
    async fn taken_over_since(&self, begun: Instant) -> Duration {
        self.candidates.leads("b").await;
        begun.elapsed()
    }

    /// `b` brings the handover to its end; nobody wrote without the lease, and the number never fell.
    async fn ends_well(&self, what: &str, took: Duration) -> Record {
        self.candidates.reach(HandedOver, 3).await;
        assert!(self.b.end().is_none(), "{}", self.b.log_tail(30));
        let history = self.watch.history().await.unwrap();
        history.never_below(2).unwrap();
        assert_eq!(history.values(), [2, 3], "{history}");
        let record = Record::of(&self.candidates);
        record.nobody_wrote_without_the_lease();
        let holders: Vec<_> = record.terms.iter().map(|term| &*term.holder).collect();
        println!(
            "{what}: taken over after {took:.1?}; held by {holders:?}; writes {:?}",
            record.writes_by_user()
        );
        record
    }

    /// Waits until `a` has ended; when that was.
    async fn a_has_ended(&self) -> Timestamp {
        let ended = async || self.a.end().map(|_| self.candidates.place.cluster.now()).ok_or(());
        eventually("the old leader to end", ended).await
    }

    fn assert_that_a_lost(&self) {
        assert_eq!(self.a.end(), Some(End::Failure), "{}", self.a.log_tail(30));
        assert!(self.a.logs().contains("not the leader any more"), "{}", self.a.log_tail(30));
    }
}

async fn a_leader_that_is_killed_is_followed_when_its_lease_has_run_out(cluster: Cluster) {
    let scene = Scene::in_a_handover(&cluster).await;
    let begun = Instant::now();
    scene.a.kill();
    let took = scene.taken_over_since(begun).await;
    assert!(took <= LEASE_DURATION + RETRY_PERIOD + SLACK, "{took:?}");
    scene.ends_well("killed", took).await;
}

async fn a_leader_that_is_asked_to_end_is_followed_at_once(cluster: Cluster) {
    let scene = Scene::in_a_handover(&cluster).await;
    let begun = Instant::now();
    assert_eq!(scene.a.stop().await.unwrap(), End::Success, "{}", scene.a.log_tail(30));
    let released = Instant::now();
    let took = scene.taken_over_since(begun).await;
    let wait = released.elapsed();
    assert!(wait <= RETRY_PERIOD + SLACK, "{wait:?} after the end of the old leader");
    let record = scene.ends_well("asked to end", took).await;
    let holders: Vec<_> = record.terms.iter().map(|term| &*term.holder).collect();
    assert_eq!(holders, ["a", "", "b"], "it gave the lease back");
}

async fn a_leader_that_is_cut_off_ends_before_the_next_one_leads(cluster: Cluster) {
    let scene = Scene::in_a_handover(&cluster).await;
    let begun = Instant::now();
    scene.is_cut_off.store(true, Ordering::SeqCst);
    scene.proxy.cut_watches();
    let ended = scene.a_has_ended().await;
    let lasted = begun.elapsed();
    assert!(lasted <= RENEW_DEADLINE + SLACK, "{lasted:?}");
    scene.assert_that_a_lost();
    let took = scene.taken_over_since(begun).await;
    assert!(took <= LEASE_DURATION + RETRY_PERIOD + SLACK, "{took:?}");
    let record = scene.ends_well("cut off", took).await;
    assert!(ended < record.began("b"), "{ended} and {}", record.began("b"));
    println!("cut off: the old leader ended after {lasted:.1?}");
}

async fn a_leader_that_slept_past_its_lease_writes_nothing_when_it_wakes_up(cluster: Cluster) {
    let scene = Scene::asleep_in_a_handover(&cluster).await;
    let begun = Instant::now();
    let took = scene.taken_over_since(begun).await;
    assert!(took <= LEASE_DURATION + RETRY_PERIOD + SLACK, "{took:?}");
    scene.candidates.reach(HandedOver, 3).await;
    let woken = Instant::now();
    scene.a.process().resume().unwrap();
    scene.a_has_ended().await;
    println!("stopped: the stale leader ended {:.1?} after it was woken", woken.elapsed());
    scene.assert_that_a_lost();
    scene.ends_well("stopped", took).await;
}

/// Whoever takes the lease from a leader by hand takes it without the leader's knowing, until its next renewal.
async fn a_leader_whose_lease_was_emptied_by_hand_ends_at_its_next_renewal(cluster: Cluster) {
    let scene = Scene::in_a_handover(&cluster).await;
    let begun = Instant::now();
    let empty = Patch::Merge(json!({"spec": {"holderIdentity": ""}}));
    let leases = scene.candidates.place.api::<Lease>();
    leases.patch("baton", &PatchParams::default(), &empty).await.unwrap();
    scene.a_has_ended().await;
    scene.assert_that_a_lost();
    let took = scene.taken_over_since(begun).await;
    assert!(took <= LEASE_DURATION, "{took:?}");
    scene.candidates.reach(HandedOver, 3).await;
    scene.watch.history().await.unwrap().never_below(2).unwrap();
}
