//! Moves an object from client-side to server-side apply, and shows the trap on the way: what client-side apply wrote has
//! an owner of its own, so leaving a field out doesn't remove it.
//!
//! ```text
//! cargo run -p baton-merge --example migrate
//! ```

use std::error::Error;

use baton_merge::{
    Arena, Release,
    fieldpath::{FieldSet, Path},
    predict::Apply,
    schema::kinds::GroupVersionKind,
    server::{Resource, Resources},
};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    let document = serde_json::from_str(include_str!("../tests/data/openapi/v1.json"))?;
    let resources = Resources::from_openapi(&document)?;
    let config_maps =
        resources.get(&GroupVersionKind::new("", "v1", "ConfigMap")).ok_or("it isn't served")?;

    let live = made_by_client_side_apply();
    show("Made by `kubectl apply`:", &live)?;

    println!("Server-side apply of {{color: red}} as `deployer` is refused:");
    let refused = apply(config_maps, &live, &json!({"color": "red"}), "deployer")?;
    println!("    {}\n", refused.err().unwrap_or_default());

    let Ok(live) = apply(config_maps, &live, &json!({"color": "red"}), "kubectl")? else {
        return Err("the annotation of client-side apply lets kubectl pass".into());
    };
    show("As `kubectl` it passes, but `size` stays, though the intent leaves it out:", &live)?;

    let live = as_applied(live);
    show("The old entry becomes an applier's, by a patch of managedFields:", &live)?;

    let Ok(live) = apply(config_maps, &live, &json!({"color": "red"}), "kubectl")? else {
        return Err("nobody else owns anything".into());
    };
    show("The same apply again, and `size` is gone:", &live)?;
    Ok(())
}

fn made_by_client_side_apply() -> Value {
    let last = r#"{"apiVersion":"v1","data":{"color":"blue","size":"3"},"kind":"ConfigMap","metadata":{"name":"style"}}"#;
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": "style", "namespace": "default", "uid": "5f8e",
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": last},
            "managedFields": [{
                "manager": "kubectl-client-side-apply", "operation": "Update", "apiVersion": "v1",
                "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1",
                "fieldsV1": {
                    "f:data": {".": {}, "f:color": {}, "f:size": {}},
                    "f:metadata": {"f:annotations": {
                        ".": {}, "f:kubectl.kubernetes.io/last-applied-configuration": {},
                    }},
                },
            }],
        },
        "data": {"color": "blue", "size": "3"},
    })
}

/// The object after the apply, or why it is refused.
fn apply(
    config_maps: Resource<'_>,
    live: &Value,
    data: &Value,
    manager: &str,
) -> Result<Result<Value, String>, Box<dyn Error>> {
    let intent =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "style"}, "data": data});
    let apply = Apply {
        manager,
        force: false,
        subresource: "",
        now: "2026-01-02T03:04:05Z".parse()?,
        release: Release::LATEST,
    };
    let arena = Arena::new();
    let prediction = config_maps.predict(&arena, Some(live), &intent, apply)?;
    Ok(if prediction.conflicts.is_empty() {
        Ok(prediction.stored.to_json())
    } else {
        Err(prediction.conflicts.to_string())
    })
}

/// What `kubectl apply --server-side` and client-go's `csaupgrade` do: one applier, who owns what both entries own.
fn as_applied(mut object: Value) -> Value {
    if let Some(entries) = object["metadata"]["managedFields"].as_array_mut() {
        let old = entries.iter().find(|entry| entry["manager"] == "kubectl-client-side-apply").cloned();
        entries.retain(|entry| entry["manager"] != "kubectl-client-side-apply");
        if let (Some(old), Some(new)) = (old, entries.first_mut()) {
            let arena = Arena::new();
            let set = |entry| FieldSet::from_fields_v1(&arena, entry).unwrap_or_default();
            let all = set(&old["fieldsV1"]).union(&arena, set(&new["fieldsV1"])).to_fields_v1();
            new["fieldsV1"] = all;
        }
    }
    object
}

/// Prints the data of a `ConfigMap`, and who owns each key.
fn show(title: &str, object: &Value) -> Result<(), Box<dyn Error>> {
    println!("{title}");
    let arena = Arena::new();
    let entries = object["metadata"]["managedFields"].as_array().map(Vec::as_slice).unwrap_or_default();
    for (key, value) in object["data"].as_object().into_iter().flatten() {
        let mut owners = Vec::new();
        for entry in entries {
            if FieldSet::from_fields_v1(&arena, &entry["fieldsV1"])?
                .contains(&Path::of_fields(&arena, ["data", key]))
            {
                owners.push(entry["manager"].as_str().unwrap_or_default());
            }
        }
        println!("    {:<16}{}", format!("{key}: {value}"), owners.join(", "));
    }
    println!();
    Ok(())
}
