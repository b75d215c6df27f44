//! Predictions are as good as the schemas that the API server serves. With wrong ones, or none, the children still
//! match the spec.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use baton_controller::decide::child::ChildKind;
use baton_e2e::{Environment, OperatorOptions, scenarios, web};
use baton_testbed::{Action, Cluster, Proxy, RequestInfo, eventually};
use kube::api::PatchParams;
use serde_json::{Value, json};

scenarios! {
    a_wrong_schema_is_noticed_and_does_no_harm,
    without_schemas_everything_is_applied_until_there_are_some,
    a_document_is_fetched_again_only_when_its_hash_changes,
    what_was_predicted_with_other_schemas_is_predicted_again,
}

const INDEX: &str = "/openapi/v3";
const APPS: &str = "/openapi/v3/apis/apps/v1";

/// An environment whose operator reaches the API server through a proxy with these rules, and reads the schemas' hashes often.
async fn start(
    cluster: &Cluster,
    name: &str,
    rules: impl Fn(&RequestInfo) -> Action + Send + Sync + 'static,
) -> (Environment, Proxy) {
    let proxy = Proxy::start(cluster, rules).await.unwrap();
    let options = OperatorOptions {
        by_way_of: Some(proxy.route()),
        expect_mismatches: true,
        ..OperatorOptions::with_flags("--schema-refresh 200ms")
    };
    (Environment::start_with(cluster, name, options).await, proxy)
}

async fn count(env: &Environment, metric: &str, labels: &[(&str, &str)]) -> u64 {
    env.operator().metrics().await.unwrap().count(metric, labels)
}

/// Makes the list of containers atomic: one manager owns it as a whole.
fn make_containers_atomic(document: &mut Value) {
    let containers =
        &mut document["components"]["schemas"]["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"];
    let containers = containers.as_object_mut().unwrap();
    containers.insert("x-kubernetes-list-type".to_owned(), json!("atomic"));
    containers.remove("x-kubernetes-list-map-keys").unwrap();
}

/// The warnings about predictions, by the kind that they are about.
fn warnings(env: &Environment, kind: ChildKind) -> Vec<String> {
    let (log, about) = (env.operator().logs(), format!("kind={kind} "));
    let is_one =
        |line: &&str| line.contains("WARN") && line.contains("prediction mismatch") && line.contains(&about);
    log.lines().filter(is_one).map(str::to_owned).collect()
}

async fn a_wrong_schema_is_noticed_and_does_no_harm(cluster: Cluster) {
    let (env, _proxy) = start(&cluster, "wrong-schema", |request| match &*request.path {
        APPS => Action::rewrite(make_containers_atomic),
        _ => Action::Forward,
    })
    .await;
    let spec = |image: &str| {
        json!({
            "replicas": 1,
            "template": {"spec": {"containers": [{"name": "app", "image": image}]}},
            "service": {"ports": [{"port": 80}]},
        })
    };
    let mut other = web(&spec("app:1"));
    other["metadata"]["name"] = json!("other");
    env.apply_as("user", &other).await.unwrap();
    env.apply_until("Ready", &spec("app:1")).await;

    let mismatches =
        async |kind| count(&env, "baton_predictions_total", &[("kind", kind), ("outcome", "mismatch")]).await;
    eventually("a mismatch for each of the two", async || match mismatches("Deployment").await {
        0 | 1 => Err(env.operator().log_tail(20)),
        _ => Ok(()),
    })
    .await;
    let logged = warnings(&env, ChildKind::Deployment);
    assert_eq!(logged.len(), 1, "the same cause twice is logged once:\n{}", logged.join("\n"));
    assert!(
        logged[0].contains("predicted") && logged[0].contains("response"),
        "both sides are shown: {}",
        logged[0]
    );

    // Another manager adds a container, which is in the same field by the wrong schema.
    let sidecar = json!({"name": "sidecar", "image": "proxy:1"});
    let theirs = json!({"spec": {"template": {"spec": {"containers": [sidecar]}}}});
    env.apply_child(&PatchParams::apply("mesh"), ChildKind::Deployment, &theirs).await;
    env.reconcile_times(5).await;
    env.apply(&spec("app:2")).await;
    env.child_where("the new image beside the sidecar", ChildKind::Deployment, |deployment| {
        let containers = deployment.data["spec"]["template"]["spec"]["containers"].as_array().unwrap();
        let images: Vec<_> = containers.iter().map(|container| &container["image"]).collect();
        images == ["app:2", "proxy:1"]
    })
    .await;
    env.condition("Applied", "True").await;
    env.at_rest().await;

    assert_eq!(count(&env, "baton_reconciles_total", &[("outcome", "failed")]).await, 0);
    assert_eq!(mismatches("Service").await, 0, "the other schemas are right");
    let matches = [("kind", "Service"), ("outcome", "match")];
    let filled = [("kind", "Service"), ("outcome", "modulo-defaulting")];
    let right = count(&env, "baton_predictions_total", &matches).await
        + count(&env, "baton_predictions_total", &filled).await;
    assert!(right >= 2, "both Services were predicted correctly, not {right}");
    let status = env.workload().await.status.unwrap();
    assert_eq!(status.takeovers, [], "no field was taken over");
    assert!(
        status.conditions.iter().all(|condition| condition.type_ != "Contested"),
        "{:#?}",
        status.conditions
    );
}

