//! The control plane that everything else here stands on: it is the real thing, it can be asked what it saw, and nothing
//! of it outlives its owner.

use std::{
    collections::BTreeSet,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use baton_testbed::{ControlPlane, PATIENCE, eventually};
use k8s_openapi::{
    api::{
        apps::v1::Deployment,
        autoscaling::v2::HorizontalPodAutoscaler,
        core::v1::{ConfigMap, Namespace, Pod, ServiceAccount},
    },
    apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry,
};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, VersionMatch},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::replica_watch::{
    what_can_no_longer_be_found_out_is_reported, what_was_stored_during_a_gap_is_found_out,
};

fn object<K: DeserializeOwned>(json: Value) -> K {
    serde_json::from_value(json).unwrap()
}

pub(crate) fn deployment(name: &str, replicas: i32) -> Deployment {
    object(json!({
        "metadata": { "name": name },
        "spec": {
            "replicas": replicas,
            "selector": { "matchLabels": { "app": name } },
            "template": {
                "metadata": { "labels": { "app": name } },
                "spec": { "containers": [{ "name": "app", "image": "example.com/app:1" }] },
            },
        },
    }))
}

async fn available(deployments: &Api<Deployment>, name: &str, wanted: i32) {
    eventually(&format!("{wanted} available pods"), async || {
        let status = deployments.get(name).await.unwrap().status.unwrap_or_default();
        if status.available_replicas == Some(wanted) { Ok(()) } else { Err(format!("{status:?}")) }
    })
    .await;
}

#[tokio::test]
#[ignore = "on a real control plane"]
async fn every_component_says_the_release_that_it_was_built_from() {
    let cluster = ControlPlane::shared().await;
    assert_eq!(cluster.version().await.unwrap(), "v1.36.3");
    let kubectl = cluster.kubectl(["version", "--output=json"]).await.unwrap().success().unwrap();
    let versions: Value = serde_json::from_str(&kubectl).unwrap();
    for side in ["clientVersion", "serverVersion"] {
        assert_eq!(versions[side]["gitVersion"], "v1.36.3", "{versions:#}");
        assert_eq!((&versions[side]["major"], &versions[side]["minor"]), (&json!("1"), &json!("36")));
    }
}

#[tokio::test]
#[ignore = "on a real control plane"]
async fn a_service_account_may_do_nothing_until_it_is_allowed_to() {
    let cluster = ControlPlane::shared().await;
    let namespace = cluster.namespace("rbac").await.unwrap();
    let accounts: Api<ServiceAccount> = Api::namespaced(cluster.admin().await.unwrap(), namespace.name());
    let account = object(json!({ "metadata": { "name": "nobody" } }));
    accounts.create(&PostParams::default(), &account).await.unwrap();

    let client = cluster.client_for(namespace.name(), "nobody").await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client, namespace.name());
    let refusal = maps.list(&ListParams::default()).await.unwrap_err().to_string();
    let user = format!("system:serviceaccount:{namespace}:nobody");
    assert!(refusal.contains("forbidden") && refusal.contains(&user), "{refusal}");

    let role = ["create", "rolebinding", "reads", "--clusterrole=view", "--namespace", namespace.name()];
    let subject = format!("--serviceaccount={namespace}:nobody");
    cluster.kubectl(role.into_iter().chain([subject.as_str()])).await.unwrap().success().unwrap();
    eventually("the binding to count", async || maps.list(&ListParams::default()).await).await;
}

#[tokio::test]
#[ignore = "on a real control plane"]
async fn a_deployment_becomes_available_and_its_pods_go_with_it() {
    let cluster = ControlPlane::shared().await;
    let namespace = cluster.namespace("deployment").await.unwrap();
    let client = cluster.admin().await.unwrap();
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), namespace.name());
    deployments.create(&PostParams::default(), &deployment("web", 3)).await.unwrap();
    available(&deployments, "web", 3).await;

    let pods: Api<Pod> = Api::namespaced(client, namespace.name());
    let nodes: BTreeSet<_> = pods
        .list(&ListParams::default())
        .await
        .unwrap()
        .items
        .into_iter()
        .map(|pod| pod.spec.unwrap().node_name.unwrap())
        .collect();
    assert_eq!(nodes, BTreeSet::from(["node-0".to_owned(), "node-1".to_owned()]));

    deployments.delete("web", &DeleteParams::background()).await.unwrap();
    eventually("the pods to be collected", async || {
        let left = pods.list(&ListParams::default()).await.unwrap().items;
        if left.is_empty() { Ok(()) } else { Err(left.iter().map(ResourceExt::name_any).collect::<Vec<_>>()) }
    })
    .await;
}

