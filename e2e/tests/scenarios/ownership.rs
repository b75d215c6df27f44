//! Baton owns exactly the fields of its intents, by one Apply entry in each object, and nothing by Update.

use baton_controller::decide::{
    child::ChildKind,
    intent::{self, Selector},
};
use baton_e2e::{Environment, environment::entries_of, scenarios};
use baton_testbed::Cluster;
use kube::api::{Patch, PatchParams};
use serde_json::json;

scenarios! {
    each_child_has_one_apply_entry_of_baton_with_exactly_the_intents_fields,
    the_status_has_one_apply_entry_and_is_written_only_when_it_changes,
}

async fn each_child_has_one_apply_entry_of_baton_with_exactly_the_intents_fields(cluster: Cluster) {
    let env = Environment::start(&cluster, "ownership").await;
    env
        .apply(&json!({
            "template": {
                "metadata": {"labels": {"team": "shop"}, "annotations": {"note": "x"}},
                "spec": {
                    "containers": [{
                        "name": "app",
                        "image": "app:1",
                        "env": [{"name": "MODE", "value": "fast"}],
                        "ports": [{"containerPort": 8080}, {"containerPort": 8443, "name": "tls"}],
                        "resources": {"requests": {"cpu": 1, "memory": "64Mi"}},
                        "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
                    }],
                    "volumes": [{"name": "scratch", "emptyDir": {}}],
                    "tolerations": [{"key": "spot", "operator": "Exists"}],
                    "topologySpreadConstraints":
                        [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}],
                },
            },
            "rollout": {"strategy": {"rollingUpdate": {"maxSurge": 1}}, "minReadySeconds": 0},
            "service": {"ports": [{"port": 80, "name": "http", "targetPort": 8080}, {"port": 443, "name": "https"}],
                        "labels": {"team": "shop"}},
            "autoscaling": {"minReplicas": 2, "maxReplicas": 4, "metrics": [
                {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}},
            ]},
            "disruptionBudget": {"maxUnavailable": 1},
        }))
        .await;
    env.condition("Applied", "True").await;
    env.condition("HandoverPending", "True").await;
    let workload = env.workload().await;

    for kind in ChildKind::ALL {
        let child = env.child(kind).await.unwrap();
        let batons = entries_of(&child, "baton");
        assert_eq!(batons.len(), 1, "{kind}: {batons:#?}");
        let (operation, subresource, owned) = &batons[0];
        assert_eq!((operation.as_str(), subresource), ("Apply", &None), "{kind}");

        // The fields of a new manager that applies the same intent.
        let selector = Selector::of(&workload, None);
        let intent = match kind {
            ChildKind::Deployment => intent::deployment(&workload, None, &selector).unwrap(),
            _ => intent::child(&workload, kind, &selector).unwrap().unwrap(),
        };
        let params = PatchParams::apply("probe").force().dry_run();
        let probed =
            env.children(kind).patch("web", &params, &Patch::Apply(intent.as_value())).await.unwrap();
        let (_, _, expected) = &entries_of(&probed, "probe")[0];
        assert_eq!(owned, expected, "{kind}, left: what Baton owns, right: what its intent has");
    }
}

async fn the_status_has_one_apply_entry_and_is_written_only_when_it_changes(cluster: Cluster) {
    let env = Environment::start(&cluster, "status").await;
    env.apply_until("Ready", &json!({"replicas": 2})).await;
    env.no_condition("Reconciling").await;
    let workload = serde_json::to_value(env.workload().await).unwrap();
    let workload = serde_json::from_value(workload).unwrap();
    let batons = entries_of(&workload, "baton");
    assert_eq!(batons.len(), 1, "{batons:#?}");
    assert_eq!((batons[0].0.as_str(), batons[0].1.as_deref()), ("Apply", Some("status")));

    // A write that was under way is in the audit log once a later pass has ended.
    env.reconcile().await;
    let written = env.writes("workloads").len();
    env.reconcile_times(3).await;
    assert_eq!(env.writes("workloads").len(), written, "status writes after passes that changed nothing");
}
