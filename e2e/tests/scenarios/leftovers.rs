//! Defaults that the API server has filled in, and that no manager owns, don't disturb the next intent.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use baton_apply::{
    Applier, ApplyError, DryRun, LiveObject, Observer, Options, Outcome, PreparedWrite, SchemaCache, Target,
};
use baton_controller::decide::child::ChildKind;
use baton_e2e::{Environment, scenarios};
use baton_testbed::Cluster;
use k8s_openapi::api::{
    apps::v1::{DaemonSet, Deployment, StatefulSet},
    autoscaling::v2::HorizontalPodAutoscaler,
    core::v1::{PodTemplate, ReplicationController, Secret, Service},
    flowcontrol::v1::PriorityLevelConfiguration,
    networking::v1::NetworkPolicy,
};
use kube::{
    Api, Resource,
    api::{DeleteParams, Patch, PatchParams},
    core::ApiResource,
};
use serde_json::{Value, json};

scenarios! {
    an_object_is_the_same_as_a_new_one_whatever_its_history,
    a_child_is_as_its_workload_says_whatever_its_history,
    a_preview_shows_removed_fields_and_the_number_of_writes,
}

/// An object that is applied with one content and then with another.
struct Case {
    kind: ApiResource,
    before: Value,
    after: Value,
    /// How many writes the second takes.
    writes: usize,
}

