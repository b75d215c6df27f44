//! How other tools judge a Workload: kstatus, which Flux, Helm and others use, Argo CD by the script in `integrations`, and
//! kube-state-metrics by the configuration there.

use std::{
    collections::BTreeSet,
    fs,
    io::Write as _,
    path::PathBuf,
    process::{Command, Stdio},
};

use baton_controller::decide::child::ChildKind;
use baton_crd::{HandoverPhase, PlannedAction, Workload, WorkloadStatus};
use baton_e2e::{
    End, Environment, autoscaler,
    environment::{entries_of, image, replicas},
    guide, is_ready, scenarios,
};
use baton_merge::yaml;
use baton_testbed::{Cluster, assets, eventually, workspace};
use kube::{
    CustomResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

scenarios! {
    only real, because "judged by programs in Go":
    kstatus_and_argo_cd_judge_every_state,
    kubectl_changes_a_child_as_the_page_says,
    the_workloads_of_the_page_are_valid,
}

/// The verdicts of the programs on one object, and its metrics.
#[derive(Debug, Deserialize)]
struct Judged {
    kstatus: Verdict,
    #[serde(rename = "argoCD")]
    argo_cd: Verdict,
    metrics: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Verdict {
    status: String,
    message: String,
}

fn integrations() -> PathBuf {
    workspace().join("integrations")
}

fn judge(objects: &[Value]) -> Vec<Judged> {
    let mut programs = Command::new(assets::health().unwrap());
    programs.arg(integrations().join("argo-cd/baton.rs/Workload/health.lua"));
    programs.arg(integrations().join("kube-state-metrics/config.yaml"));
    judge_lines(&mut programs, objects.iter().map(Value::to_string))
}

/// The JSON that a program writes for each line of its input.
pub fn judge_lines<T: DeserializeOwned>(
    program: &mut Command,
    lines: impl ExactSizeIterator<Item = String>,
) -> Vec<T> {
    let mut running = program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let count = lines.len();
    let input: String = lines.map(|line| line + "\n").collect();
    running.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = String::from_utf8(running.wait_with_output().unwrap().stdout).unwrap();
    let judged: Vec<T> = output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(judged.len(), count);
    judged
}

fn yaml(path: PathBuf) -> Value {
    yaml::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The values of an enum in the CRD's status, found by its path.
fn values_of(path: &str) -> BTreeSet<String> {
    let crd = serde_json::to_value(Workload::crd()).unwrap();
    let schema = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties";
    serde_json::from_value(crd.pointer(&format!("{schema}{path}/enum")).unwrap().clone()).unwrap()
}

fn phases() -> BTreeSet<String> {
    values_of("/replicaOwnership/properties/phase")
}

/// Waits until this holds for the current spec, and returns the Workload.
async fn state(env: &Environment, what: &str, holds: impl Fn(&WorkloadStatus) -> bool) -> Value {
    eventually(what, async || {
        let workload = env.workload().await;
        let status = workload.status.clone().unwrap_or_default();
        let is_current = status.observed_generation == workload.metadata.generation;
        if is_current && holds(&status) { Ok(serde_json::to_value(&workload).unwrap()) } else { Err(status) }
    })
    .await
}

fn reason<'a>(status: &'a WorkloadStatus, type_: &str) -> Option<&'a str> {
    let condition = status.conditions.iter().find(|one| one.type_ == type_ && one.status == "True");
    condition.map(|condition| condition.reason.as_str())
}

/// Whether Baton has nothing to do, and the pods are available.
fn is_at_rest(status: &WorkloadStatus) -> bool {
    reason(status, "Ready").is_some()
        && reason(status, "Reconciling").is_none()
        && reason(status, "Stalled").is_none()
}

/// Waits for this phase, and for rest unless Baton is taking back.
async fn phase(env: &Environment, phase: HandoverPhase) -> Value {
    state(env, &format!("{phase:?}"), |status| {
        let is = status.replica_ownership.as_ref().is_some_and(|ownership| ownership.phase == phase);
        is && (is_at_rest(status) || phase == HandoverPhase::TakingBack)
    })
    .await
}

fn nowhere() -> Value {
    let containers = json!([{"name": "app", "image": "app:2"}]);
    json!({"spec": {"containers": containers, "nodeSelector": {"baton.rs/nowhere": "true"}}})
}

/// A state with the verdicts on it: of kstatus, of Argo CD, and whether it is Ready, for which `kubectl wait` waits.
type Row = (&'static str, Value, &'static str, &'static str, bool);

async fn without_autoscaling(cluster: &Cluster) -> Vec<Row> {
    let mut env = Environment::start(cluster, "health").await;
    assert_eq!(env.operator().stop().await.unwrap(), End::Success);
    let new = serde_json::to_value(env.apply(&json!({"template": nowhere()})).await).unwrap();
    env.restart().await;
    let creating =
        state(&env, "no pod yet", |status| reason(status, "Reconciling") == Some("RollingOut")).await;
    env.apply(&json!({"replicas": 1})).await;
    let available = phase(&env, HandoverPhase::Fixed).await;

    env.apply(&json!({"replicas": 1, "template": nowhere()})).await;
    let rolling_out = state(&env, "a rollout beside the old pod", |status| {
        status.ready_replicas == Some(1) && reason(status, "Reconciling") == Some("RollingOut")
    })
    .await;
    let rollout = json!({"progressDeadlineSeconds": 1});
    env.apply(&json!({"replicas": 1, "template": nowhere(), "rollout": rollout})).await;
    let stuck = state(&env, "a stuck rollout", |status| reason(status, "Stalled") == Some("Stuck")).await;

    env.apply(&json!({"replicas": 1})).await;
    phase(&env, HandoverPhase::Fixed).await;
    env.apply(&json!({"replicas": 1, "mode": "Paused"})).await;
    let paused = state(&env, "Paused", is_at_rest).await;
    env.apply(&json!({"replicas": 1, "mode": "Preview"})).await;
    let preview = state(&env, "Preview", is_at_rest).await;
    env.apply(&json!({"replicas": 2, "mode": "Preview"})).await;
    let previewed = state(&env, "a plan", |status| {
        status.plan.iter().any(|planned| planned.action == PlannedAction::Update)
    })
    .await;
    env.apply(&json!({"replicas": 1, "suspend": true})).await;
    let suspended = phase(&env, HandoverPhase::Suspended).await;

    let resources = json!({"requests": {"cpu": "2"}, "limits": {"cpu": "1"}});
    let containers = json!([{"name": "app", "image": "app:1", "resources": resources}]);
    env.apply(&json!({"template": {"spec": {"containers": containers}}})).await;
    let rejected =
        state(&env, "a rejected child", |status| reason(status, "Stalled") == Some("Rejected")).await;
    env.apply(&json!({})).await;
    let unmanaged = phase(&env, HandoverPhase::Unmanaged).await;

    assert_eq!(env.operator().stop().await.unwrap(), End::Success);
    let changed = serde_json::to_value(env.apply(&json!({"replicas": 2})).await).unwrap();
    let finalizers = |finalizers: Value| Patch::Merge(json!({"metadata": {"finalizers": finalizers}}));
    let patch = async |finalizers: &Patch<Value>| {
        env.workloads().patch("web", &PatchParams::default(), finalizers).await.unwrap()
    };
    patch(&finalizers(json!(["baton.rs/kept-for-the-test"]))).await;
    env.workloads().delete("web", &DeleteParams::default()).await.unwrap();
    let deleting = serde_json::to_value(env.workload().await).unwrap();
    patch(&finalizers(Value::Null)).await;
    vec![
        ("not seen by Baton yet", new, "InProgress", "Progressing", false),
        ("creating", creating, "InProgress", "Progressing", false),
        ("available", available, "Current", "Healthy", true),
        ("rolling out", rolling_out, "InProgress", "Progressing", false),
        ("stuck", stuck, "Failed", "Degraded", false),
        ("Paused", paused, "Current", "Suspended", true),
        ("Preview", preview, "Current", "Suspended", true),
        ("Preview of a change", previewed, "InProgress", "Suspended", false),
        ("suspended", suspended, "Current", "Suspended", true),
        ("a child is rejected", rejected, "Failed", "Degraded", false),
        ("without a replica count", unmanaged, "Current", "Healthy", true),
        ("spec just changed", changed, "InProgress", "Progressing", false),
        ("deleting", deleting, "Terminating", "Progressing", false),
    ]
}

async fn with_autoscaling(cluster: &Cluster) -> Vec<Row> {
    let env = Environment::start(cluster, "health-autoscaled").await;
    let autoscalers = env.children(ChildKind::Autoscaler);
    let patch = async |name: &str, patch: Value| {
        autoscalers.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    };
    env.apply(&json!({"replicas": 0, "autoscaling": {"minReplicas": 2, "maxReplicas": 4}})).await;
    let disabled = phase(&env, HandoverPhase::AutoscalerDisabled).await;
    env.scale_as("kubectl", 1).await;
    let handed_over = phase(&env, HandoverPhase::HandedOver).await;
    state(&env, "the autoscaler's own count", |status| {
        status.ready_replicas == Some(2) && is_at_rest(status)
    })
    .await;

    // A finalizer keeps the autoscaler, so that Baton waits for it to go.
    patch("web", json!({"metadata": {"finalizers": ["baton.rs/kept-for-the-test"]}})).await;
    env.apply(&json!({"replicas": 2})).await;
    let taking_back = phase(&env, HandoverPhase::TakingBack).await;
    patch("web", json!({"metadata": {"finalizers": null}})).await;
    phase(&env, HandoverPhase::Fixed).await;

    let external = json!({"replicas": 2, "autoscaling": {"external": {}}});
    env.apply(&external).await;
    let pending = phase(&env, HandoverPhase::HandoverPending).await;
    env.edit_as("someone", ChildKind::Deployment, &Patch::Merge(json!({"spec": {"replicas": 3}}))).await;
    let other = phase(&env, HandoverPhase::OwnedByOther).await;
    let theirs = autoscaler("theirs", "web", json!({"minReplicas": 4, "maxReplicas": 6}));
    autoscalers.create(&PostParams::default(), &serde_json::from_value(theirs).unwrap()).await.unwrap();
    phase(&env, HandoverPhase::HandedOver).await;
    env.apply(&json!({"replicas": 2})).await;
    let conflict = phase(&env, HandoverPhase::AutoscalerConflict).await;
    env.apply(&external).await;
    phase(&env, HandoverPhase::HandedOver).await;
    autoscalers.delete("theirs", &DeleteParams::default()).await.unwrap();
    let missing = phase(&env, HandoverPhase::AutoscalerMissing).await;
    vec![
        ("AutoscalerDisabled", disabled, "Current", "Healthy", true),
        ("HandedOver", handed_over, "Current", "Healthy", true),
        ("TakingBack", taking_back, "InProgress", "Progressing", true),
        ("HandoverPending", pending, "Current", "Healthy", true),
        ("OwnedByOther", other, "Current", "Healthy", true),
        ("AutoscalerConflict", conflict, "Current", "Healthy", true),
        ("AutoscalerMissing", missing, "Current", "Healthy", true),
    ]
}

async fn beside_others(cluster: &Cluster) -> Vec<Row> {
    let env = Environment::start(cluster, "health-others").await;
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]},
    });
    env.create_as("helm", &service).await;
    env.apply(&json!({"service": {"ports": [{"port": 80}]}})).await;
    let not_owned =
        state(&env, "a child not owned", |status| reason(status, "Stalled") == Some("NotOwned")).await;

    env.apply(&json!({})).await;
    state(&env, "rest", is_at_rest).await;
    let contested = eventually("contention", async || {
        let containers = json!([{"name": "app", "image": "rogue:1"}]);
        let rogue = json!({"spec": {"template": {"spec": {"containers": containers}}}});
        env.edit_as("rogue", ChildKind::Deployment, &Patch::Strategic(rogue)).await;
        let workload = env.workload().await;
        let status = workload.status.clone().unwrap_or_default();
        if reason(&status, "Stalled") == Some("Contested") {
            Ok(serde_json::to_value(&workload).unwrap())
        } else {
            Err(status)
        }
    })
    .await;
    vec![
        ("a child isn't owned", not_owned, "Failed", "Degraded", false),
        ("a field is contested", contested, "Failed", "Degraded", false),
    ]
}

