//! An object that another manager made becomes a Workload's child: no pod restarts, no replica count changes, and no leftover
//! stays. And the way back: a Workload's children become orphans.

use std::collections::BTreeSet;

use baton_apply::LiveObject;
use baton_controller::decide::child::ChildKind;
use baton_e2e::{Environment, environment::entries_of, scenarios};
use baton_testbed::{Cluster, eventually};
use k8s_openapi::api::core::v1::Pod;
use kube::{
    ResourceExt,
    api::{ListParams, Patch, PatchParams},
};
use serde_json::{Value, json};

scenarios! {
    objects_of_client_side_apply_are_adopted_without_a_restart_or_a_leftover,
    objects_of_server_side_apply_are_shared_until_their_manager_is_retired,
    objects_of_a_helm_release_are_refused_by_its_name_and_adopted_with_helm_retired,
    objects_of_another_controller_are_refused_until_it_is_retired,
    an_adoption_keeps_the_replica_count_of_an_autoscaler,
    an_entry_that_the_next_write_drops_does_not_count_as_an_owner,
    an_adopted_service_keeps_its_selector_while_a_label_of_the_template_changes,
    a_service_that_selects_by_more_labels_is_not_adopted_until_its_selector_is_the_deployments,
}
scenarios! {
    only real, because "kubectl migrates what it has applied":
    kubectl_can_change_the_orphans_of_a_workload_and_a_workload_can_adopt_them_again,
}

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A team's objects from before Baton, with their own selector, and with fields that no Workload below sets.
fn manifests() -> Vec<Value> {
    let labels = json!({"app": "web", "team": "shop"});
    let head = |api: &str, kind: &str| {
        let metadata = json!({"name": "web", "annotations": {"team.example/owner": "shop"}});
        (json!(api), json!(kind), metadata)
    };
    let object = |api, kind, spec: Value| {
        let (api, kind, metadata) = head(api, kind);
        json!({"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec})
    };
    vec![
        object(
            "apps/v1",
            "Deployment",
            json!({
                "replicas": 4,
                "minReadySeconds": 1,
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": [{"name": "app", "image": "app:1"}]},
                },
            }),
        ),
        object(
            "v1",
            "Service",
            json!({"selector": labels, "ports": [{"name": "http", "port": 80}, {"name": "old", "port": 81}]}),
        ),
        object(
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            json!({
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                "minReplicas": 4, "maxReplicas": 9,
            }),
        ),
        object(
            "policy/v1",
            "PodDisruptionBudget",
            json!({"selector": {"matchLabels": labels}, "maxUnavailable": 2}),
        ),
    ]
}

/// A Workload that sets those of their fields that are to stay.
fn everything(spec: &Value) -> Value {
    let mut all = json!({
        "adoption": "Adopt",
        "service": {"ports": [{"name": "http", "port": 80}]},
        "autoscaling": {"minReplicas": 4, "maxReplicas": 9},
        "disruptionBudget": {"maxUnavailable": 2},
    });
    for (field, value) in spec.as_object().unwrap() {
        all[field] = value.clone();
    }
    all
}

async fn live_pods(env: &Environment) -> BTreeSet<String> {
    let pods = env.api::<Pod>().list(&ListParams::default()).await.unwrap();
    pods.into_iter()
        .filter(|pod| pod.metadata.deletion_timestamp.is_none())
        .filter_map(|pod| pod.uid())
        .collect()
}

/// Waits until there are this many pods, and returns them.
async fn settled_pods(env: &Environment, count: usize) -> BTreeSet<String> {
    eventually("the pods", async || {
        let pods = live_pods(env).await;
        if pods.len() == count { Ok(pods) } else { Err(pods) }
    })
    .await
}

async fn adopted(env: &Environment, kind: ChildKind) -> LiveObject {
    let uid = env.workload().await.uid().unwrap();
    env.child_where(&format!("{kind} to be adopted"), kind, |child| {
        child.owner_references().iter().any(|owner| owner.uid == uid)
    })
    .await;
    env.live(kind).await
}

/// The managers that have an entry of their own for the main resource.
fn managers(live: &LiveObject) -> Vec<String> {
    let entries = live.managed_fields();
    let main = entries.iter().filter(|entry| entry.subresource().is_none());
    main.map(|entry| format!("{} {}", entry.manager(), entry.operation())).collect()
}

async fn objects_of_client_side_apply_are_adopted_without_a_restart_or_a_leftover(cluster: Cluster) {
    let env = Environment::start(&cluster, "adopt-client-side").await;
    env.client_side_apply(&manifests()).await.unwrap();
    let pods = settled_pods(&env, 4).await;
    let watch = env.watch().await.unwrap();

    env.apply(&everything(&json!({"mode": "Preview"}))).await;
    let applied = env.condition("Applied", "Unknown").await;
    assert!(applied.message.contains("update Deployment"), "{}", applied.message);
    let plan = env.workload().await.status.unwrap().plan;
    let deployment = plan.iter().find(|planned| planned.kind == "Deployment").unwrap();
    assert!(deployment.message.as_ref().unwrap().starts_with("it would be adopted"), "{deployment:#?}");
    assert!(deployment.removes.contains(&".spec.minReadySeconds".to_owned()), "{deployment:#?}");
    assert!(!deployment.sets.iter().any(|path| path.starts_with(".spec.template")), "{deployment:#?}");
    assert!(env.live(ChildKind::Deployment).await.annotations().contains_key(LAST_APPLIED));

    env.apply(&everything(&json!({}))).await;
    for kind in ChildKind::ALL {
        let live = adopted(&env, kind).await;
        assert_eq!(live.annotations().get(LAST_APPLIED), None, "{kind}");
        assert_eq!(
            live.annotations().get("team.example/owner"),
            None,
            "{kind}: only client-side apply owned it"
        );
    }
    env.condition("Applied", "True").await;
    let deployment = env.live(ChildKind::Deployment).await;
    assert_eq!(deployment.get(&["spec", "selector", "matchLabels", "app"]), Some(&json!("web")));
    assert_eq!(deployment.number(&["spec", "minReadySeconds"]), None);
    let service = env.live(ChildKind::Service).await;
    let ports = service.get(&["spec", "ports"]).unwrap().as_array().unwrap();
    assert_eq!(ports.len(), 1, "the other port was client-side apply's alone");
    for kind in [ChildKind::Service, ChildKind::DisruptionBudget] {
        assert_eq!(managers(&env.live(kind).await), ["baton Apply"], "{kind}");
    }

    env.reconcile().await;
    assert_eq!(watch.history().await.unwrap().values(), [4]);
    assert_eq!(live_pods(&env).await, pods, "no pod was restarted");
    let workload = env.workload().await;
    let selector = workload.status.unwrap().selector.unwrap();
    assert_eq!(selector, "app=web,team=shop");
    eventually("four Events about it", async || {
        let events = env.events().await;
        let adopted: Vec<&String> = events.iter().filter(|event| event.contains("Adopted")).collect();
        let names_the_manager = |event: &&String| event.contains("kubectl-client-side-apply");
        if adopted.len() == 4 && adopted.iter().any(names_the_manager) { Ok(()) } else { Err(events) }
    })
    .await;
}

async fn objects_of_server_side_apply_are_shared_until_their_manager_is_retired(cluster: Cluster) {
    let env = Environment::start(&cluster, "adopt-server-side").await;
    env.server_side_apply(&manifests()).await.unwrap();
    let pods = settled_pods(&env, 4).await;
    let watch = env.watch().await.unwrap();

    env.apply(&everything(&json!({}))).await;
    for kind in ChildKind::ALL {
        let live = adopted(&env, kind).await;
        assert!(managers(&live).contains(&"kubectl Apply".to_owned()), "{kind}: {:?}", managers(&live));
    }
    let deployment = env.live(ChildKind::Deployment).await;
    assert_eq!(deployment.number(&["spec", "minReadySeconds"]), Some(1), "kubectl still owns it");

    env.apply(&everything(&json!({"retiredManagers": ["kubectl"]}))).await;
    eventually("kubectl to be gone everywhere", async || {
        for kind in ChildKind::ALL {
            let live = env.live(kind).await;
            if managers(&live).iter().any(|manager| manager.starts_with("kubectl ")) {
                return Err((kind, managers(&live)));
            }
        }
        Ok(())
    })
    .await;
    env.child_where("the field that kubectl alone owned to be removed", ChildKind::Deployment, |live| {
        live.data["spec"].get("minReadySeconds").is_none()
    })
    .await;
    assert_eq!(watch.history().await.unwrap().values(), [4]);
    assert_eq!(live_pods(&env).await, pods);
}

/// Creates the manifests as a manager that updates, such as Helm before version 4 or a controller.
async fn update_as(env: &Environment, manager: &str, change: impl Fn(&mut Value)) {
    for mut manifest in manifests() {
        change(&mut manifest);
        env.create_as(manager, &manifest).await;
    }
}

async fn objects_of_a_helm_release_are_refused_by_its_name_and_adopted_with_helm_retired(cluster: Cluster) {
    let env = Environment::start(&cluster, "adopt-helm").await;
    update_as(&env, "helm", |manifest| {
        manifest["metadata"]["annotations"]["meta.helm.sh/release-name"] = json!("shop");
        manifest["metadata"]["labels"] = json!({"app.kubernetes.io/managed-by": "Helm"});
    })
    .await;
    let pods = settled_pods(&env, 4).await;
    let watch = env.watch().await.unwrap();

    env.apply(&everything(&json!({"adoption": "Refuse"}))).await;
    let refused = env.condition("Applied", "False").await;
    assert_eq!(refused.reason, "NotOwned");
    assert!(refused.message.contains("belongs to the Helm release shop"), "{}", refused.message);
    for resource in ["deployments", "services"] {
        let writes = env.writes(resource);
        assert!(writes.iter().all(|creation| creation.code == Some(409)), "{writes:#?}");
    }

    env.apply(&everything(&json!({"retiredManagers": ["helm"]}))).await;
    for kind in ChildKind::ALL {
        let live = adopted(&env, kind).await;
        assert_eq!(live.annotations().get("meta.helm.sh/release-name"), None, "{kind}");
        assert_eq!(live.labels()["app.kubernetes.io/managed-by"], "baton", "{kind}");
    }
    assert_eq!(watch.history().await.unwrap().values(), [4]);
    assert_eq!(live_pods(&env).await, pods);
}

async fn objects_of_another_controller_are_refused_until_it_is_retired(cluster: Cluster) {
    let env = Environment::start(&cluster, "adopt-controlled").await;
    let other = json!({
        "apiVersion": "baton.rs/v1alpha1", "kind": "Workload", "metadata": {"name": "other"},
        "spec": {"mode": "Paused", "template": {"spec": {"containers": [{"name": "a", "image": "a:1"}]}}},
    });
    let uid = env.apply_as("user", &other).await.unwrap().uid().unwrap();
    update_as(&env, "app-operator", |manifest| {
        manifest["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "baton.rs/v1alpha1", "kind": "Workload", "name": "other", "uid": uid, "controller": true,
        }]);
    })
    .await;
    let pods = settled_pods(&env, 4).await;

    env.apply(&everything(&json!({}))).await;
    let refused = env.condition("Applied", "False").await;
    assert!(
        refused.message.contains("controlled by Workload/other; name app-operator"),
        "{}",
        refused.message
    );

    env.apply(&everything(&json!({"retiredManagers": ["app-operator"]}))).await;
    for kind in ChildKind::ALL {
        let live = adopted(&env, kind).await;
        assert_eq!(live.owner_references().len(), 1, "{kind}");
    }
    assert_eq!(live_pods(&env).await, pods);
}

