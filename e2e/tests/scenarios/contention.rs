//! Contention about a field: Baton reports it, limits its writes however fast the other manager is, and ends it when the other
//! manager stops.

use std::time::Duration;

use baton_controller::decide::child::ChildKind;
use baton_crd::TakeoverStatus;
use baton_e2e::{Environment, environment::image, scenarios};
use baton_testbed::{AuditEntries, Cluster, eventually};
use jiff::SignedDuration;
use kube::{
    Api,
    api::{Patch, PatchParams},
    core::DynamicObject,
};
use serde_json::{Value, json};
use tokio::{task::JoinHandle, time::Instant};

scenarios! {
    contention_is_reported_and_bounded_and_ends_with_its_cause,
    a_restart_does_not_reset_the_pauses_of_contention,
    contention_ends_with_an_edit_that_gives_the_field_up,
}

const IMAGE: &str = r#".spec.template.spec.containers[name="app"].image"#;
/// How often Baton takes a field back before it begins to pause.
const FREE: u32 = 3;
/// How often it tries a write of an object that another manager writes at the same time.
const TRIES: usize = 4;

/// A manager that sets another image and annotation than Baton, ten times a second.
struct Rogue(JoinHandle<()>);

impl Rogue {
    fn start(deployments: Api<DynamicObject>) -> Self {
        let apply = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "annotations": {"contested": "rogue"}},
            "spec": {"template": {"spec": {"containers": [{"name": "app", "image": "rogue:1"}]}}},
        });
        Self(tokio::spawn(async move {
            let mut beat = tokio::time::interval(Duration::from_millis(100));
            loop {
                beat.tick().await;
                let params = PatchParams::apply("rogue").force();
                deployments.patch("web", &params, &Patch::Apply(&apply)).await.unwrap();
            }
        }))
    }

    fn stop(self) {
        assert!(!self.0.is_finished(), "the rogue stopped early");
        self.0.abort();
    }
}

/// How often Baton may write in contention of this length: a few times at once, then after pauses of 1, 2, 4… seconds.
fn most_writes(lasts: Duration) -> u32 {
    let pauses_that_end = (lasts.as_secs() + 1).ilog2();
    FREE + pauses_that_end
}

fn summary(writes: &AuditEntries) -> String {
    let of =
        |resource: &str| writes.iter().filter(|write| write.resource.as_deref() == Some(resource)).count();
    format!(
        "{} writes: {} of the Deployment, {} of the Service, {} of the status, {} of Events",
        writes.len(),
        of("deployments"),
        of("services"),
        of("workloads"),
        of("events")
    )
}

/// How often Baton has taken the field back, by the message of a condition.
fn rounds(message: &str) -> u32 {
    let (_, rest) = message.split_once("has corrected it ").unwrap();
    rest.split_once(" times").unwrap().0.parse().unwrap()
}

/// Waits until the operator's metrics count so many contested Deployments. They are read from its cache, which may lag
/// behind the status that a test has just read from the API server.
async fn contested_deployments(env: &Environment, expected: u64) {
    eventually(&format!("{expected} contested Deployments in the metrics"), async || {
        let metrics = env.operator().metrics().await.unwrap();
        let count = metrics.count("baton_contested_children", &[("kind", "Deployment")]);
        if count == expected { Ok(()) } else { Err(count) }
    })
    .await;
}