async fn kstatus_and_argo_cd_judge_every_state(cluster: Cluster) {
    let mut rows = without_autoscaling(&cluster).await;
    rows.extend(with_autoscaling(&cluster).await);
    rows.extend(beside_others(&cluster).await);
    let objects: Vec<Value> = rows.iter().map(|row| row.1.clone()).collect();
    let judged = judge(&objects);

    let expected: Vec<_> = rows.iter().map(|row| (row.0, row.2, row.3, row.4)).collect();
    let verdict = |(row, judged): (&Row, &'_ Judged)| {
        let workload: Workload = serde_json::from_value(row.1.clone()).unwrap();
        let Judged { kstatus, argo_cd, .. } = judged;
        (row.0, kstatus.status.clone(), argo_cd.status.clone(), is_ready(&workload))
    };
    let verdicts: Vec<_> = rows.iter().zip(&judged).map(verdict).collect();
    let verdicts: Vec<_> = verdicts.iter().map(|row| (row.0, &*row.1, &*row.2, row.3)).collect();
    let is_wrong = |at: &usize| verdicts[*at] != expected[*at];
    let wrong: Vec<_> = (0..rows.len()).filter(is_wrong).map(|at| (&rows[at], &judged[at])).collect();
    assert_eq!(verdicts, expected, "{wrong:#?}");
    for (row, judged) in rows.iter().zip(&judged) {
        for verdict in [&judged.kstatus, &judged.argo_cd] {
            assert!(!verdict.message.is_empty(), "{}: {verdict:?}", row.0);
        }
    }

    let phase_of = |object: &Value| object["status"]["replicaOwnership"]["phase"].as_str().map(str::to_owned);
    let seen: BTreeSet<String> = objects.iter().filter_map(phase_of).collect();
    assert_eq!(seen, phases(), "each phase is judged");

    // The metrics show what the status shows.
    for (object, judged) in objects.iter().zip(&judged) {
        let is_one = |texts: &[String]| {
            judged
                .metrics
                .iter()
                .any(|line| line.ends_with(" 1") && texts.iter().all(|text| line.contains(text)))
        };
        let label = |name: &str, value: &Value| format!("{name}={value}");
        for condition in object["status"]["conditions"].as_array().into_iter().flatten() {
            let texts = [
                "baton_workload_status_condition{".to_owned(),
                label("condition", &condition["type"]),
                label("status", &condition["status"]),
                label("reason", &condition["reason"]),
            ];
            assert!(is_one(&texts), "{texts:?} in {:#?}", judged.metrics);
        }
        for child in object["status"]["children"].as_array().into_iter().flatten() {
            let texts = [
                "baton_workload_status_child_state{".to_owned(),
                label("child_kind", &child["kind"]),
                label("state", &child["state"]),
            ];
            assert!(is_one(&texts), "{texts:?} in {:#?}", judged.metrics);
        }
        if let Some(phase) = phase_of(object) {
            let texts = ["baton_workload_status_handover_phase{".to_owned(), format!("phase=\"{phase}\"")];
            assert!(is_one(&texts), "{texts:?} in {:#?}", judged.metrics);
        }
    }
}

