//! Several installations of Baton share the Workloads by the label `baton.rs/shard`. A Workload that moves from one to another is
//! written by one of them at a time, whatever requests are under way, and its pods keep running.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use baton_controller::decide::child::ChildKind;
use baton_crd::{HandoverPhase, Workload, labels};
use baton_e2e::{Environment, Operator, OperatorOptions, scenarios, web};
use baton_testbed::{Action, AuditEntry, Cluster, Mark, PATIENCE, Proxy, ReplicaWatch, eventually};
use futures::FutureExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, ResourceExt as _, api::ListParams, core::DynamicObject};
use serde_json::json;
use tokio::sync::oneshot;

scenarios! {
    a_workload_that_moves_between_shards_is_never_written_by_two,
    a_shard_without_watches_writes_nothing_of_a_workload_that_has_moved,
    a_workload_that_moves_before_its_first_child_is_created_gets_each_child_once,
}

/// The plurals of all kinds that Baton writes for a Workload.
const WRITTEN: [&str; 5] =
    ["deployments", "services", "horizontalpodautoscalers", "poddisruptionbudgets", "workloads"];

/// Longer than a pass that reads a child again because its watch shows nothing.
const MOMENT: Duration = Duration::from_secs(3);

/// A request of a shard that is to be held back.
#[derive(Clone, Default)]
struct Held(Arc<Mutex<Option<Hold>>>);

struct Hold {
    /// The plural of the kind whose next write is held back.
    resource: String,
    holds: oneshot::Sender<()>,
    until: oneshot::Receiver<()>,
}

impl Held {
    /// Returns the proxy that holds writes back, too.
    async fn with_proxy(cluster: &Cluster) -> (Self, Proxy) {
        let held = Self::default();
        let rule = held.clone();
        let proxy = Proxy::start(cluster, move |request| {
            rule.rule(request.write.is_some(), &request.path).unwrap_or(Action::Forward)
        });
        (held, proxy.await.unwrap())
    }

    /// Holds back the next write to this kind. The first channel reports that it is held back, the second one lets it pass.
    fn next_write(&self, resource: &str) -> (oneshot::Receiver<()>, oneshot::Sender<()>) {
        let (holds, is_held) = oneshot::channel();
        let (release, until) = oneshot::channel();
        *self.0.lock().unwrap() = Some(Hold { resource: resource.to_owned(), holds, until });
        (is_held, release)
    }

    /// The action on a request of this path.
    fn rule(&self, is_write: bool, path: &str) -> Option<Action> {
        let mut held = self.0.lock().unwrap();
        let is_it = |hold: &mut Hold| is_write && path.ends_with(&format!("/{}/web", hold.resource));
        let Hold { holds, until, .. } = held.take_if(is_it)?;
        let _ = holds.send(());
        Some(Action::behind(until.map(drop)))
    }
}

/// A namespace with a Baton for each shard.
struct Shards {
    env: Environment,
    begin: Mark,
    /// The user of each shard.
    users: BTreeMap<String, &'static str>,
}

/// The Baton without a shard.
const NONE: &str = "";

impl Shards {
    async fn new(cluster: &Cluster) -> Self {
        let env = Environment::new(cluster, "shards").await.unwrap();
        let begin = cluster.audit().unwrap().mark().unwrap();
        Self { env, begin, users: BTreeMap::new() }
    }

    async fn start(&mut self, shard: &'static str, proxy: Option<&Proxy>, more: &[&str]) -> Operator {
        let mut args: Vec<String> = more.iter().map(|arg| (*arg).to_owned()).collect();
        if shard != NONE {
            args.push(format!("--shard={shard}"));
        }
        let options = OperatorOptions {
            name: Some(format!("baton-{shard}-{}", self.env.ns()).replace("--", "-")),
            args,
            by_way_of: proxy.map(Proxy::route),
            ..OperatorOptions::default()
        };
        let operator = self.env.start_operator(options).await.unwrap();
        self.users.insert(operator.user().to_owned(), shard);
        operator
    }

    /// Applies the Workload `web`, which has every child, in this shard. `round` becomes a label of each, and restarts nothing.
    async fn apply(&self, shard: &str, round: usize) {
        let labels = json!({"round": round.to_string()});
        let mut workload = web(&json!({
            "replicas": 2,
            "deployment": {"labels": labels},
            "service": {"ports": [{"port": 80}], "labels": labels},
            "autoscaling": {"minReplicas": 3, "maxReplicas": 8, "labels": labels},
            "disruptionBudget": {"maxUnavailable": 1, "labels": labels},
        }));
        if shard != NONE {
            workload["metadata"]["labels"] = json!({labels::SHARD: shard});
        }
        self.env.apply_as("user", &workload).await.unwrap();
    }

