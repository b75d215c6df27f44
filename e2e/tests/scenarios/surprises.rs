//! The five surprises that server-side apply was made to end, each played with a Workload and its Deployment. Nothing is lost,
//! reverted or restarted by surprise. Where two users set different values, the second one gets a conflict.

use baton_controller::decide::child::ChildKind;
use baton_e2e::{
    Environment,
    environment::{entries_of, image},
    scenarios, web,
};
use baton_testbed::Cluster;
use kube::{
    ResourceExt,
    api::{Patch, PatchParams, PostParams},
    core::DynamicObject,
};
use serde_json::{Value, json};

scenarios! {
    a_workload_that_was_posted_and_is_then_applied,
    a_deployment_that_is_edited_between_two_applies,
    a_deployment_that_was_read_edited_and_applied,
    annotations_that_were_tweaked_before_an_apply,
    alice_applies_something_and_bob_applies_something,
}

fn with_image(image: &str) -> Value {
    json!({"template": {"spec": {"containers": [{"name": "app", "image": image}]}}})
}

/// The number of the latest rollout, once its controller has counted it.
fn revision(deployment: &DynamicObject) -> Option<&String> {
    deployment.annotations().get("deployment.kubernetes.io/revision")
}

async fn deployment(env: &Environment) -> DynamicObject {
    env.child(ChildKind::Deployment).await.unwrap()
}

/// Waits for the rollout to be counted, and checks that it is still the first.
async fn was_never_restarted(env: &Environment) {
    let counted = env.child_where("a rollout", ChildKind::Deployment, |live| revision(live).is_some()).await;
    assert_eq!(revision(&counted).unwrap(), "1");
}

async fn image_is(env: &Environment, wanted: &str) -> DynamicObject {
    env.child_where(wanted, ChildKind::Deployment, |live| image(live) == wanted).await
}

/// "User does POST, then changes something and applies": the conflict names the other manager, and once it is resolved
/// the Deployment follows. Fields of the POST that the apply doesn't have are kept.
async fn a_workload_that_was_posted_and_is_then_applied(cluster: Cluster) {
    let env = Environment::start(&cluster, "surprise-post").await;
    let mut posted = web(&json!({"replicas": 2}));
    posted["spec"]["template"]["spec"]["containers"][0]["env"] = json!([{"name": "LEVEL", "value": "debug"}]);
    let params = PostParams { field_manager: Some("kubectl-create".to_owned()), dry_run: false };
    env.workloads().create(&params, &serde_json::from_value(posted).unwrap()).await.unwrap();
    image_is(&env, "app:1").await;

    // Another replica count than that of the POST.
    let changed = web(&json!({"replicas": 3}));
    let conflict = env.apply_as("user", &changed).await.unwrap_err().to_string();
    assert!(conflict.contains("kubectl-create") && conflict.contains(".spec.replicas"), "{conflict}");
    let force = PatchParams::apply("user").force();
    env.workloads().patch("web", &force, &Patch::Apply(&changed)).await.unwrap();
    env.has_replicas(3).await;

    // The manager of the apply never owned the variable, so it stays.
    let deployment = deployment(&env).await;
    let variables = &deployment.data["spec"]["template"]["spec"]["containers"][0]["env"];
    assert_eq!(variables, &json!([{"name": "LEVEL", "value": "debug"}]));
    was_never_restarted(&env).await;
}

/// "User does an apply, then `kubectl edit`, then applies again": Baton corrects its own field at once, and an Event names
/// the other manager. A field that Baton doesn't own keeps the edit through every later apply.
async fn a_deployment_that_is_edited_between_two_applies(cluster: Cluster) {
    let env = Environment::start(&cluster, "surprise-edit").await;
    env.apply(&with_image("app:1")).await;
    image_is(&env, "app:1").await;

    env.edit_as(
        "kubectl-edit",
        ChildKind::Deployment,
        &Patch::Merge(json!({"spec": {"minReadySeconds": 3}})),
    )
    .await;
    let container =
        json!([{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "mine:1"}]);
    let patch = Patch::Json(serde_json::from_value(container).unwrap());
    env.edit_as("kubectl-edit", ChildKind::Deployment, &patch).await;
    env.event(&["TookOver", "kubectl-edit"]).await;
    image_is(&env, "app:1").await;

    env.apply(&with_image("app:2")).await;
    let deployment = image_is(&env, "app:2").await;
    assert_eq!(
        deployment.data["spec"]["minReadySeconds"], 3,
        "a field that Baton doesn't own keeps the edit"
    );
}