/// The test data have the form of Argo CD's repository.
#[test]
#[ignore = "judged by programs in Go"]
fn the_health_script_passes_its_test_data() {
    let folder = integrations().join("argo-cd/baton.rs/Workload");
    let tests = yaml(folder.join("health_test.yaml"))["tests"].as_array().unwrap().clone();
    let inputs: Vec<&str> = tests.iter().map(|test| test["inputPath"].as_str().unwrap()).collect();
    let objects: Vec<Value> = inputs.iter().map(|input| yaml(folder.join(input))).collect();
    for object in &objects {
        let workload: Workload = serde_json::from_value(object.clone()).unwrap();
        assert_eq!(workload.metadata.name.as_deref(), Some("shop"));
    }
    for (test, judged) in tests.iter().zip(judge(&objects)) {
        let expected = &test["healthStatus"];
        let found = json!({"status": judged.argo_cd.status, "message": judged.argo_cd.message});
        assert_eq!(&found, expected, "{}", test["inputPath"]);
    }
    let all = fs::read_dir(folder.join("testdata")).unwrap();
    let all: BTreeSet<String> =
        all.map(|file| format!("testdata/{}", file.unwrap().file_name().to_str().unwrap())).collect();
    assert_eq!(inputs.into_iter().map(str::to_owned).collect::<BTreeSet<_>>(), all);
}

