//! One namespace doesn't delay another.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use baton_e2e::{Environment, Operator, OperatorOptions, scenarios, workload};
use baton_testbed::{Action, Cluster, Proxy, eventually};
use futures::future::join_all;
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::ListParams;
use serde_json::json;
use tokio::time::{Instant, sleep};

scenarios! {
    slow_responses_in_one_namespace_do_not_delay_another,
    large_passes_take_turns_and_delay_no_small_one,
}

/// Several times as many as have a pass at the same time.
const SLOW: usize = 64;
/// As long as the API server waits for a webhook at most.
const DELAY: Duration = Duration::from_secs(30);
/// How long an edit may take; most of it is the machine's. Far less than any delay.
const SOON: Duration = Duration::from_secs(6);

async fn apply(env: &Environment, name: &str, image: &str) {
    let containers = json!([{"name": "app", "image": image}]);
    let spec = json!({"replicas": 0, "template": {"spec": {"containers": containers}}});
    env.apply_as("user", &workload(name, &spec)).await.unwrap();
}

/// Waits until so many Deployments run this image.
async fn run(env: &Environment, count: usize, image: &str) {
    eventually(&format!("{count} Deployments running {image}"), async || {
        let all = env.api::<Deployment>().list(&ListParams::default()).await.unwrap();
        let images = all
            .into_iter()
            .filter_map(|deployment| deployment.spec?.template.spec?.containers.into_iter().next()?.image);
        match images.filter(|own| own == image).count() {
            running if running == count => Ok(()),
            running => Err(running),
        }
    })
    .await;
}

/// An operator for two namespaces. While it is slow in the first, each write of a Deployment there is delayed.
struct TwoNamespaces {
    slow: Environment,
    other: Environment,
    is_slow: Arc<AtomicBool>,
    /// How many writes were delayed.
    delayed: Arc<AtomicUsize>,
    _operator: Operator,
    _proxy: Proxy,
}

impl TwoNamespaces {
    async fn start(cluster: &Cluster, [slow, other]: [&str; 2], delay: Duration) -> Self {
        let (slow, other) =
            (Environment::new(cluster, slow).await.unwrap(), Environment::new(cluster, other).await.unwrap());
        let (is_slow, delayed) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (delays, counted) = (is_slow.clone(), delayed.clone());
        let deployments = format!("/apis/apps/v1/namespaces/{}/deployments/", slow.ns());
        let proxy = Proxy::start(cluster, move |request| {
            let is_slow = request.write.is_some() && request.path.starts_with(&deployments);
            if is_slow && delays.load(Ordering::Relaxed) {
                counted.fetch_add(1, Ordering::Relaxed);
                Action::Delay(delay)
            } else {
                Action::Forward
            }
        })
        .await
        .unwrap();
        let namespace = Some(format!("{},{}", slow.ns(), other.ns()));
        let options = OperatorOptions { namespace, ..OperatorOptions::by_way_of(&proxy) };
        let operator = Operator::start(cluster, options).await.unwrap();
        Self { slow, other, is_slow, delayed, _operator: operator, _proxy: proxy }
    }

    /// Edits the Workload in the other namespace, which takes no longer than it should.
    async fn edit_other(&self, image: &str) {
        let begun = Instant::now();
        apply(&self.other, "web", image).await;
        run(&self.other, 1, image).await;
        let took = begun.elapsed();
        assert!(took < SOON, "the edit was applied after {took:?}");
    }
}

async fn slow_responses_in_one_namespace_do_not_delay_another(cluster: Cluster) {
    let namespaces = TwoNamespaces::start(&cluster, ["slow", "other"], DELAY).await;
    let TwoNamespaces { slow, other, is_slow, .. } = &namespaces;
    let apply_slow = async |image: &'static str| {
        let names: Vec<String> = (0..SLOW).map(|number| format!("w{number}")).collect();
        join_all(names.iter().map(|name| apply(slow, name, image))).await;
    };
    apply_slow("app:1").await;
    apply(other, "web", "app:1").await;
    run(slow, SLOW, "app:1").await;
    run(other, 1, "app:1").await;

    is_slow.store(true, Ordering::Relaxed);
    apply_slow("app:2").await;
    sleep(Duration::from_secs(2)).await;
    for version in 2..8 {
        namespaces.edit_other(&format!("app:{version}")).await;
        sleep(Duration::from_secs(4)).await;
    }
}

/// All at the same time would take more memory than an operator has.
async fn large_passes_take_turns_and_delay_no_small_one(cluster: Cluster) {
    const LARGE: usize = 6;
    let namespaces = TwoNamespaces::start(&cluster, ["large", "small"], Duration::from_secs(15)).await;
    let TwoNamespaces { slow: large, other, is_slow, delayed, .. } = &namespaces;
    // One large value: many small ones would take a debug build a minute.
    let variable = json!({"name": "LARGE", "value": "1".repeat(450_000)});
    let apply_large = async |image: &'static str| {
        for number in 0..LARGE {
            let container = json!({"name": "app", "image": image, "env": [variable]});
            let spec = json!({"replicas": 0, "template": {"spec": {"containers": [container]}}});
            large.apply_as("user", &workload(&format!("w{number}"), &spec)).await.unwrap();
        }
    };
    apply_large("app:1").await;
    apply(other, "web", "app:1").await;
    run(large, LARGE, "app:1").await;
    run(other, 1, "app:1").await;

    is_slow.store(true, Ordering::Relaxed);
    apply_large("app:2").await;
    sleep(Duration::from_secs(3)).await;
    let at_once = delayed.load(Ordering::Relaxed);
    assert!((1..=LARGE / 2).contains(&at_once), "{at_once} large Deployments are written at the same time");
    namespaces.edit_other("app:2").await;
    is_slow.store(false, Ordering::Relaxed);
    run(large, LARGE, "app:2").await;
}
