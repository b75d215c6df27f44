//! Writes that the server refuses: a condition and an Event report them, and Baton retries them after growing pauses.

use baton_controller::decide::child::ChildKind;
use baton_e2e::{Environment, scenarios};
use baton_testbed::{Cluster, eventually};
use k8s_openapi::api::core::v1::ResourceQuota;
use kube::{
    ResourceExt,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::{Value, json};

scenarios! {
    a_rejected_child_shows_in_condition_and_event_is_retried_with_pauses_and_recovers,
    a_rejected_child_does_not_hold_back_the_others,
    an_existing_object_that_is_not_batons_is_refused_until_it_is_deleted,
    a_child_that_loses_its_owner_reference_is_refused_without_contention,
    a_refusal_by_a_quota_does_not_count_as_a_missing_permission,
}

/// Valid for the Workload's schema; the Deployment's validation refuses it.
fn more_requested_than_allowed() -> Value {
    let resources = json!({"requests": {"cpu": "2"}, "limits": {"cpu": "1"}});
    json!({"template": {"spec": {"containers": [{"name": "app", "image": "app:1", "resources": resources}]}}})
}

async fn a_rejected_child_shows_in_condition_and_event_is_retried_with_pauses_and_recovers(cluster: Cluster) {
    let env = Environment::start(&cluster, "rejected").await;
    env.apply(&more_requested_than_allowed()).await;
    let text = "must be less than or equal to cpu limit";
    let applied = env.condition("Applied", "False").await;
    assert_eq!(applied.reason, "Rejected");
    assert!(applied.message.contains(text), "{}", applied.message);
    assert_eq!(env.condition("Ready", "False").await.reason, "NotApplied");
    env.event(&["Warning Rejected:", text]).await;

    let tries = eventually("four tries", async || {
        let tries = env.writes("deployments");
        if tries.len() >= 4 { Ok(tries) } else { Err(tries.len()) }
    })
    .await;
    for (pair, least) in tries.windows(2).zip([1.0, 2.0, 4.0]) {
        let pause = pair[1].received.duration_since(pair[0].received).as_secs_f64();
        assert!(pause >= least, "a pause of {pause} s where at least {least} s were due:\n{tries}");
    }

    env.apply_until("Ready", &json!({})).await;
    env.event(&["Normal Accepted:"]).await;
}

async fn a_rejected_child_does_not_hold_back_the_others(cluster: Cluster) {
    let env = Environment::start(&cluster, "rejected-one").await;
    let mut spec = more_requested_than_allowed();
    spec["service"] = json!({"ports": [{"port": 80}]});
    env.apply(&spec).await;
    env.condition("Applied", "False").await;
    env.child_where("the Service", ChildKind::Service, |_| true).await;
}

async fn an_existing_object_that_is_not_batons_is_refused_until_it_is_deleted(cluster: Cluster) {
    let env = Environment::start(&cluster, "refused").await;
    let theirs = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
        "spec": {"ports": [{"port": 9999}], "selector": {"app": "theirs"}},
    });
    let theirs = env.create_as("helm", &theirs).await;

    env.apply(&json!({"service": {"ports": [{"port": 80}]}})).await;
    let applied = env.condition("Applied", "False").await;
    assert_eq!(applied.reason, "NotOwned");
    assert!(applied.message.contains("made by helm"), "{}", applied.message);
    env.child_where("the Deployment all the same", ChildKind::Deployment, |_| true).await;
    let untouched = env.child(ChildKind::Service).await.unwrap();
    assert_eq!(untouched.resource_version(), theirs.resource_version());

    env.children(ChildKind::Service).delete("web", &DeleteParams::default()).await.unwrap();
    env.condition("Applied", "True").await;
    let ours = env.child(ChildKind::Service).await.unwrap();
    assert_eq!(ours.data["spec"]["ports"][0]["port"], 80);
}

async fn a_child_that_loses_its_owner_reference_is_refused_without_contention(cluster: Cluster) {
    let env = Environment::start(&cluster, "disowned").await;
    env.apply_until("Ready", &json!({"service": {"ports": [{"port": 80}]}})).await;
    let disown = json!({"metadata": {"ownerReferences": null}});
    let services = env.children(ChildKind::Service);
    let refused = eventually("the child to be refused", async || {
        // A pass that is under way has seen the child as Baton's and corrects the reference, as it does any field.
        if env.child(ChildKind::Service).await.is_some_and(|child| child.metadata.owner_references.is_some())
        {
            services.patch("web", &PatchParams::default(), &Patch::Merge(&disown)).await.unwrap();
        }
        let conditions = env.workload().await.status.unwrap_or_default().conditions;
        let applied = conditions.iter().find(|condition| condition.type_ == "Applied");
        applied.filter(|applied| applied.status == "False").cloned().ok_or(conditions)
    });
    assert_eq!(refused.await.reason, "NotOwned");
}

async fn a_refusal_by_a_quota_does_not_count_as_a_missing_permission(cluster: Cluster) {
    let env = Environment::start(&cluster, "quota").await;
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"}, "spec": {"hard": {"count/services": "0"}},
    });
    env.server_side_apply(&[quota]).await.unwrap();
    eventually("the quota to be enforced", async || {
        let quota = env.api::<ResourceQuota>().get("none").await.unwrap();
        quota.status.and_then(|status| status.used).map(drop).ok_or(quota.spec)
    })
    .await;
    env.apply(&json!({"service": {"ports": [{"port": 80}]}})).await;
    env.event(&["Warning Rejected:", "exceeded quota: none"]).await;
    let metrics = env.operator().metrics_text().await.unwrap();
    let refused = "baton_api_requests_total{verb=\"apply\",resource=\"services\",code=\"403\"}";
    assert!(metrics.contains(refused), "{metrics}");
    assert!(!metrics.contains("baton_permission_denials_total{"), "{metrics}");
}