async fn without_schemas_everything_is_applied_until_there_are_some(cluster: Cluster) {
    let broken = Arc::new(AtomicBool::new(true));
    let is_broken = broken.clone();
    let (env, _proxy) = start(&cluster, "no-schema", move |request| match &*request.path {
        INDEX if is_broken.load(Ordering::Relaxed) => Action::fail(404, "NotFound", "not here"),
        _ => Action::Forward,
    })
    .await;
    env.apply_until("Ready", &json!({"replicas": 1, "service": {"ports": [{"port": 80}]}})).await;
    assert_eq!(count(&env, "baton_schemas_usable", &[]).await, 0);
    let log = env.operator().logs();
    let warning = log.lines().find(|line| line.contains("can't read the index of OpenAPI documents"));
    assert!(warning.is_some_and(|line| line.contains("WARN") && line.contains("not here")), "{log}");

    env.at_rest().await;
    let (mark, before) = (env.mark(), count(&env, "baton_predictions_total", &[("outcome", "none")]).await);
    env.reconcile_all(1).await;
    let sent = env.requests_since(mark).writes();
    assert_eq!(sent.len(), 2, "Deployment and Service are applied, though that changes nothing:\n{sent}");
    assert_eq!(count(&env, "baton_predictions_total", &[("outcome", "none")]).await, before + 2);

    broken.store(false, Ordering::Relaxed);
    eventually("schemas", async || match count(&env, "baton_schemas_usable", &[]).await {
        1 => Ok(()),
        _ => Err(env.operator().log_tail(5)),
    })
    .await;
    // The new schemas begin a pass too.
    env.at_rest().await;
    let mark = env.mark();
    env.reconcile_all(1).await;
    let sent = env.requests_since(mark).writes();
    assert!(sent.is_empty(), "a write that changes nothing is skipped:\n{sent}");
    assert_eq!(count(&env, "baton_applies_total", &[("outcome", "skipped")]).await, 4);
}

/// Changes the hash of a document in the index.
fn change_hash(index: &mut Value) {
    let url = &mut index["paths"]["apis/apps/v1"]["serverRelativeURL"];
    // The server redirects a request with another hash, but ignores an unknown parameter.
    *url = json!(format!("{}&changed=true", url.as_str().unwrap()));
}

async fn a_document_is_fetched_again_only_when_its_hash_changes(cluster: Cluster) {
    let fetched = Arc::new(AtomicUsize::new(0));
    let (changed, seen) = (Arc::new(AtomicBool::new(false)), fetched.clone());
    let is_changed = changed.clone();
    let (env, _proxy) = start(&cluster, "schema-hash", move |request| match &*request.path {
        INDEX if is_changed.load(Ordering::Relaxed) => Action::rewrite(change_hash),
        path => {
            if path.starts_with(APPS) {
                seen.fetch_add(1, Ordering::Relaxed);
            }
            Action::Forward
        }
    })
    .await;
    let refreshes =
        async |outcome| count(&env, "baton_schema_refreshes_total", &[("outcome", outcome)]).await;
    eventually("a few reads of the hashes", async || match refreshes("unchanged").await {
        reads @ 0..3 => Err(reads),
        _ => Ok(()),
    })
    .await;
    assert_eq!((fetched.load(Ordering::Relaxed), refreshes("changed").await), (1, 1));

    changed.store(true, Ordering::Relaxed);
    eventually("the document to be fetched", async || match refreshes("changed").await {
        2 => Ok(()),
        times => Err(times),
    })
    .await;
    assert_eq!(fetched.load(Ordering::Relaxed), 2);
    assert_eq!(refreshes("failed").await, 0);
}

async fn what_was_predicted_with_other_schemas_is_predicted_again(cluster: Cluster) {
    let changed = Arc::new(AtomicBool::new(false));
    let is_changed = changed.clone();
    let (env, _proxy) = start(&cluster, "schema-again", move |request| match &*request.path {
        INDEX if is_changed.load(Ordering::Relaxed) => Action::rewrite(change_hash),
        _ => Action::Forward,
    })
    .await;
    env.apply_until("Ready", &json!({"replicas": 0, "service": {"ports": [{"port": 80}]}})).await;
    env.at_rest().await;
    let skipped = async || count(&env, "baton_applies_total", &[("outcome", "skipped")]).await;
    let (mark, before) = (env.mark(), skipped().await);
    changed.store(true, Ordering::Relaxed);
    eventually("both children to be predicted again", async || match skipped().await - before {
        0..2 => Err(env.operator().log_tail(5)),
        _ => Ok(()),
    })
    .await;
    let writes = env.requests_since(mark).writes();
    assert!(writes.is_empty(), "{writes}");
}
