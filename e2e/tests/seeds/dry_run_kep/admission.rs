//! How admission plugins with side effects treat a dry run.

use std::io::Write as _;

use baton_e2e::{apiserver_diff::CHARGED_FOR_REFUSED, scenario::Subject, scenario_list};
use baton_testbed::{ControlPlane, PATIENCE, poll};
use futures::future::join_all;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Namespace, ResourceQuota};
use kube::{
    Api, Client, Config,
    api::PostParams,
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::json;

scenario_list! {
    a_dry_run_uses_up_no_quota;
    only real, because CHARGED_FOR_REFUSED:
    a_quota_is_charged_for_what_is_refused_later;
    only real, because "of another control plane":
    dry_runs_count_no_events_and_create_no_namespaces;
}

/// How many events a namespace may have at once.
const BURST: usize = 3;

fn dry_run() -> PostParams {
    PostParams { dry_run: true, ..PostParams::default() }
}

fn quotas(s: &Subject) -> Api<ResourceQuota> {
    Api::namespaced(s.server().client().clone(), s.namespace())
}

/// Creates a quota of this many objects, and waits until it is in force.
async fn set_quota(s: &Subject, count: &str) {
    let quota = json!({"metadata": {"name": "objects"}, "spec": {"hard": {"configmaps": count}}});
    quotas(s).create(&PostParams::default(), &serde_json::from_value(quota).unwrap()).await.unwrap();
    expect_used(s, "0").await;
    let objects: Api<ConfigMap> = Api::namespaced(s.server().client().clone(), s.namespace());
    let probe: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "probe"}})).unwrap();
    // The plugin refuses everything until it knows the quota, too.
    poll(PATIENCE, async || objects.create(&dry_run(), &probe).await).await.unwrap();
}

/// Waits until this many objects count against the quota.
async fn expect_used(s: &Subject, count: &str) {
    let probe = async || {
        let status = quotas(s).get("objects").await.unwrap().status.unwrap_or_default();
        let used = status.used.unwrap_or_default().get("configmaps").map(|used| used.0.clone());
        if used.as_deref() == Some(count) { Ok(()) } else { Err(used) }
    };
    let found = poll(PATIENCE, probe).await;
    assert_eq!(found, Ok(()), "expected {count} to be used");
}

/// How many objects count against the quota now.
async fn used(s: &Subject) -> String {
    quotas(s).get("objects").await.unwrap().status.unwrap().used.unwrap()["configmaps"].0.clone()
}

async fn a_dry_run_uses_up_no_quota(s: &mut Subject) {
    set_quota(s, "1").await;
    for _ in 0..3 {
        s.create_as("me", "data: {key: a}").dry_run().await;
    }
    assert_eq!(used(s).await, "0");
    s.create_as("me", "data: {key: a}").await;
    expect_used(s, "1").await;
    s.named("other").await;
    s.rehearse(|s| s.create_as("me", "data: {key: a}").is_refused(403, "exceeded quota: objects")).await;
}

async fn a_quota_is_charged_for_what_is_refused_later(s: &mut Subject) {
    set_quota(s, "5").await;
    s.create_as("me", "data: {key: a}").await;
    s.create_as("me", "data: {key: b}").dry_run().is_refused(409, "already exists").await;
    assert_eq!(used(s).await, "1");
    s.create_as("me", "data: {key: b}").is_refused(409, "already exists").await;
    assert_eq!(used(s).await, "2");
    // The controller counts again after a deletion.
    s.delete().await;
    expect_used(s, "0").await;
}

async fn dry_runs_count_no_events_and_create_no_namespaces(s: &mut Subject) {
    let configuration = json!({
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AdmissionConfiguration",
        "plugins": [{"name": "EventRateLimit", "configuration": {
            "apiVersion": "eventratelimit.admission.k8s.io/v1alpha1",
            "kind": "Configuration",
            "limits": [{"type": "Namespace", "qps": 1, "burst": BURST}],
        }}],
    });
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(configuration.to_string().as_bytes()).unwrap();
    // Neither plugin is on by default.
    let cluster = ControlPlane::options()
        .api_server_arg("--enable-admission-plugins=EventRateLimit,NamespaceAutoProvision")
        .api_server_arg(format!("--admission-control-config-file={}", file.path().display()))
        .start();
    let cluster = cluster.await.unwrap();
    assert_eq!(cluster.version().await.unwrap(), s.server().release());
    let kubeconfig = Kubeconfig::read_from(cluster.kubeconfig()).unwrap();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    // A refused request must not be sent again.
    config.default_retry = false;
    let client = Client::try_from(config).unwrap();

    let namespaces: Api<Namespace> = Api::all(client.clone());
    let objects: Api<ConfigMap> = Api::namespaced(client.clone(), "provided");
    let object: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "example"}})).unwrap();
    let tried = objects.create(&dry_run(), &object).await;
    assert!(matches!(&tried, Err(kube::Error::Api(status)) if status.code == 404), "{tried:?}");
    assert_eq!(namespaces.get_opt("provided").await.unwrap(), None);
    objects.create(&PostParams::default(), &object).await.unwrap();
    assert!(namespaces.get_opt("provided").await.unwrap().is_some());

    let events: Api<Event> = Api::namespaced(client, "provided");
    let codes = async |options: &PostParams| {
        let code = async |i: usize| {
            let event = json!({"metadata": {"name": format!("event-{i}")}, "involvedObject": {"namespace": "provided"}});
            match events.create(options, &serde_json::from_value(event).unwrap()).await {
                Ok(_) => 201,
                Err(kube::Error::Api(status)) => status.code,
                Err(error) => panic!("{error}"),
            }
        };
        join_all((0..10 * BURST).map(code)).await
    };
    assert_eq!(codes(&dry_run()).await, [201; 10 * BURST]);
    let codes = codes(&PostParams::default()).await;
    assert!(codes.contains(&429) && codes.contains(&201), "{codes:?}");
}
