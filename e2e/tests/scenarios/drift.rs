//! Changes of a child by other managers: Baton corrects its own fields, and keeps theirs.

use baton_controller::decide::child::ChildKind;
use baton_e2e::{
    Environment, autoscaler,
    environment::{entries_of, image, replicas},
    scenarios,
};
use baton_testbed::Cluster;
use kube::api::{Patch, PatchParams};
use serde_json::json;

scenarios! {
    another_managers_change_of_a_field_that_baton_owns_is_corrected,
    fields_of_another_manager_stay_through_ten_applies,
    a_child_that_loses_batons_label_gets_it_back,
}

async fn another_managers_change_of_a_field_that_baton_owns_is_corrected(cluster: Cluster) {
    let env = Environment::start(&cluster, "put-back").await;
    env.apply_until("Applied", &json!({"replicas": 1, "service": {"ports": [{"port": 80}]}})).await;

    let edit = json!({"spec": {"replicas": 7, "template": {"spec": {"containers": [{"name": "app", "image": "evil:1"}]}}}});
    let edited = env.edit_as("intruder", ChildKind::Deployment, &Patch::Strategic(edit)).await;
    assert_eq!(image(&edited), "evil:1");
    let corrected = env
        .child_where("the image and the replica count to be corrected", ChildKind::Deployment, |deployment| {
            image(deployment) == "app:1" && replicas(deployment) == 1
        })
        .await;
    assert_eq!(entries_of(&corrected, "intruder"), [], "the intruder owns nothing any more");

    let edit = json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": "intruder"}}, "spec": {"selector": null}});
    env.edit_as("intruder", ChildKind::Service, &Patch::Merge(edit)).await;
    env.child_where("label and selector of the Service to be corrected", ChildKind::Service, |service| {
        service.metadata.labels.as_ref().unwrap()["app.kubernetes.io/managed-by"] == "baton"
            && service.data["spec"]["selector"]["baton.rs/workload"] == "web"
    })
    .await;
}

async fn fields_of_another_manager_stay_through_ten_applies(cluster: Cluster) {
    let env = Environment::start_sending(&cluster, "foreign").await;
    env.apply_until("Applied", &json!({"replicas": 1})).await;

    let theirs = json!({
        "metadata": {"labels": {"mesh": "on"}, "annotations": {"mesh/revision": "7"}},
        "spec": {"template": {
            "metadata": {"annotations": {"mesh/inject": "done"}},
            "spec": {"containers": [{"name": "sidecar", "image": "proxy:1"}]},
        }},
    });
    env.apply_child(&PatchParams::apply("mesh"), ChildKind::Deployment, &theirs).await;
    let mark = env.mark();
    for _ in 0..10 {
        env.reconcile().await;
    }
    let applied = env.requests_since(mark).writes().resource("deployments");
    assert!(applied.len() >= 10, "each pass applies:\n{applied}");

    let deployment = env.child(ChildKind::Deployment).await.unwrap();
    assert_eq!(deployment.metadata.labels.as_ref().unwrap()["mesh"], "on");
    assert_eq!(deployment.metadata.annotations.as_ref().unwrap()["mesh/revision"], "7");
    let template = &deployment.data["spec"]["template"];
    assert_eq!(template["metadata"]["annotations"]["mesh/inject"], "done");
    let containers: Vec<_> =
        template["spec"]["containers"].as_array().unwrap().iter().map(|c| &c["name"]).collect();
    assert_eq!(containers, ["app", "sidecar"]);
    assert_eq!(entries_of(&deployment, "mesh").len(), 1, "the mesh still owns what it applied");
}

async fn a_child_that_loses_batons_label_gets_it_back(cluster: Cluster) {
    let env = Environment::start(&cluster, "unlabelled").await;
    env.apply_with_every_child().await;
    // Beside another autoscaler, Baton creates none.
    let other = autoscaler("other", "web", json!({"minReplicas": 1, "maxReplicas": 3}));
    let autoscalers = env.children(ChildKind::Autoscaler);
    autoscalers.patch("other", &PatchParams::apply("user"), &Patch::Apply(&other)).await.unwrap();
    env.condition("AutoscalerConflict", "True").await;
    env.at_rest().await;

    for kind in ChildKind::ALL {
        for label in [json!("helm"), json!(null)] {
            let (mark, before) = (env.mark(), env.child(kind).await.unwrap().metadata.uid);
            let patch = json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": label}}});
            env.edit_as("user", kind, &Patch::Merge(patch)).await;
            let child = env
                .child_where("the label", kind, |child| {
                    let labels = child.metadata.labels.as_ref();
                    labels.and_then(|labels| labels.get("app.kubernetes.io/managed-by")).map(String::as_str)
                        == Some("baton")
                })
                .await;
            assert_eq!(child.metadata.uid, before, "{kind}");
            env.at_rest().await;
            // This version stands for no object.
            let creations = env.requests_since(mark).writes().that(|write| {
                let body = write.request_object.as_ref();
                body.is_some_and(|body| body["metadata"]["resourceVersion"] == "1")
            });
            assert!(creations.is_empty(), "{kind} isn't taken for missing:\n{creations}");
        }
    }
}
