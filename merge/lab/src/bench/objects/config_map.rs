//! A `ConfigMap` with a thousand keys, of which one team applies most and another the rest.

use serde_json::{Map, Value, json};

use super::{
    Types,
    story::{Other, Story},
};

pub(super) fn story() -> Story {
    Story {
        name: "ConfigMap, 1000 keys",
        types: Types::builtin("v1"),
        intent: config_map(0..950),
        applier: "baton",
        defaults: |_| {},
        others: vec![
            Other::Applies { manager: "platform-team", intent: config_map(950..1000) },
            Other::Updates {
                manager: "reloader",
                subresource: "",
                change: |object| {
                    object["metadata"]["annotations"]["reloader.example.com/checksum"] =
                        json!("9b74c9897bac770f");
                },
            },
        ],
        next: |intent| intent["data"]["setting.0500"] = json!("another value"),
        updater: "kubectl-edit",
        update: |object| {
            object["data"]["setting.0250"] = json!("edited");
            object["data"]["setting.new"] = json!("added");
        },
    }
}

fn config_map(keys: std::ops::Range<usize>) -> Value {
    let data: Map<_, _> = keys
        .map(|at| (format!("setting.{at:04}"), json!(format!("value {at} of the application's settings"))))
        .collect();
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "settings", "namespace": "store", "labels": {"app.kubernetes.io/name": "shop"}},
        "data": data,
    })
}