/// "User does GET, edits locally, then apply": the response to a GET is no intent, and the API server refuses it.
/// Without the bookkeeping it is an intent that owns all its fields: the edit is a conflict, and neither overwrites Baton's
/// value nor gets lost without notice. Later changes by Baton are still stored.
async fn a_deployment_that_was_read_edited_and_applied(cluster: Cluster) {
    let env = Environment::start(&cluster, "surprise-get").await;
    env.apply(&with_image("app:1")).await;
    let read = image_is(&env, "app:1").await;
    let mut edited = serde_json::to_value(&read).unwrap();
    edited["spec"]["template"]["spec"]["containers"][0]["image"] = json!("mine:1");

    let deployments = env.children(ChildKind::Deployment);
    let apply = async |body: &Value| {
        deployments.patch("web", &PatchParams::apply("kubectl"), &Patch::Apply(body)).await
    };
    let refused = apply(&edited).await.unwrap_err().to_string();
    assert!(refused.contains("managedFields must be nil"), "{refused}");

    for bookkeeping in ["managedFields", "resourceVersion", "uid", "creationTimestamp", "generation"] {
        edited["metadata"].as_object_mut().unwrap().remove(bookkeeping);
    }
    edited.as_object_mut().unwrap().remove("status");
    let conflict = apply(&edited).await.unwrap_err().to_string();
    assert!(conflict.contains("\"baton\"") && conflict.contains(".image"), "{conflict}");

    // The same without the edit: no conflict, and a share in everything.
    edited["spec"]["template"]["spec"]["containers"][0]["image"] = json!("app:1");
    apply(&edited).await.unwrap();
    env.apply(&with_image("app:2")).await;
    let deployment = image_is(&env, "app:2").await;
    let (_, _, shared) = &entries_of(&deployment, "kubectl")[0];
    let app = &shared["f:spec"]["f:template"]["f:spec"]["f:containers"][r#"k:{"name":"app"}"#];
    assert!(app.get("f:image").is_none() && app.get("f:imagePullPolicy").is_some(), "{app:#}");
}

/// "User tweaks some annotations, then applies": annotations belong to the manager that wrote them, on the Workload and on its
/// Deployment, and cause no restart.
async fn annotations_that_were_tweaked_before_an_apply(cluster: Cluster) {
    let env = Environment::start(&cluster, "surprise-annotations").await;
    env.apply_until("Ready", &json!({"replicas": 2})).await;
    let tweak = json!({"metadata": {"annotations": {"team.example/on-call": "ana"}}});
    env.edit_as("kubectl-annotate", ChildKind::Deployment, &Patch::Merge(tweak.clone())).await;
    env.merge(&tweak).await;

    env.apply(&json!({"replicas": 3})).await;
    let deployment = env.has_replicas(3).await;
    env.reconcile().await;
    for annotations in [deployment.annotations(), env.workload().await.annotations()] {
        assert_eq!(annotations["team.example/on-call"], "ana");
    }
    was_never_restarted(&env).await;
}

/// "Alice applies something, then Bob applies something": both parts are in the Deployment. Where Bob sets a field of
/// Alice's, the conflict names Alice. When Alice drops a field, it is removed, and Bob's stay.
async fn alice_applies_something_and_bob_applies_something(cluster: Cluster) {
    let env = Environment::start(&cluster, "surprise-two").await;
    let container = |fields: Value| {
        let mut container = json!({"name": "app"});
        for (name, value) in fields.as_object().unwrap() {
            container[name] = value.clone();
        }
        json!({"template": {"spec": {"containers": [container]}}})
    };
    let mut alices = container(json!({"image": "app:1", "env": [{"name": "BY", "value": "alice"}]}));
    alices["replicas"] = json!(2);
    env.apply_as("alice", &web(&alices)).await.unwrap();
    let limits =
        json!({"resources": {"limits": {"memory": "64Mi"}}, "env": [{"name": "ALSO", "value": "bob"}]});
    env.apply_as("bob", &web(&container(limits.clone()))).await.unwrap();

    let app = |live: &DynamicObject| live.data["spec"]["template"]["spec"]["containers"][0].clone();
    let both = |live: &DynamicObject| {
        let app = app(live);
        app["image"] == "app:1"
            && app["resources"]["limits"]["memory"] == "64Mi"
            && app["env"].as_array().is_some_and(|env| env.len() == 2)
    };
    env.child_where("both parts", ChildKind::Deployment, both).await;

    let mut overlap = limits.clone();
    overlap["image"] = json!("bobs:1");
    let conflict = env.apply_as("bob", &web(&container(overlap))).await.unwrap_err().to_string();
    assert!(conflict.contains("\"alice\"") && conflict.contains(".image"), "{conflict}");

    let mut less = container(json!({"image": "app:1"}));
    less["replicas"] = json!(2);
    env.apply_as("alice", &web(&less)).await.unwrap();
    let deployment = env
        .child_where("Alice's variable to be removed", ChildKind::Deployment, |live| {
            app(live)["env"] == json!([{"name": "ALSO", "value": "bob"}])
        })
        .await;
    assert_eq!(app(&deployment)["resources"]["limits"]["memory"], "64Mi");
}