/// Contention from beginning to end, with an edit of the spec in it.
async fn contend(env: &Environment, lasts: Duration) {
    let spec = |ports: Value| json!({"replicas": 1, "service": {"ports": ports}});
    env.apply_until("Ready", &spec(json!([{"name": "http", "port": 80}]))).await;
    env.at_rest().await;

    let (begin, mark) = (Instant::now(), env.mark());
    let rogue = Rogue::start(env.children(ChildKind::Deployment));
    let contested = env.condition("Contested", "True").await;
    for word in ["Deployment", IMAGE, "rogue"] {
        assert!(contested.message.contains(word), "{word} in {}", contested.message);
    }
    assert!(rounds(&contested.message) >= FREE, "{}", contested.message);
    assert_eq!(env.condition("Applied", "False").await.reason, "Contested");
    contested_deployments(env, 1).await;

    // The other children go on.
    env.apply(&spec(json!([{"name": "http", "port": 80}, {"name": "https", "port": 443}]))).await;
    env.child_where("the new port of the Service", ChildKind::Service, |service| {
        service.data["spec"]["ports"].as_array().unwrap().len() == 2
    })
    .await;
    tokio::time::sleep(lasts.saturating_sub(begin.elapsed())).await;
    assert_eq!(env.condition("Contested", "True").await.reason, "Contested", "the contention goes on");
    let writes = env.requests_since(mark).writes();
    rogue.stop();
    eprintln!("contention for {lasts:?}: {}", summary(&writes));
    // The edit ended a pause.
    let most = most_writes(lasts) as usize + 1;
    let of = |resource| writes.clone().resource(resource);
    let taken_back = of("deployments").code(200).len();
    assert!(taken_back <= most, "the image was taken back {taken_back} times, more than {most}:\n{writes}");
    // The Deployment's controller writes as well. Baton retries after a conflict, but not forever.
    assert!(of("deployments").len() <= TRIES * most, "{writes}");
    // The status reports each of them, and the edit. One Event reports the contention, and one the takeover.
    assert!(of("workloads").len() <= 2 * most, "{writes}");
    assert_eq!(of("events").len(), 2, "{writes}");

    // It is over once the field has stayed Baton's for twice the last pause.
    env.no_condition("Contested").await;
    eprintln!("over after {:?}", begin.elapsed());
    env.condition("Applied", "True").await;
    env.condition("Ready", "True").await;
    assert_eq!(image(&env.child(ChildKind::Deployment).await.unwrap()), "app:1");
    contested_deployments(env, 0).await;
    env.at_rest().await;
    let events = env.events().await;
    for begins in ["Warning Contested: Deployment: rogue overwrites", "Normal ContentionOver:"] {
        let count = events.iter().filter(|event| event.starts_with(begins)).count();
        assert_eq!(count, 1, "{begins} in {events:#?}");
    }
    let mark = env.mark();
    tokio::time::sleep(Duration::from_secs(3)).await;
    let writes = env.requests_since(mark).writes();
    assert!(writes.is_empty(), "nothing is left to do:\n{writes}");
}

async fn contention_is_reported_and_bounded_and_ends_with_its_cause(cluster: Cluster) {
    contend(&Environment::start(&cluster, "contention").await, Duration::from_mins(1)).await;
}

async fn a_restart_does_not_reset_the_pauses_of_contention(cluster: Cluster) {
    let mut env = Environment::start(&cluster, "contention-restart").await;
    env.apply_until("Ready", &json!({"replicas": 1})).await;
    let mark = env.mark();
    let rogue = Rogue::start(env.children(ChildKind::Deployment));
    let taken_back = |env: &Environment| env.requests_since(mark).writes().resource("deployments").code(200);
    eventually("a report of six rounds", async || {
        let takeovers = env.workload().await.status.unwrap_or_default().takeovers;
        if takeovers.iter().any(|taken| taken.count == 6) { Ok(()) } else { Err(takeovers) }
    })
    .await;
    let before = taken_back(&env);
    env.restart().await;
    let after = eventually("the seventh round", async || {
        let writes = taken_back(&env);
        if writes.len() > before.len() { Ok(writes) } else { Err(writes) }
    })
    .await;
    rogue.stop();
    let pause = after[before.len()].received.duration_since(before[before.len() - 1].received);
    // Eight seconds, but the time in the status has no fractions.
    assert!(pause >= SignedDuration::from_millis(6900), "a pause of {pause:#}:\n{after}");
}

async fn contention_ends_with_an_edit_that_gives_the_field_up(cluster: Cluster) {
    let env = Environment::start(&cluster, "given-up").await;
    let spec = |annotations: Value| json!({"replicas": 1, "deployment": {"annotations": annotations}});
    env.apply_until("Ready", &spec(json!({"contested": "baton"}))).await;
    let rogue = Rogue::start(env.children(ChildKind::Deployment));
    eventually("contention of five rounds", async || {
        let takeovers = env.workload().await.status.unwrap_or_default().takeovers;
        let is_it =
            |taken: &TakeoverStatus| taken.path == ".metadata.annotations.contested" && taken.count >= 5;
        if takeovers.iter().any(is_it) { Ok(()) } else { Err(takeovers) }
    })
    .await;
    rogue.stop();
    // The image isn't released. Two managers may own one field, if both set the same value.
    let mut edited = spec(json!({}));
    edited["template"] = json!({"spec": {"containers": [{"name": "app", "image": "rogue:1"}]}});
    env.apply(&edited).await;
    let contested = eventually("an edit that is applied", async || {
        let workload = env.workload().await;
        let status = workload.status.unwrap_or_default();
        if status.observed_generation < workload.metadata.generation {
            return Err(status);
        }
        Ok(status.conditions.into_iter().find(|condition| condition.type_ == "Contested"))
    })
    .await;
    // The image may be contested still.
    if let Some(contested) = contested {
        assert!(
            contested.message.contains(IMAGE) && !contested.message.contains("annotations"),
            "{contested:?}"
        );
    }
}
