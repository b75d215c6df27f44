//! Reports about refused, lost or overtaken writes: nothing is claimed for a spec that the server hasn't got, and
//! nothing is sent again and again.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU16, AtomicUsize, Ordering},
    },
    time::Duration,
};

use baton_controller::decide::child::ChildKind;
use baton_crd::ChildState;
use baton_e2e::{Environment, OperatorOptions, environment::image, scenarios};
use baton_testbed::{Action, AdmissionWebhook, Cluster, Proxy, eventually};
use k8s_openapi::api::{admissionregistration::v1::ValidatingWebhookConfiguration, apps::v1::Deployment};
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use tokio::{task::JoinSet, time::Instant};

scenarios! {
    a_child_whose_writes_all_conflict_claims_nothing_for_the_spec_and_is_left_alone_for_longer_and_longer,
    a_denial_with_whatever_code_is_a_rejection_and_retried_after_pauses,
    a_failure_of_the_server_that_passes_is_no_rejection,
    a_wanted_child_that_is_being_deleted_is_not_applied_until_it_exists_again,
    an_edit_is_current_at_once,
}

scenarios! {
    only real, because "the server in the process has no webhooks, and its writes take no time":
    a_webhook_that_denies_a_child_with_422_is_reported_and_retried_after_pauses,
    an_object_that_others_write_all_the_time_is_written_nevertheless,
}

const DENIED: &str = "admission webhook \"no.webhook.test\" denied the request: not today";

fn with_image(image: &str) -> Value {
    json!({"replicas": 1, "template": {"spec": {"containers": [{"name": "app", "image": image}]}}})
}

/// The proxy's response to each patch of a Deployment; none at 0.
#[derive(Clone, Default)]
struct Refusals {
    code: Arc<AtomicU16>,
    patches: Arc<AtomicUsize>,
}

impl Refusals {
    async fn env(&self, cluster: &Cluster, name: &str) -> (Environment, Proxy) {
        let rule = self.clone();
        let proxy = Proxy::start(cluster, move |request| {
            if request.method != "PATCH" || !request.path.ends_with("/deployments/web") {
                return Action::Forward;
            }
            rule.patches.fetch_add(1, Ordering::Relaxed);
            match rule.code.load(Ordering::Relaxed) {
                0 => Action::Forward,
                500 => Action::fail(500, "ServerTimeout", "could not be completed, please try again"),
                code @ (400 | 403 | 422) => Action::fail(code, "", DENIED),
                code => Action::fail(code, "Conflict", "the object has been modified"),
            }
        });
        let proxy = proxy.await.unwrap();
        let options = OperatorOptions::by_way_of(&proxy);
        (Environment::start_with(cluster, name, options).await, proxy)
    }

    fn begin(&self, code: u16) {
        self.patches.store(0, Ordering::Relaxed);
        self.code.store(code, Ordering::Relaxed);
    }

    fn end(&self) {
        self.code.store(0, Ordering::Relaxed);
    }

    fn patches(&self) -> usize {
        self.patches.load(Ordering::Relaxed)
    }
}

async fn a_child_whose_writes_all_conflict_claims_nothing_for_the_spec_and_is_left_alone_for_longer_and_longer(
    cluster: Cluster,
) {
    let refusals = Refusals::default();
    let (env, _proxy) = refusals.env(&cluster, "conflicts").await;
    env.apply_until("Ready", &with_image("app:1")).await;
    env.at_rest().await;

    refusals.begin(409);
    env.apply(&with_image("app:2")).await;
    let applied = env.condition("Applied", "False").await;
    assert_eq!(applied.reason, "Pending");
    assert!(applied.message.contains("the object has been modified"), "{}", applied.message);
    env.condition("Ready", "False").await;
    env.condition("Reconciling", "True").await;
    env.event(&["Warning Overtaken:", "the object has been modified"]).await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    let workload = env.workload().await;
    let status = workload.status.unwrap();
    assert_ne!(status.observed_generation, workload.metadata.generation, "{status:#?}");
    // After 0, 1, 3, 7 and 15 seconds, and the waits in between.
    assert!(refusals.patches() <= 5 * 8, "{} patches in 20 s", refusals.patches());

    refusals.end();
    env.condition("Ready", "True").await;
    assert_eq!(image(&env.child(ChildKind::Deployment).await.unwrap()), "app:2");
    let workload = env.workload().await;
    assert_eq!(workload.status.unwrap().observed_generation, workload.metadata.generation);
}