    fn children(&self, kind: ChildKind) -> Api<DynamicObject> {
        Api::namespaced_with(self.env.client.clone(), self.env.ns(), &kind.api_resource())
    }

    /// Waits until every child is as this shard makes it in this round.
    async fn is_with(&self, shard: &str, round: usize) {
        eventually(&format!("the children with {shard:?} in round {round}"), async || {
            let mut seen = Vec::new();
            for kind in ChildKind::ALL {
                let child = self.children(kind).get_opt("web").await.unwrap();
                let child_labels = child.map(|child| child.labels().clone()).unwrap_or_default();
                seen.push((child_labels.get(labels::SHARD).cloned(), child_labels.get("round").cloned()));
            }
            let wanted = ((shard != NONE).then(|| shard.to_owned()), Some(round.to_string()));
            if seen.iter().all(|seen| *seen == wanted) { Ok(()) } else { Err(seen) }
        })
        .await;
    }

    /// Waits until the status shows that the autoscaler owns the replica count.
    async fn is_handed_over(&self) {
        eventually("the handover to the autoscaler", async || {
            let status = self.env.api::<Workload>().get("web").await.unwrap().status.unwrap_or_default();
            let ownership = status.replica_ownership.as_ref();
            let is_so = ownership.is_some_and(|one| one.phase == HandoverPhase::HandedOver && one.value == 3);
            if is_so { Ok(()) } else { Err(status) }
        })
        .await;
    }

    async fn pods(&self) -> Vec<String> {
        let pods = self.env.api::<Pod>().list(&ListParams::default()).await.unwrap();
        let mut names: Vec<String> = pods.iter().map(kube::ResourceExt::name_any).collect();
        names.sort();
        names
    }

    /// The writes of this shard, those that were refused included.
    fn writes_of(&self, shard: &str) -> Vec<AuditEntry> {
        let audit = self.env.cluster.audit().unwrap();
        let entries = audit.since(self.begin).unwrap().namespace(self.env.ns()).writes();
        let is_it = |entry: &AuditEntry| self.users.get(&entry.user).is_some_and(|of| *of == shard);
        entries.that(is_it).into_iter().filter(|entry| !entry.is_dry_run()).collect()
    }

    /// For each object, the shards that wrote it, in order. Asserts that each wrote it only while it was in this shard.
    fn writers(&self) -> BTreeMap<&'static str, Vec<&'static str>> {
        let mut stored = Vec::new();
        for shard in self.users.values() {
            for entry in self.writes_of(shard) {
                let resource = entry.resource.clone().unwrap_or_default();
                let Some(resource) = WRITTEN.into_iter().find(|one| *one == resource) else { continue };
                let Some(object) =
                    entry.response_object.as_ref().filter(|_| matches!(entry.code, Some(200 | 201)))
                else {
                    continue;
                };
                let metadata = &object["metadata"];
                let version: u64 = metadata["resourceVersion"].as_str().unwrap().parse().unwrap();
                let label = metadata["labels"][labels::SHARD].as_str().unwrap_or(NONE);
                assert_eq!(label, *shard, "{shard:?} wrote an object of another shard: {entry:#?}");
                stored.push((resource, version, *shard));
            }
        }
        stored.sort_unstable();
        let mut writers: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (resource, _, shard) in stored {
            let writers = writers.entry(resource).or_default();
            if writers.last() != Some(&shard) {
                writers.push(shard);
            }
        }
        writers
    }

    /// Asserts that these shards wrote every child, in this order, and the status in no other order.
    fn assert_written_by(&self, shards: &[&str]) {
        let writers = self.writers();
        for (resource, writers) in &writers {
            if *resource == "workloads" {
                let mut left = shards.iter();
                let is_in_order = writers.iter().all(|writer| left.any(|shard| shard == writer));
                assert!(is_in_order, "{writers:?} wrote the status, and the Workload was with {shards:?}");
            } else {
                assert_eq!(writers, shards, "{resource}");
            }
        }
        assert_eq!(writers.len(), WRITTEN.len(), "{writers:?}");
    }
}