fn pods(kind: &ApiResource, labels: &Value, pod: &Value) -> Value {
    let template = json!({"metadata": {"labels": labels}, "spec": pod});
    match kind.kind.as_str() {
        "PodTemplate" => json!({"template": template}),
        "ReplicationController" => json!({"spec": {"replicas": 0, "template": template}}),
        "StatefulSet" => {
            json!({"spec": {"replicas": 0, "serviceName": "web", "selector": {"matchLabels": {"app": "web"}}, "template": template}})
        }
        _ => json!({"spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template}}),
    }
}

/// At least one case for each kind of left-over default.
fn cases() -> Vec<Case> {
    let deployments = ApiResource::erase::<Deployment>(&());
    let stateful_sets = ApiResource::erase::<StatefulSet>(&());
    let daemon_sets = ApiResource::erase::<DaemonSet>(&());
    let controllers = ApiResource::erase::<ReplicationController>(&());
    let labels = json!({"app": "web"});
    let app = |image: &str| json!({"containers": [{"name": "app", "image": image}]});
    let with = |mut pod: Value, field: &str, value: Value| {
        pod[field] = value;
        pod
    };
    let mut cases = Vec::new();
    let mut case = |kind: &ApiResource, before: Value, after: Value, writes| {
        cases.push(Case { kind: kind.clone(), before, after, writes });
    };

    // In every kind with a pod template.
    for kind in [&deployments, &stateful_sets, &daemon_sets, &ApiResource::erase::<PodTemplate>(&())] {
        let mut pods = |before: Value, after: Value, writes| {
            case(kind, pods(kind, &labels, &before), pods(kind, &labels, &after), writes);
        };
        let volume = |source: Value| {
            let mut volume = json!({"name": "v"});
            volume.as_object_mut().unwrap().extend(source.as_object().unwrap().clone());
            with(app("app:1"), "volumes", json!([volume]))
        };
        pods(volume(json!({})), volume(json!({"configMap": {"name": "web"}})), 2);
        pods(volume(json!({"emptyDir": {}})), volume(json!({"configMap": {"name": "web"}})), 1);
        let image = |reference: &str| volume(json!({"image": {"reference": reference}}));
        pods(image("data"), image("data:1"), 2);
        for name in ["serviceAccountName", "serviceAccount"] {
            let account = |account: &str| with(app("app:1"), name, account.into());
            pods(account("powerful"), app("app:1"), 2);
            let changed = if name == "serviceAccount" { 2 } else { 1 };
            pods(account("powerful"), account("weak"), changed);
        }
        let secured = |context: Value| {
            let mut app = app("app:1");
            app["containers"][0]["securityContext"] = context;
            app
        };
        pods(secured(json!({"runAsUser": 1})), secured(json!({})), 2);
        let level = |options: Value| secured(json!({"runAsUser": 1, "seLinuxOptions": options}));
        pods(level(json!({"level": "s0"})), level(json!({})), 2);
        let downward = |source: Value| volume(json!({"downwardAPI": source}));
        pods(downward(json!({"defaultMode": 0o644})), downward(json!({})), 1);
        pods(downward(json!({"defaultMode": 0o400})), downward(json!({})), 2);
        let projected = |source: Value| volume(json!({"projected": source}));
        let sources = json!([{"configMap": {"name": "web"}}]);
        pods(projected(json!({"defaultMode": 0o644, "sources": sources})), projected(json!({})), 2);
        pods(app("app"), app("app:1"), 2);
        pods(app("app:1"), app("app:latest"), 2);
        pods(app("app:1"), app("app:2"), 1);
        let init = |image: &str| with(app("app:1"), "initContainers", app(image)["containers"].clone());
        pods(
            with(init("init:1"), "initContainers", json!([{"name": "init", "image": "init:1"}])),
            with(init("init"), "initContainers", json!([{"name": "init", "image": "init"}])),
            2,
        );
    }

    let strategies = [
        (&deployments, "strategy", "RollingUpdate", "Recreate"),
        (&stateful_sets, "updateStrategy", "RollingUpdate", "OnDelete"),
        (&daemon_sets, "updateStrategy", "RollingUpdate", "OnDelete"),
    ];
    for (kind, field, default, other) in strategies {
        let of = |strategy: Value| {
            let mut object = pods(kind, &labels, &app("app:1"));
            if !strategy.is_null() {
                object["spec"][field] = strategy;
            }
            object
        };
        let (rolling, other) = (json!({"type": default}), json!({"type": other}));
        case(kind, of(Value::Null), of(other.clone()), 2);
        case(kind, of(other.clone()), of(Value::Null), 1);
        // The server fills nothing into the strategy of a StatefulSet that sets its type.
        case(kind, of(rolling), of(other), if kind.kind == "StatefulSet" { 1 } else { 2 });
    }

    let versioned =
        |version: &str| pods(&controllers, &json!({"app": "web", "version": version}), &app("app:1"));
    case(&controllers, versioned("1"), versioned("2"), 2);

    let policies = ApiResource::erase::<NetworkPolicy>(&());
    let policy = |egress: Option<Value>| {
        let mut spec = json!({"podSelector": {}, "ingress": [{}]});
        if let Some(egress) = egress {
            spec["egress"] = egress;
        }
        json!({"spec": spec})
    };
    case(&policies, policy(None), policy(Some(json!([{}]))), 2);
    case(&policies, policy(Some(json!([{}]))), policy(None), 2);

    let secrets = ApiResource::erase::<Secret>(&());
    let texts = |texts: Value| json!({"stringData": texts});
    case(&secrets, texts(json!({"a": "1", "b": "2"})), texts(json!({"a": "1"})), 2);
    case(&secrets, texts(json!({"a": "1"})), json!({"data": {"b": "Mg=="}}), 2);
    cases
}

/// Structs that are emptied, and that the server then fills its defaults into.
fn emptied_cases() -> Vec<Case> {
    let stateful_sets = ApiResource::erase::<StatefulSet>(&());
    let autoscalers = ApiResource::erase::<HorizontalPodAutoscaler>(&());
    let services = ApiResource::erase::<Service>(&());
    let levels = ApiResource::erase::<PriorityLevelConfiguration>(&());
    let mut cases = Vec::new();
    let mut case = |kind: &ApiResource, before: Value, after: Value| {
        cases.push(Case { kind: kind.clone(), before, after, writes: 2 });
    };
    let with = |kind: &ApiResource, field: &str, value: Value| {
        let pod = json!({"containers": [{"name": "app", "image": "app:1"}]});
        let mut object = pods(kind, &json!({"app": "web"}), &pod);
        object["spec"][field] = value;
        object
    };

    let (surge, partition) =
        (json!({"maxSurge": 0, "maxUnavailable": 2}), json!({"partition": 1, "maxUnavailable": 1}));
    for (kind, field, other, rollout) in [
        (&ApiResource::erase::<Deployment>(&()), "strategy", "Recreate", &surge),
        (&ApiResource::erase::<DaemonSet>(&()), "updateStrategy", "OnDelete", &surge),
        (&stateful_sets, "updateStrategy", "OnDelete", &partition),
    ] {
        let rolling =
            |rollout: &Value| with(kind, field, json!({"type": "RollingUpdate", "rollingUpdate": rollout}));
        case(kind, with(kind, field, json!({"type": other})), with(kind, field, json!({})));
        case(kind, rolling(rollout), rolling(&json!({})));
        case(kind, rolling(rollout), with(kind, field, json!({})));
    }
    let retention = |policy: Value| with(&stateful_sets, "persistentVolumeClaimRetentionPolicy", policy);
    case(
        &stateful_sets,
        retention(json!({"whenDeleted": "Delete", "whenScaled": "Retain"})),
        retention(json!({})),
    );

    let behavior = |behavior: Value| {
        let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "none"});
        json!({"spec": {"scaleTargetRef": target, "maxReplicas": 2, "behavior": behavior}})
    };
    let policies = json!([{"type": "Pods", "value": 1, "periodSeconds": 60}]);
    let rules = json!({"stabilizationWindowSeconds": 60, "selectPolicy": "Min", "policies": policies});
    for direction in ["scaleUp", "scaleDown"] {
        case(&autoscalers, behavior(json!({direction: rules})), behavior(json!({direction: {}})));
    }
    case(&autoscalers, behavior(json!({"scaleUp": rules, "scaleDown": rules})), behavior(json!({})));

    let affinity = |config: Value| {
        let mut spec = json!({"clusterIP": "None", "ports": [{"port": 80}], "sessionAffinity": "ClientIP"});
        spec["sessionAffinityConfig"] = config;
        json!({"spec": spec})
    };
    let timeout = json!({"clientIP": {"timeoutSeconds": 60}});
    case(&services, affinity(timeout.clone()), affinity(json!({})));
    case(&services, affinity(timeout), affinity(json!({"clientIP": {}})));

    let queued = |queuing: Value| {
        let limited = json!({"limitResponse": {"type": "Queue", "queuing": queuing}});
        json!({"spec": {"type": "Limited", "limited": limited}})
    };
    case(&levels, queued(json!({"queues": 8, "handSize": 2, "queueLengthLimit": 9})), queued(json!({})));
    cases
}