async fn a_denial_with_whatever_code_is_a_rejection_and_retried_after_pauses(cluster: Cluster) {
    let refusals = Refusals::default();
    let (env, _proxy) = refusals.env(&cluster, "denials").await;
    for code in [403, 422] {
        refusals.begin(code);
        env.apply(&with_image(&format!("app:{code}"))).await;
        let applied = env.condition("Applied", "False").await;
        assert_eq!((applied.reason.as_str(), applied.message.contains(DENIED)), ("Rejected", true), "{code}");
        env.condition("Stalled", "True").await;
        env.event(&["Warning Rejected:", DENIED]).await;
        tokio::time::sleep(Duration::from_secs(10)).await;
        // After 0, 1, 3 and 7 seconds.
        assert!((2..=5).contains(&refusals.patches()), "{code}: {} patches in 10 s", refusals.patches());
        refusals.end();
        env.condition("Ready", "True").await;
    }
}

async fn a_failure_of_the_server_that_passes_is_no_rejection(cluster: Cluster) {
    let refusals = Refusals::default();
    let (env, _proxy) = refusals.env(&cluster, "passing").await;
    env.apply_until("Ready", &with_image("app:1")).await;
    refusals.begin(500);
    env.apply(&with_image("app:2")).await;
    let applied = env.condition("Applied", "False").await;
    assert_eq!(applied.reason, "Pending");
    assert!(applied.message.contains("please try again"), "{}", applied.message);
    assert_eq!(env.condition("Reconciling", "True").await.reason, "Pending");
    let conditions = env.workload().await.status.unwrap().conditions;
    assert!(conditions.iter().all(|condition| condition.type_ != "Stalled"), "{conditions:#?}");
    refusals.end();
    env.condition("Ready", "True").await;
    let events = env.events().await;
    assert!(!events.iter().any(|event| event.contains("Rejected")), "{events:#?}");
}

async fn a_wanted_child_that_is_being_deleted_is_not_applied_until_it_exists_again(cluster: Cluster) {
    let env = Environment::start(&cluster, "dying").await;
    let spec = |port: Option<u16>| match port {
        Some(port) => json!({"replicas": 1, "service": {"ports": [{"port": port}]}}),
        None => json!({"replicas": 1}),
    };
    env.apply_until("Ready", &spec(Some(80))).await;
    let finalizers = |list: Value| Patch::Merge(json!({"metadata": {"finalizers": list}}));
    env.edit_as("user", ChildKind::Service, &finalizers(json!(["example.com/kept"]))).await;
    env.apply(&spec(None)).await;
    env.child_where("the Service to be deleted", ChildKind::Service, |service| {
        service.metadata.deletion_timestamp.is_some()
    })
    .await;
    env.apply(&spec(Some(81))).await;
    let applied = env.condition("Applied", "False").await;
    assert_eq!((applied.reason.as_str(), applied.message.contains("being deleted")), ("Pending", true));
    assert_eq!(env.condition("Ready", "False").await.reason, "NotApplied");
    let service = env.workload().await.status.unwrap().children.into_iter().find(|one| one.kind == "Service");
    assert_eq!(service.map(|service| service.state), Some(ChildState::Pending));

    env.edit_as("user", ChildKind::Service, &finalizers(json!(null))).await;
    env.condition("Applied", "True").await;
    let service = env.child(ChildKind::Service).await.unwrap();
    assert_eq!(service.data["spec"]["ports"][0]["port"], 81);
    assert!(service.metadata.deletion_timestamp.is_none());
}