#[tokio::test]
#[ignore = "on a real control plane"]
async fn an_autoscaler_raises_replicas_through_the_scale_subresource() {
    let cluster = ControlPlane::shared().await;
    let namespace = cluster.namespace("autoscaler").await.unwrap();
    let client = cluster.admin().await.unwrap();
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), namespace.name());
    deployments.create(&PostParams::default(), &deployment("web", 1)).await.unwrap();
    let autoscalers: Api<HorizontalPodAutoscaler> = Api::namespaced(client, namespace.name());
    let autoscaler = object(json!({
        "metadata": { "name": "web" },
        "spec": {
            "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "web" },
            "minReplicas": 3,
            "maxReplicas": 5,
        },
    }));
    autoscalers.create(&PostParams::default(), &autoscaler).await.unwrap();
    available(&deployments, "web", 3).await;

    let scaled = deployments.get("web").await.unwrap();
    let by_scale = |entry: &&ManagedFieldsEntry| entry.subresource.as_deref() == Some("scale");
    let entry = scaled.managed_fields().iter().find(by_scale).unwrap();
    assert_eq!(entry.manager.as_deref(), Some("kube-controller-manager"));
    assert_eq!(entry.operation.as_deref(), Some("Update"));
    assert_eq!(entry.fields_v1.as_ref().unwrap().0, json!({ "f:spec": { "f:replicas": {} } }));

    drop(namespace);
    assert!(autoscalers.get_opt("web").await.unwrap().is_none());
    assert!(deployments.get_opt("web").await.unwrap().is_some(), "the rest goes with the cluster");
}

#[tokio::test]
#[ignore = "on a real control plane"]
async fn the_audit_log_shows_who_sent_what_and_how_it_ended() {
    let cluster = ControlPlane::shared().await;
    let log = cluster.audit().unwrap();
    let namespace = cluster.namespace("audit").await.unwrap();
    let deployments: Api<Deployment> = Api::namespaced(cluster.admin().await.unwrap(), namespace.name());
    let params = PatchParams { force: true, dry_run: true, ..PatchParams::apply("a manager/1") };
    let intent = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": "web" },
        "spec": deployment("web", 2).spec,
    });
    let mark = log.mark().unwrap();
    deployments.patch("web", &params, &Patch::Apply(&intent)).await.unwrap();
    deployments.get("absent").await.unwrap_err();

    let patches = log
        .wait_for(PATIENCE, |all| all.namespace(namespace.name()).resource("deployments").verb("patch"))
        .await
        .unwrap();
    let [patch] = &*patches else { panic!("expected one request:\n{patches}") };
    assert_eq!((patch.name.as_deref(), patch.code), (Some("web"), Some(201)));
    assert_eq!(patch.user, "baton-testbed:admin");
    assert_eq!(patch.query("fieldManager").as_deref(), Some("a manager/1"));
    assert!(patch.is_forced() && patch.is_dry_run());
    assert_eq!(patch.request_object.as_ref().unwrap()["spec"]["replicas"], 2);
    assert!(patch.response_object.as_ref().unwrap()["metadata"]["managedFields"].is_array());

    let gets =
        log.wait_for(PATIENCE, |all| all.namespace(namespace.name()).verb("get").code(404)).await.unwrap();
    assert_eq!(gets[0].reason.as_deref(), Some("NotFound"), "{gets}");

    let later = log.since(mark).unwrap().namespace(namespace.name());
    assert!(
        later.iter().all(|entry| entry.resource.as_deref() != Some("namespaces") || entry.verb != "create")
    );
    // The controllers have ServiceAccounts of their own; this one acts in every new namespace.
    let controller = "system:serviceaccount:kube-system:service-account-controller";
    log.wait_for(PATIENCE, |all| all.namespace(namespace.name()).by(controller)).await.unwrap();
}