#[test]
fn kube_state_metrics_has_every_phase_and_every_state_of_a_child() {
    let config = yaml(integrations().join("kube-state-metrics/config.yaml"));
    let metrics = config["spec"]["resources"][0]["metrics"].as_array().unwrap().clone();
    let list = |name: &str| -> BTreeSet<String> {
        let metric = metrics.iter().find(|metric| metric["name"] == name).unwrap();
        serde_json::from_value(metric["each"]["stateSet"]["list"].clone()).unwrap()
    };
    assert_eq!(list("workload_status_handover_phase"), phases());
    assert_eq!(list("workload_status_child_state"), values_of("/children/items/properties/state"));

    let page = fs::read_to_string(workspace().join("docs/other-tools.md")).unwrap();
    for metric in &metrics {
        let name = metric["name"].as_str().unwrap();
        assert!(
            page.contains(&format!("| `baton_{name}` |")),
            "docs/other-tools.md has no row for baton_{name}"
        );
    }
}

#[test]
#[ignore = "by kube-state-metrics, in Go"]
fn metrics_of_a_workload_name_its_shard() {
    let mut workload = baton_e2e::web(&json!({"mode": "Enforce"}));
    workload["metadata"]["namespace"] = json!("shop");
    let unlabelled = workload.clone();
    workload["metadata"]["labels"] = json!({"baton.rs/shard": "second"});
    let [labelled, unlabelled] = judge(&[workload, unlabelled]).try_into().unwrap();
    let info = |judged: Judged| {
        judged.metrics.into_iter().find(|metric| metric.starts_with("baton_workload_info{")).unwrap()
    };
    let (labelled, unlabelled) = (info(labelled), info(unlabelled));
    assert!(labelled.contains("shard=\"second\""), "the alert about absent shards counts it: {labelled}");
    assert!(!unlabelled.contains("shard="), "{unlabelled}");
}