/// In each round a write of the shard `a` to another kind is under way when the Workload moves, and arrives after `b` has written.
async fn a_workload_that_moves_between_shards_is_never_written_by_two(cluster: Cluster) {
    let (held, proxy) = Held::with_proxy(&cluster).await;
    let mut shards = Shards::new(&cluster).await;
    let _a = shards.start("a", Some(&proxy), &[]).await;
    let _b = shards.start("b", None, &[]).await;
    let _none = shards.start(NONE, None, &[]).await;

    shards.apply("a", 0).await;
    shards.is_with("a", 0).await;
    shards.is_handed_over().await;
    let watch = ReplicaWatch::start(&cluster, shards.env.ns(), "web").await.unwrap();
    eventually("three pods", async || {
        let pods = shards.pods().await;
        if pods.len() == 3 { Ok(()) } else { Err(pods) }
    })
    .await;
    let pods = shards.pods().await;
    let mut moves = vec!["a"];
    let mut round = 0;
    for resource in &WRITTEN[..4] {
        let refused = || {
            let writes = shards.writes_of("a");
            let to_it = writes.iter().filter(|entry| entry.resource.as_deref() == Some(*resource));
            to_it.filter(|entry| entry.code == Some(409)).count()
        };
        let before = refused();
        let (is_held, release) = held.next_write(resource);
        round += 1;
        shards.apply("a", round).await;
        tokio::time::timeout(PATIENCE, is_held).await.expect("a to write").unwrap();
        shards.apply("b", round).await;
        shards.is_with("b", round).await;
        release.send(()).unwrap();
        eventually("the late write to be refused", async || {
            let now = refused();
            if now > before { Ok(()) } else { Err((before, now)) }
        })
        .await;

        round += 1;
        shards.apply("a", round).await;
        shards.is_with("a", round).await;
        moves.extend(["b", "a"]);
    }
    for shard in ["b", NONE, "a"] {
        // Only the label changes.
        shards.apply(shard, round).await;
        shards.is_with(shard, round).await;
        moves.push(shard);
    }
    shards.is_handed_over().await;
    shards.assert_written_by(&moves);
    let history = watch.history().await.unwrap();
    assert_eq!(history.values(), [3], "{history}");
    assert_eq!(shards.pods().await, pods, "a move restarts nothing");
}

/// `a` sends every apply in each pass, and its watches are cut before the Workload moves.
async fn a_shard_without_watches_writes_nothing_of_a_workload_that_has_moved(cluster: Cluster) {
    let without_watches = Arc::new(AtomicBool::new(false));
    let is_without_watches = without_watches.clone();
    let proxy = Proxy::start(&cluster, move |request| {
        if is_without_watches.load(Ordering::SeqCst) && request.is_watch() {
            Action::Cut
        } else {
            Action::Forward
        }
    });
    let proxy = proxy.await.unwrap();
    let mut shards = Shards::new(&cluster).await;
    let a = shards.start("a", Some(&proxy), &["--predict=false"]).await;
    let _b = shards.start("b", None, &[]).await;
    shards.apply("a", 0).await;
    shards.is_with("a", 0).await;
    shards.is_handed_over().await;

    without_watches.store(true, Ordering::SeqCst);
    proxy.cut_watches();
    shards.apply("b", 1).await;
    shards.is_with("b", 1).await;
    let before = shards.writes_of("a").len();
    a.reconcile_all().unwrap();
    let refused =
        |entry: &AuditEntry| entry.code == Some(409) && entry.resource.as_deref() != Some("workloads");
    eventually("the writes of the shard without watches to be refused", async || {
        let since = shards.writes_of("a").split_off(before);
        if since.iter().any(refused) { Ok(()) } else { Err(since) }
    })
    .await;
    // Long enough for all that it does next.
    tokio::time::sleep(MOMENT).await;
    shards.assert_written_by(&["a", "b"]);
    without_watches.store(false, Ordering::SeqCst);
    shards.apply("a", 2).await;
    shards.is_with("a", 2).await;
    shards.assert_written_by(&["a", "b", "a"]);
}

/// The creation of the Deployment by `a` is under way when the Workload moves.
async fn a_workload_that_moves_before_its_first_child_is_created_gets_each_child_once(cluster: Cluster) {
    let (held, proxy) = Held::with_proxy(&cluster).await;
    let mut shards = Shards::new(&cluster).await;
    let _a = shards.start("a", Some(&proxy), &[]).await;
    let _b = shards.start("b", None, &[]).await;
    let (is_held, release) = held.next_write("deployments");
    shards.apply("a", 0).await;
    tokio::time::timeout(PATIENCE, is_held).await.expect("a to write").unwrap();
    shards.apply("b", 1).await;
    shards.is_with("b", 1).await;
    shards.is_handed_over().await;
    release.send(()).unwrap();
    eventually("the late creation to be refused", async || {
        let writes = shards.writes_of("a");
        if writes.iter().any(|entry| entry.code == Some(409)) { Ok(()) } else { Err(writes) }
    })
    .await;
    shards.apply("b", 2).await;
    shards.is_with("b", 2).await;
    let writers = shards.writers();
    assert_eq!(writers["deployments"], ["b"]);
    assert!(writers.values().all(|writers| matches!(writers[..], ["b"] | ["a", "b"])), "{writers:?}");
}