#[tokio::test]
#[ignore = "on a real control plane"]
async fn kubectl_takes_input_and_another_identity() {
    let cluster = ControlPlane::shared().await;
    let namespace = cluster.namespace("kubectl").await.unwrap();
    let manifest = "{apiVersion: v1, kind: ConfigMap, metadata: {name: map}, data: {key: value}}";
    let apply = cluster.kubectl_command(["apply", "--namespace", namespace.name(), "-f", "-"]).unwrap();
    let said = apply.input(manifest).run().await.unwrap().success().unwrap();
    assert_eq!(said, "configmap/map created\n");

    let kubeconfig = eventually("the namespace's ServiceAccount", async || {
        cluster
            .kubeconfig_for_service_account(namespace.name(), "default")
            .await
            .map_err(|error| error.report())
    })
    .await;
    let whoami = cluster.kubectl_command(["auth", "whoami", "--output=jsonpath={.status.userInfo.username}"]);
    let user = whoami.unwrap().kubeconfig(&kubeconfig).run().await.unwrap().success().unwrap();
    assert_eq!(user, format!("system:serviceaccount:{namespace}:default"));
}

#[tokio::test]
#[ignore = "on a real control plane"]
async fn a_cluster_that_was_given_is_used_and_left_alone() {
    let cluster = ControlPlane::shared().await;
    let given = ControlPlane::given(cluster.kubeconfig()).unwrap();
    assert_eq!(given.url(), cluster.url());
    assert_eq!(given.version().await.unwrap(), "v1.36.3");
    let namespace = given.namespace("given").await.unwrap();
    let said = given.kubectl(["get", "namespace", namespace.name(), "--output=name"]).await.unwrap();
    assert_eq!(said.success().unwrap(), format!("namespace/{namespace}\n"));
    let namespaces: Api<Namespace> = Api::all(cluster.admin().await.unwrap());
    let name = namespace.name().to_owned();
    drop(namespace);
    let left = namespaces.get_opt(&name).await.unwrap();
    assert!(left.is_none_or(|left| left.metadata.deletion_timestamp.is_some()), "it goes before the cluster");

    assert!(given.processes().is_empty());
    assert!(given.audit().unwrap_err().to_string().contains("BATON_E2E_KUBECONFIG"));
    let folder = given.dir().to_owned();
    drop(given);
    assert!(!folder.exists() && cluster.kubeconfig().exists());
    assert!(cluster.processes().into_iter().all(|(_, pid)| runs(pid)));
}

/// What is left of a control plane once it should be gone.
async fn is_gone(folder: &Path, pids: &[u32]) {
    eventually("everything to be gone", async || {
        let left: Vec<_> = pids.iter().filter(|pid| runs(**pid)).collect();
        if left.is_empty() && !folder.exists() {
            Ok(())
        } else {
            Err(format!("{left:?} {}", folder.display()))
        }
    })
    .await;
}

fn runs(pid: u32) -> bool {
    Command::new("kill").args(["-0", &pid.to_string()]).stderr(Stdio::null()).status().unwrap().success()
}

/// One after the other on one cluster, which each of them breaks and leaves in order.
#[tokio::test]
#[ignore = "on a real control plane"]
async fn a_cluster_comes_back_from_outages_and_goes_when_it_is_dropped() {
    let mut cluster = ControlPlane::options().start().await.unwrap();
    the_api_server_comes_back_with_all_that_was_stored(&mut cluster).await;
    what_etcd_has_forgotten_is_gone_once_the_api_server_has_too(&mut cluster).await;
    what_was_stored_during_a_gap_is_found_out(&mut cluster).await;
    what_can_no_longer_be_found_out_is_reported(&mut cluster).await;
    dropping_it_stops_all_processes_and_removes_the_folder(cluster);
}

fn dropping_it_stops_all_processes_and_removes_the_folder(cluster: ControlPlane) {
    let folder = cluster.dir().to_owned();
    let pids: Vec<u32> = cluster.processes().into_iter().map(|(_, pid)| pid).collect();
    assert_eq!(pids.len(), 5);
    assert!(folder.exists() && pids.iter().all(|pid| runs(*pid)));
    drop(cluster);
    assert!(!folder.exists());
    assert_eq!(pids.into_iter().find(|pid| runs(*pid)), None);
}

