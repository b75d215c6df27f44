//! Changes of a child by other managers: Baton corrects its own fields, and keeps theirs.

use baton_controller::decide::child::ChildKind;
use baton_e2e::{autoscaler, scenarios};
use baton_testbed::Cluster;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;

use crate::scene::{Scene, entries_of, image, replicas};

scenarios! {
    another_managers_change_of_a_field_that_baton_owns_is_corrected,
    fields_of_another_manager_stay_through_ten_applies,
    a_deleted_child_is_created_again,
    a_child_that_loses_batons_label_gets_it_back,
}

async fn another_managers_change_of_a_field_that_baton_owns_is_corrected(cluster: Cluster) {
    let scene = Scene::start(&cluster, "put-back").await;
    scene.apply(&json!({"replicas": 1, "service": {"ports": [{"port": 80}]}})).await;
    scene.condition("Applied", "True").await;

    let edit = json!({"spec": {"replicas": 7, "template": {"spec": {"containers": [{"name": "app", "image": "evil:1"}]}}}});
    let edited = scene.edit_as("intruder", ChildKind::Deployment, &Patch::Strategic(edit)).await;
    assert_eq!(image(&edited), "evil:1");
    let corrected = scene
        .child_where("the image and the replica count to be corrected", ChildKind::Deployment, |deployment| {
            image(deployment) == "app:1" && replicas(deployment) == 1
        })
        .await;
    assert_eq!(entries_of(&corrected, "intruder"), [], "the intruder owns nothing any more");

    let edit = json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": "intruder"}}, "spec": {"selector": null}});
    scene.edit_as("intruder", ChildKind::Service, &Patch::Merge(edit)).await;
    scene
        .child_where("label and selector of the Service to be corrected", ChildKind::Service, |service| {
            service.metadata.labels.as_ref().unwrap()["app.kubernetes.io/managed-by"] == "baton"
                && service.data["spec"]["selector"]["baton.rs/workload"] == "web"
        })
        .await;
}

async fn fields_of_another_manager_stay_through_ten_applies(cluster: Cluster) {
    let scene = Scene::start_sending(&cluster, "foreign").await;
    scene.apply(&json!({"replicas": 1})).await;
    scene.condition("Applied", "True").await;

    let theirs = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "labels": {"mesh": "on"}, "annotations": {"mesh/revision": "7"}},
        "spec": {"template": {
            "metadata": {"annotations": {"mesh/inject": "done"}},
            "spec": {"containers": [{"name": "sidecar", "image": "proxy:1"}]},
        }},
    });
    scene
        .children(ChildKind::Deployment)
        .patch("web", &PatchParams::apply("mesh"), &Patch::Apply(&theirs))
        .await
        .unwrap();
    let mark = scene.mark();
    for _ in 0..10 {
        scene.reconcile().await;
    }
    let applied = scene.requests_since(mark).writes().resource("deployments");
    assert!(applied.len() >= 10, "each pass applies:\n{applied}");

    let deployment = scene.child(ChildKind::Deployment).await.unwrap();
    assert_eq!(deployment.metadata.labels.as_ref().unwrap()["mesh"], "on");
    assert_eq!(deployment.metadata.annotations.as_ref().unwrap()["mesh/revision"], "7");
    let template = &deployment.data["spec"]["template"];
    assert_eq!(template["metadata"]["annotations"]["mesh/inject"], "done");
    let containers: Vec<_> =
        template["spec"]["containers"].as_array().unwrap().iter().map(|c| &c["name"]).collect();
    assert_eq!(containers, ["app", "sidecar"]);
    assert_eq!(entries_of(&deployment, "mesh").len(), 1, "the mesh still owns what it applied");
}

async fn a_deleted_child_is_created_again(cluster: Cluster) {
    let scene = Scene::start(&cluster, "deleted-child").await;
    scene.apply(&json!({"replicas": 1, "service": {"ports": [{"port": 80}]}})).await;
    scene.condition("Applied", "True").await;
    let before = scene.child(ChildKind::Service).await.unwrap().metadata.uid;
    scene.children(ChildKind::Service).delete("web", &DeleteParams::default()).await.unwrap();
    scene
        .child_where("the Service to come back", ChildKind::Service, |service| service.metadata.uid != before)
        .await;
}

async fn a_child_that_loses_batons_label_gets_it_back(cluster: Cluster) {
    let scene = Scene::start(&cluster, "unlabelled").await;
    scene.apply_with_every_child().await;
    scene.condition("Applied", "True").await;
    // Beside another autoscaler, Baton creates none.
    let other = autoscaler("other", "web", json!({"minReplicas": 1, "maxReplicas": 3}));
    let autoscalers = scene.children(ChildKind::Autoscaler);
    autoscalers.patch("other", &PatchParams::apply("user"), &Patch::Apply(&other)).await.unwrap();
    scene.condition("AutoscalerConflict", "True").await;
    scene.at_rest().await;

    for kind in ChildKind::ALL {
        for label in [json!("helm"), json!(null)] {
            let (mark, before) = (scene.mark(), scene.child(kind).await.unwrap().metadata.uid);
            let patch = json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": label}}});
            scene.edit_as("user", kind, &Patch::Merge(patch)).await;
            let child = scene
                .child_where("the label", kind, |child| {
                    let labels = child.metadata.labels.as_ref();
                    labels.and_then(|labels| labels.get("app.kubernetes.io/managed-by")).map(String::as_str)
                        == Some("baton")
                })
                .await;
            assert_eq!(child.metadata.uid, before, "{kind}");
            scene.at_rest().await;
            // This version stands for no object.
            let creations = scene.requests_since(mark).writes().that(|write| {
                let body = write.request_object.as_ref();
                body.is_some_and(|body| body["metadata"]["resourceVersion"] == "1")
            });
            assert!(creations.is_empty(), "{kind} isn't taken for missing:\n{creations}");
        }
    }
}
