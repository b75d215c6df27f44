//! Faults of requests and watches while the replica count goes to an autoscaler and comes back, and an API server that restarts.
//! The operator keeps running, and the faults must not show in the replica count.
//!
//! In the process the simulation has all of them, in any combination: late and lost requests and responses, refusals, other
//! clients, and restarts of the server with and without its history.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use baton_e2e::scenarios;
use baton_testbed::{Action, Cluster, ControlPlane, Proxy, RequestInfo};
use kube::{
    Client,
    api::{Patch, PatchParams, Request},
};
use serde_json::{Value, json};
use tokio::{join, time::Instant};

use super::{attempt::Attempt, cases};

scenarios! {
    only real, because "the simulation has these faults in the process":
    each_write_is_late,
    each_write_fails_at_first,
    another_client_is_faster_at_each_write,
    the_response_to_each_write_is_lost_at_first,
    watches_break_all_the_time,
    watches_get_the_error_that_their_version_is_gone,
    the_api_server_restarts_in_the_middle_of_handovers,
    etcd_compacts_versions_that_the_watches_have_not_seen,
}

/// How long a watch lives before it is cut: long enough for some events of a handover, too short for all.
const LIFE_OF_A_WATCH: Duration = Duration::from_millis(700);

/// The operator's writes at which the API server restarts: after the temporary manager owns the replica count, while the
/// external autoscaler takes over, and on the way back.
const WRITES: [usize; 3] = [5, 10, 14];

/// Plays the case with a fault, which has to strike at least `least` times. `fault` gets a request and its number among
/// those of its kind, from 1, and returns what to do to it; nothing, if it is spared. Returns the operator's user.
async fn play(
    cluster: &Cluster,
    name: &str,
    least: usize,
    fault: impl Fn(&RequestInfo, usize) -> Option<Action> + Send + Sync + 'static,
) -> String {
    let begun = Instant::now();
    let case = cases::there_and_back();
    let attempt = Attempt::new(cluster, format!("{}, {name}", case.name)).await;
    let strikes = Arc::new(AtomicUsize::new(0));
    let (struck, tries) = (strikes.clone(), Mutex::new(HashMap::new()));
    let proxy = Proxy::start(cluster, move |request| {
        let action = fault(request, count(&mut tries.lock().unwrap(), request));
        if action.is_some() {
            struck.fetch_add(1, Ordering::Relaxed);
        }
        action.unwrap_or(Action::Forward)
    })
    .await
    .unwrap();
    let operator = attempt.operator(Some(&proxy)).await;
    let watch = attempt.watch().await;
    attempt.act(&case.steps).await;
    attempt.judge(&watch, &case).await;
    let strikes = strikes.load(Ordering::Relaxed);
    assert!(strikes >= least, "{}: it struck only {strikes} times", attempt.title);
    println!(
        "{}: {strikes} times in {} writes, {:.1} s",
        attempt.title,
        proxy.writes(),
        begun.elapsed().as_secs_f64()
    );
    operator.user().to_owned()
}

/// The number of this request among those of its kind, from 1. A retried request is of the same kind.
fn count(tries: &mut HashMap<String, usize>, request: &RequestInfo) -> usize {
    let manager = request.query("fieldManager").unwrap_or_default();
    let kind = format!("{} {} {manager} {}", request.method, request.path, request.is_watch());
    let count = tries.entry(kind).or_default();
    *count += 1;
    *count
}

/// Every other write of a kind fails, beginning with the first: a retry succeeds.
async fn play_failure(cluster: &Cluster, code: u16, reason: &str) -> String {
    let (name, reason) = (code.to_string(), reason.to_owned());
    play(cluster, &name, 8, move |request, count| {
        let fails = request.write.is_some() && count % 2 == 1;
        fails.then(|| Action::fail(code, &reason, "not today"))
    })
    .await
}

async fn each_write_is_late(cluster: Cluster) {
    play(&cluster, "late", 10, |request, _| request.write.map(|_| Action::Delay(Duration::from_millis(400))))
        .await;
}

async fn each_write_fails_at_first(cluster: Cluster) {
    let too_many = play(&cluster, "429", 8, |request, count| {
        (request.write.is_some() && count % 2 == 1).then(|| Action::too_many_requests(1))
    });
    join!(
        too_many,
        play_failure(&cluster, 500, "InternalError"),
        play_failure(&cluster, 503, "ServiceUnavailable")
    );
}