async fn the_api_server_comes_back_with_all_that_was_stored(cluster: &mut ControlPlane) {
    let maps: Api<ConfigMap> = Api::default_namespaced(cluster.admin().await.unwrap());
    maps.create(&PostParams::default(), &object(json!({"metadata": {"name": "kept"}}))).await.unwrap();
    let pid = |cluster: &ControlPlane| {
        cluster.processes().into_iter().find(|(name, _)| name == "kube-apiserver").unwrap().1
    };
    let before = pid(cluster);
    cluster.restart_api_server().await.unwrap();
    assert!(!runs(before) && runs(pid(cluster)) && before != pid(cluster));
    maps.get("kept").await.unwrap();
    cluster.client_for("default", "default").await.unwrap();
}

async fn what_etcd_has_forgotten_is_gone_once_the_api_server_has_too(cluster: &mut ControlPlane) {
    let maps: Api<ConfigMap> = Api::default_namespaced(cluster.admin().await.unwrap());
    let made =
        maps.create(&PostParams::default(), &object(json!({"metadata": {"name": "map"}}))).await.unwrap();
    let version = made.resource_version().unwrap();
    maps.delete("map", &DeleteParams::default()).await.unwrap();
    let past = ListParams::default().at(&version).matching(VersionMatch::Exact);
    let found = maps.list(&past).await.unwrap();
    assert!(found.iter().any(|map| map.name_any() == "map"), "etcd remembers");

    cluster.compact_etcd().await.unwrap();
    cluster.restart_api_server().await.unwrap();
    match maps.list(&past).await {
        Err(kube::Error::Api(status)) => assert_eq!(status.code, 410, "{status:?}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
#[ignore = "on a real control plane"]
async fn it_ends_when_its_owner_is_killed() {
    let mut owner = Owner::start(&[]);
    let cluster = owner.cluster();
    assert!(cluster.runs());
    owner.0.kill().unwrap();
    owner.0.wait().unwrap();
    is_gone(&cluster.folder, &cluster.pids).await;
}

#[tokio::test]
#[ignore = "on a real control plane"]
async fn what_is_kept_runs_on_until_its_script_stops_it() {
    let mut owner = Owner::start(&["--keep"]);
    let cluster = owner.cluster();
    assert!(owner.0.wait().unwrap().success());
    // Longer than it would take to end without the script.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(cluster.runs());
    assert!(Command::new(&cluster.stop).status().unwrap().success());
    is_gone(&cluster.folder, &cluster.pids).await;
}

/// Another program that has started a control plane.
struct Owner(Child);

/// What it said about it.
#[derive(Default)]
struct Printed {
    folder: PathBuf,
    pids: Vec<u32>,
    stop: PathBuf,
}

impl Owner {
    fn start(args: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_control-plane"));
        Self(command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap())
    }

    /// Waits until the control plane is ready.
    fn cluster(&mut self) -> Printed {
        let mut printed = Printed::default();
        for line in BufReader::new(self.0.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            match line.split_whitespace().collect::<Vec<_>>()[..] {
                ["dir", path] => printed.folder = PathBuf::from(path),
                ["stop", path] => printed.stop = PathBuf::from(path),
                ["pid", pid, _] => printed.pids.push(pid.parse().unwrap()),
                ["ready"] => break,
                _ => {}
            }
        }
        printed
    }
}

impl Printed {
    fn runs(&self) -> bool {
        self.folder.exists() && self.pids.len() == 5 && self.pids.iter().all(|pid| runs(*pid))
    }
}

#[tokio::test]
#[ignore = "on a real control plane"]
async fn a_component_that_does_not_start_is_named_with_the_end_of_its_log() {
    let error = ControlPlane::options().api_server_arg("--no-such-flag").start().await.unwrap_err();
    let report = error.report();
    assert!(report.starts_with("kube-apiserver ended with exit status: 1;"), "{report}");
    assert!(report.contains("unknown flag: --no-such-flag"), "{report}");
}