async fn an_adoption_keeps_the_replica_count_of_an_autoscaler(cluster: Cluster) {
    let env = Environment::start(&cluster, "adopt-scaled").await;
    env.client_side_apply(&manifests()).await.unwrap();
    let scaled = json!({"spec": {"minReplicas": 6}});
    let autoscalers = env.children(ChildKind::Autoscaler);
    autoscalers.patch("web", &PatchParams::default(), &Patch::Merge(scaled)).await.unwrap();
    env.has_replicas(6).await;
    let watch = env.watch().await.unwrap();

    env.apply(&everything(&json!({"autoscaling": {"minReplicas": 6, "maxReplicas": 9}}))).await;
    adopted(&env, ChildKind::Autoscaler).await;
    env.condition("HandedOver", "True").await;
    assert_eq!(watch.history().await.unwrap().values(), [6]);
}

async fn kubectl_can_change_the_orphans_of_a_workload_and_a_workload_can_adopt_them_again(cluster: Cluster) {
    let env = Environment::start(&cluster, "orphans").await;
    env.apply(&everything(&json!({"adoption": "Refuse", "replicas": 4}))).await;
    adopted(&env, ChildKind::Autoscaler).await;
    env.condition("Ready", "True").await;
    let pods = settled_pods(&env, 4).await;
    let watch = env.watch().await.unwrap();

    env.kubectl("delete bwl/web --cascade=orphan --wait=true", &[]).await.unwrap();
    for kind in ChildKind::ALL {
        let child = env.child_where("an orphan", kind, |child| child.owner_references().is_empty()).await;
        assert_eq!(child.metadata.deletion_timestamp, None, "{kind}");
    }

    // An apply by kubectl is an ordinary edit now: here a label, and no restart.
    let selector = env.live(ChildKind::Deployment).await.get(&["spec", "selector"]).unwrap().clone();
    let mut deployment = manifests().remove(0);
    deployment["metadata"]["labels"] = json!({"now": "kubectls"});
    deployment["spec"]["template"]["metadata"]["labels"] = selector["matchLabels"].clone();
    deployment["spec"]["selector"] = selector;
    env.kubectl("apply -f -", &[deployment.clone()]).await.unwrap();
    env.kubectl("apply --server-side --force-conflicts -f -", &[deployment]).await.unwrap();
    let orphan = env.child(ChildKind::Deployment).await.unwrap();
    assert_eq!(orphan.labels()["now"], "kubectls");
    assert_eq!(entries_of(&orphan, "kubectl").len(), 1);

    env.apply(&everything(&json!({}))).await;
    for kind in ChildKind::ALL {
        adopted(&env, kind).await;
    }
    assert_eq!(watch.history().await.unwrap().values(), [4]);
    assert_eq!(live_pods(&env).await, pods);
}

