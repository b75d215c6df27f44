//! Skips the writes that would change nothing, as a controller does that reconciles again and again.
//!
//! ```text
//! cargo run -p baton-merge --example noop
//! ```

use std::error::Error;

use baton_merge::{
    Arena, Release,
    predict::Apply,
    schema::kinds::GroupVersionKind,
    server::{Resource, Resources},
};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    // As a server of Kubernetes 1.36.3 serves it under /openapi/v3/apis/apps/v1.
    let document = serde_json::from_str(include_str!("../tests/data/openapi/apps__v1.json"))?;
    let resources = Resources::from_openapi(&document)?;
    let deployments =
        resources.get(&GroupVersionKind::new("apps", "v1", "Deployment")).ok_or("not served")?;
    let live: Value = serde_norway::from_str(include_str!("data/deployment.yaml"))?;
    let mut arena = Arena::new();

    reconcile(deployments, &arena, "nothing happened", &live, &intent())?;

    arena.reset();
    let mut scaled = live.clone();
    scaled["spec"]["replicas"] = json!(9);
    reconcile(deployments, &arena, "the autoscaler wants more, and owns the number", &scaled, &intent())?;

    arena.reset();
    let mut edited = live.clone();
    edited["spec"]["template"]["spec"]["containers"][0]["image"] = json!("registry.example/shop:hotfix");
    reconcile(deployments, &arena, "somebody has changed our image", &edited, &intent())?;

    arena.reset();
    let mut less = intent();
    if let Some(metadata) = less["metadata"].as_object_mut() {
        metadata.remove("labels");
    }
    reconcile(deployments, &arena, "we don't set a label any more", &live, &less)?;
    Ok(())
}

/// What the controller wants: what it cares about and nothing else. Not `replicas`.
fn intent() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default", "labels": {"app": "web"}},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{
                    "name": "app", "image": "registry.example/shop:1", "ports": [{"containerPort": 8080}],
                }]},
            },
        },
    })
}

fn reconcile<'a>(
    deployments: Resource<'a>,
    arena: &'a Arena,
    story: &str,
    live: &'a Value,
    intent: &'a Value,
) -> Result<(), Box<dyn Error>> {
    let apply = Apply {
        manager: "shop-operator",
        force: true,
        subresource: "",
        now: "2026-01-02T03:04:05Z".parse()?,
        release: Release::new(36, 3),
    };
    // The cheap question first. Where its answer isn't yes, a prediction tells what the write is for.
    if deployments.is_noop(live, intent, apply) {
        println!("skip   {story}");
        return Ok(());
    }
    let prediction = deployments.predict(arena, Some(live), intent, apply)?;
    let difference = prediction.comparison;
    println!("{:<5}  {story}", if prediction.changed { "write" } else { "skip" });
    for (what, paths) in
        [("set", difference.modified), ("add", difference.added), ("drop", difference.removed)]
    {
        for path in paths.leaves(arena).paths(arena) {
            println!("       {what} {path}");
        }
    }
    Ok(())
}