async fn an_edit_is_current_at_once(cluster: Cluster) {
    let env = Environment::start(&cluster, "current").await;
    env.apply_until("Ready", &with_image("app:0")).await;
    let mut took = Vec::new();
    for number in 1..=5 {
        env.at_rest().await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        let generation = env.apply(&with_image(&format!("app:{number}"))).await.metadata.generation;
        let begin = Instant::now();
        while env.workload().await.status.and_then(|status| status.observed_generation) != generation {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        took.push(begin.elapsed());
    }
    took.sort();
    eprintln!("edits are current after {took:?}");
    assert!(took[2] < Duration::from_millis(450), "{took:?}");
}

/// Makes the API server call a webhook for each write of a Deployment here, and waits until it does.
async fn deny(
    env: &Environment,
    webhook: &AdmissionWebhook,
    path: &str,
) -> Api<ValidatingWebhookConfiguration> {
    let configuration = json!({
        "metadata": {"name": env.ns()},
        "webhooks": [{
            "name": "no.webhook.test",
            "clientConfig": webhook.client_config(path),
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": env.ns()}},
            "rules": [{
                "operations": ["CREATE", "UPDATE"], "apiGroups": ["apps"], "apiVersions": ["v1"],
                "resources": ["deployments"],
            }],
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
        }],
    });
    let all: Api<ValidatingWebhookConfiguration> = Api::all(env.client.clone());
    all.create(&PostParams::default(), &serde_json::from_value(configuration).unwrap()).await.unwrap();
    let deployments: Api<Deployment> = env.api();
    eventually("the webhook to be called", async || {
        let probe = json!({"metadata": {"annotations": {"probe": "1"}}});
        let params = PatchParams { dry_run: true, ..PatchParams::default() };
        match deployments.patch("web", &params, &Patch::Merge(probe)).await {
            Err(denied) if denied.to_string().contains("denied the request") => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await;
    all
}

async fn a_webhook_that_denies_a_child_with_422_is_reported_and_retried_after_pauses(cluster: Cluster) {
    let env = Environment::start(&cluster, "webhook").await;
    env.apply_until("Applied", &with_image("app:1")).await;
    let webhook = AdmissionWebhook::start().await.unwrap();
    let configurations = deny(&env, &webhook, "/deny/422").await;
    let mark = env.mark();
    env.apply(&with_image("app:2")).await;
    assert_eq!(env.condition("Applied", "False").await.reason, "Rejected");
    env.event(&["Warning Rejected:", "admission webhook", "denied the request"]).await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    let tries = env.requests_since(mark).writes().resource("deployments");
    assert!((2..=5).contains(&tries.len()), "after 0, 1, 3 and 7 seconds:\n{tries}");
    configurations.delete(env.ns(), &DeleteParams::default()).await.unwrap();
    env.condition("Applied", "True").await;
    assert_eq!(image(&env.child(ChildKind::Deployment).await.unwrap()), "app:2");
}

async fn an_object_that_others_write_all_the_time_is_written_nevertheless(cluster: Cluster) {
    let env = Environment::start(&cluster, "busy").await;
    env.apply_until("Applied", &with_image("app:1")).await;
    let mut writers = JoinSet::new();
    for writer in 0..6 {
        let deployments: Api<Deployment> = env.api();
        writers.spawn(async move {
            for beat in 0.. {
                let patch =
                    json!({"metadata": {"annotations": {format!("writer-{writer}"): beat.to_string()}}});
                deployments.patch("web", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
                tokio::time::sleep(Duration::from_millis(90)).await;
            }
        });
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    for number in 2..7 {
        let wanted = format!("app:{number}");
        env.apply(&with_image(&wanted)).await;
        env.child_where("the new image", ChildKind::Deployment, |live| image(live) == &json!(wanted)).await;
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    writers.shutdown().await;
    env.condition("Applied", "True").await;
}