/// Users paste it into `argocd-cm`.
#[test]
fn the_config_map_has_the_health_script() {
    let script = fs::read_to_string(integrations().join("argo-cd/baton.rs/Workload/health.lua")).unwrap();
    let settings = yaml(integrations().join("argo-cd/argocd-cm.yaml"));
    assert_eq!(settings["data"]["resource.customizations.health.baton.rs_Workload"], script);
}

async fn kubectl_changes_a_child_as_the_page_says(cluster: Cluster) {
    let env = Environment::start(&cluster, "by-kubectl").await;
    let kubectl = async |line: &str| env.kubectl(line, &[]).await.unwrap();
    env.apply(&json!({"replicas": 1})).await;
    state(&env, "rest", is_at_rest).await;

    let restarted = "kubectl.kubernetes.io/restartedAt";
    kubectl("rollout restart deployment/web").await;
    env.reconcile_times(2).await;
    let deployment = env.child(ChildKind::Deployment).await.unwrap();
    assert!(!deployment.data["spec"]["template"]["metadata"]["annotations"][restarted].is_null());
    assert_eq!(entries_of(&deployment, "kubectl-rollout").len(), 1);

    let is_ours = |live: &kube::core::DynamicObject| image(live) == "app:2" && replicas(live) == 1;
    let containers = json!([{"name": "app", "image": "app:2"}]);
    env.apply(&json!({"replicas": 1, "template": {"spec": {"containers": containers}}})).await;
    state(&env, "rest", is_at_rest).await;
    kubectl("rollout undo deployment/web").await;
    env.event(&["app:1", "app:2"]).await;
    env.child_where("Baton's image after the undo", ChildKind::Deployment, is_ours).await;
    kubectl("scale deployment/web --replicas=4").await;
    env.child_where("Baton's replica count", ChildKind::Deployment, is_ours).await;
    kubectl("set image deployment/web app=other:1").await;
    env.event(&["other:1"]).await;
    env.child_where("Baton's image", ChildKind::Deployment, is_ours).await;
}

async fn the_workloads_of_the_page_are_valid(cluster: Cluster) {
    let env = Environment::start(&cluster, "other-tools").await;
    let blocks = guide::page("docs/other-tools.md").unwrap();
    let objects = blocks.iter().filter(|block| block.kind == "yaml");
    let objects = objects.map(|block| yaml::from_str::<Value>(&block.text).unwrap());
    let workloads: Vec<Value> = objects.filter(|object| object["kind"] == "Workload").collect();
    assert!(!workloads.is_empty());
    env.server_side_apply(&workloads).await.unwrap();
}