/// Scaling to the live replica count splits the entry of the Deployment's creator into two of the same identity. The server
/// reads only the last, so the next write drops the creator's share in the replica count.
async fn an_entry_that_the_next_write_drops_does_not_count_as_an_owner(cluster: Cluster) {
    let env = Environment::start(&cluster, "forgotten").await;
    env.create_as("kubectl-create", &manifests()[0]).await;
    env.apply_until("Ready", &json!({"adoption": "Adopt", "replicas": 4})).await;
    env.apply(&json!({"adoption": "Adopt", "mode": "Paused"})).await;
    env.condition("Applied", "Unknown").await;
    env.at_rest().await;
    let watch = env.watch().await.unwrap();
    env.scale_as("somebody", 4).await;
    let deployment = env.child(ChildKind::Deployment).await.unwrap();
    let entries = entries_of(&deployment, "kubectl-create");
    assert!(entries.len() > 1, "{entries:?}");
    env.apply_until("Ready", &json!({"adoption": "Adopt"})).await;
    env.at_rest().await;
    let history = watch.history().await.unwrap();
    assert_eq!(history.values(), [4]);
    assert!(!history.last().unwrap().owners.is_empty(), "the replica count has an owner");
}

async fn an_adopted_service_keeps_its_selector_while_a_label_of_the_template_changes(cluster: Cluster) {
    let env = Environment::start(&cluster, "adopt-expressions").await;
    let mut manifests = manifests();
    manifests.truncate(2);
    let [deployment, service] = &mut manifests[..] else { panic!("a Deployment and a Service") };
    deployment["spec"]["selector"] =
        json!({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]});
    deployment["spec"]["template"]["metadata"]["labels"] = json!({"app": "web", "version": "v1"});
    service["spec"]["selector"] = json!({"app": "web"});
    env.client_side_apply(&manifests).await.unwrap();
    let with_labels = |labels: Value| {
        let mut spec = json!({"adoption": "Adopt", "service": {"ports": [{"name": "http", "port": 80}]}});
        let containers = json!([{"name": "app", "image": "app:1"}]);
        spec["template"] = json!({"metadata": {"labels": labels}, "spec": {"containers": containers}});
        spec
    };
    env.apply(&with_labels(json!({"version": "v1"}))).await;
    for kind in [ChildKind::Deployment, ChildKind::Service] {
        adopted(&env, kind).await;
    }
    for labels in [json!({"version": "v2"}), json!({})] {
        env.apply(&with_labels(labels.clone())).await;
        let mut wanted = labels;
        wanted["app"] = json!("web");
        env.child_where("these labels in the template", ChildKind::Deployment, |live| {
            live.data["spec"]["template"]["metadata"]["labels"] == wanted
        })
        .await;
        env.condition("Ready", "True").await;
        let service = env.child(ChildKind::Service).await.unwrap();
        assert_eq!(service.data["spec"]["selector"], json!({"app": "web"}), "pods of both revisions have it");
    }
}

async fn a_service_that_selects_by_more_labels_is_not_adopted_until_its_selector_is_the_deployments(
    cluster: Cluster,
) {
    let env = Environment::start(&cluster, "adopt-narrow").await;
    let mut manifests = manifests();
    manifests.truncate(2);
    manifests[0]["spec"]["selector"] = json!({"matchLabels": {"app": "web"}});
    env.client_side_apply(&manifests).await.unwrap();
    let spec = json!({"adoption": "Adopt", "service": {"ports": [{"name": "http", "port": 80}]}});
    env.apply(&spec).await;
    let refused = env.condition("Applied", "False").await;
    assert_eq!(refused.reason, "NotOwned");
    assert!(refused.message.contains("selects pods by app=web,team=shop"), "{}", refused.message);
    let service = env.child(ChildKind::Service).await.unwrap();
    assert_eq!(service.data["spec"]["selector"], json!({"app": "web", "team": "shop"}));

    let wider = Patch::Merge(json!({"spec": {"selector": {"team": null}}}));
    env.edit_as("kubectl-edit", ChildKind::Service, &wider).await;
    adopted(&env, ChildKind::Service).await;
    env.condition("Applied", "True").await;
}