/// How many writes were sent.
#[derive(Clone, Default)]
struct Sent(Arc<AtomicUsize>);

impl Observer for Sent {
    fn ended(&self, _: &PreparedWrite, _: DryRun, outcome: &Outcome) {
        if let Outcome::Stored { .. } = outcome {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

async fn an_object_is_the_same_as_a_new_one_whatever_its_history(cluster: Cluster) {
    let cluster = cluster.clone();
    let client = cluster.admin().await.unwrap();
    let namespace = cluster.namespace("leftovers").await.unwrap();
    let mut cases = cases();
    cases.extend(emptied_cases());
    let limit = Duration::from_secs(30);
    let kinds = cases.iter().map(|case| case.kind.clone());
    let schemas = SchemaCache::new(client.clone(), kinds, limit);
    schemas.load().await.unwrap();
    let sent = Sent::default();
    let applier = Applier::new(client.clone(), Some(schemas), limit).observed_by(sent.clone());

    for (number, Case { kind, before, after, writes }) in cases.iter().enumerate() {
        let scope = (kind.kind != "PriorityLevelConfiguration").then(|| namespace.name());
        let api: Api<LiveObject> = match scope {
            Some(scope) => Api::namespaced_with(client.clone(), scope, kind),
            None => Api::all_with(client.clone(), kind),
        };
        let intent = |content: &Value, name: &str| {
            let mut intent = content.clone();
            intent["apiVersion"] = kind.api_version.as_str().into();
            intent["kind"] = kind.kind.as_str().into();
            intent["metadata"] = json!({"name": name});
            if let Some(scope) = scope {
                intent["metadata"]["namespace"] = scope.into();
            }
            intent
        };
        let name = format!("{}-{number}", namespace.name());
        let context = format!("{}: {before}\n{after}", kind.kind);
        let target = Target::new(kind.clone(), scope.map(str::to_owned), name.clone());
        let apply = async |content: &Value| {
            loop {
                let live = applier.read(&target).await.unwrap();
                let body = intent(content, &name);
                match applier.apply_json(kind, live.as_ref(), body, Options::forced("baton")).await {
                    Ok(outcome) => return outcome,
                    // Controllers write to it too.
                    Err(ApplyError::Stale(_)) => {}
                    Err(error) => panic!("{context}\n{error:?}"),
                }
            }
        };
        let (made, changed) = (apply(before).await.object, apply(after).await.object);
        // The write before the last changes nothing that a controller acts on: there is one rollout.
        let generation = |object: &LiveObject| object.meta().generation.unwrap_or_default();
        assert!(generation(&changed) <= generation(&made) + 1, "{context}");

        let params = PatchParams { dry_run: true, ..PatchParams::apply("baton").force() };
        let new = format!("{name}-new");
        let patch = Patch::Apply(intent(after, &new));
        let fresh =
            api.patch(&new, &params, &patch).await.unwrap_or_else(|error| panic!("{context}\n{error}"));
        for part in ["spec", "template", "data"] {
            assert_eq!(changed.get(&[part]), fresh.get(&[part]), "{context}");
        }
        assert_eq!(changed.paths_owned_by("baton"), fresh.paths_owned_by("baton"), "{context}");

        assert!(!apply(after).await.sent, "{context}");
        assert_eq!(sent.0.swap(0, Ordering::Relaxed), 1 + writes, "{context}");
        if scope.is_none() {
            api.delete(&name, &DeleteParams::default()).await.unwrap();
        }
    }
}

async fn a_child_is_as_its_workload_says_whatever_its_history(cluster: Cluster) {
    let env = Environment::start(&cluster, "history").await;
    let pod = |mut pod: Value| {
        pod["containers"] = json!([{"name": "app", "image": "app:1"}]);
        json!({"template": {"spec": pod}})
    };
    let volume = |source: Value| pod(json!({"volumes": [source]}));
    let histories = [
        (json!({}), json!({"rollout": {"strategy": {"type": "Recreate"}}}), "/spec/strategy"),
        (
            json!({"rollout": {"strategy": {"type": "RollingUpdate"}}}),
            json!({"rollout": {"strategy": {"type": "Recreate"}}}),
            "/spec/strategy",
        ),
        (
            volume(json!({"name": "v"})),
            volume(json!({"name": "v", "configMap": {"name": "web"}})),
            "/spec/template/spec/volumes",
        ),
        (
            pod(json!({"serviceAccountName": "powerful"})),
            pod(json!({})),
            "/spec/template/spec/serviceAccountName",
        ),
    ];
    for (before, after, place) in histories {
        env.apply_until("Applied", &before).await;
        let was = env.child(ChildKind::Deployment).await.unwrap().data.pointer(place).cloned();
        env.apply_until("Applied", &after).await;
        let is = env.child(ChildKind::Deployment).await.unwrap().data.pointer(place).cloned();
        assert_ne!(was, is, "{before}\n{after}");
        env.workloads().delete("web", &DeleteParams::default()).await.unwrap();
        env.gone(ChildKind::Deployment).await;
    }
}

async fn a_preview_shows_removed_fields_and_the_number_of_writes(cluster: Cluster) {
    let env = Environment::start(&cluster, "history-preview").await;
    let account = json!({"template": {"spec": {
        "serviceAccountName": "powerful", "containers": [{"name": "app", "image": "app:1"}],
    }}});
    env.apply_until("Applied", &account).await;
    env.apply(&json!({"mode": "Paused"})).await;
    let paused = env.condition("Applied", "Unknown").await;
    assert!(paused.message.contains("update Deployment"), "{}", paused.message);
    let plan = env.workload().await.status.unwrap().plan;
    let deployment = plan.iter().find(|child| child.kind == "Deployment").unwrap();
    let pod = |field: &str| format!(".spec.template.spec.{field}");
    assert_eq!(deployment.removes, [pod("serviceAccount"), pod("serviceAccountName")]);
    assert_eq!(deployment.writes, Some(2));
}