/// A write that is guarded by a resourceVersion gets the code 409; others are merged.
async fn another_client_is_faster_at_each_write(cluster: Cluster) {
    let (client, audit) = (cluster.admin().await.unwrap(), cluster.audit().unwrap());
    let begin = audit.mark().unwrap();
    let user = play(&cluster, "outrun", 8, move |request, count| {
        let is_event = request.path.ends_with("/events");
        let outruns = request.write.is_some() && !is_event && count % 2 == 1;
        outruns.then(|| Action::behind(touch(client.clone(), request.path.clone(), count)))
    })
    .await;
    let refused = audit.by_since(&user, begin).unwrap().writes().code(409);
    assert!(refused.len() >= 8, "too few conflicts:\n{refused}");
}

/// Changes an annotation of the object at this path, if it is there.
async fn touch(client: Client, path: String, count: usize) {
    let path = path.strip_suffix("/status").unwrap_or(&path);
    let (collection, name) = path.rsplit_once('/').unwrap();
    let annotation = json!({"metadata": {"annotations": {"example.com/touched": count.to_string()}}});
    let request = Request::new(collection).patch(name, &PatchParams::default(), &Patch::Merge(annotation));
    match client.request::<Value>(request.unwrap()).await {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.is_not_found() => {}
        Err(error) => panic!("can't touch {path}: {error}"),
    }
}

async fn the_response_to_each_write_is_lost_at_first(cluster: Cluster) {
    play(&cluster, "lost responses", 8, |request, count| {
        (request.write.is_some() && count % 2 == 1).then(|| Action::after(Action::Cut))
    })
    .await;
}

async fn watches_break_all_the_time(cluster: Cluster) {
    play(&cluster, "broken watches", 10, move |request, _| {
        request.is_watch().then_some(Action::CutLater(LIFE_OF_A_WATCH))
    })
    .await;
}

/// The server refuses to resume a watch in two ways. Each time, the watch has to begin with a list again.
async fn watches_get_the_error_that_their_version_is_gone(cluster: Cluster) {
    play(&cluster, "watches gone", 10, move |request, count| match count % 3 {
        _ if !request.is_watch() => None,
        1 => Some(Action::gone()),
        2 => Some(Action::gone_event()),
        _ => Some(Action::CutLater(LIFE_OF_A_WATCH)),
    })
    .await;
}

async fn the_api_server_restarts_in_the_middle_of_handovers(_: Cluster) {
    play_restarts("restarts", false).await;
}

async fn etcd_compacts_versions_that_the_watches_have_not_seen(_: Cluster) {
    play_restarts("restarts and compactions", true).await;
}

/// Plays the case while the API server of a control plane of its own restarts again and again.
async fn play_restarts(name: &str, compacts: bool) {
    let begun = Instant::now();
    let case = cases::there_and_back();
    let mut server = ControlPlane::options().start().await.unwrap();
    let cluster = ControlPlane::given(server.kubeconfig()).unwrap().into();
    let attempt = Attempt::new(&cluster, format!("{}, {name}", case.name)).await;
    let lists = Arc::new(AtomicUsize::new(0));
    let listed = lists.clone();
    let proxy = Proxy::start(&cluster, move |request| {
        if request.path.ends_with("/workloads") && !request.is_watch() {
            listed.fetch_add(1, Ordering::Relaxed);
        }
        Action::Forward
    })
    .await
    .unwrap();
    let _operator = attempt.operator(Some(&proxy)).await;
    let watch = attempt.watch().await;
    let outages = async {
        for writes in WRITES {
            while proxy.writes() < writes {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            if compacts {
                server.compact_etcd().await.unwrap();
            }
            server.restart_api_server().await.unwrap();
        }
    };
    join!(attempt.act(&case.steps), outages);
    attempt.reach(case.end()).await;
    attempt.judge(&watch, &case).await;
    let lists = lists.load(Ordering::Relaxed);
    println!(
        "{}: {} outages, {lists} lists of Workloads, {} writes, {:.1} s",
        attempt.title,
        WRITES.len(),
        proxy.writes(),
        begun.elapsed().as_secs_f64()
    );
    assert!(!compacts || lists > 1, "{}: each watch was resumed", attempt.title);
}
