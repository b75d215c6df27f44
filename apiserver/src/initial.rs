//! The objects of every cluster: namespaces and priority classes. They are stored without a write, so that reads are served
//! before any schema is unpacked.

use baton_merge::{Arena, server::Order, value::Value};
use serde_json::json;

use crate::{
    kinds, metadata, priorities,
    server::{RequestTarget, Server},
    store::{Draft, Owners, Record},
    types,
};

const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// Stores the objects, as the API server itself makes them.
pub(crate) fn store(server: &Server) {
    for name in NAMESPACES {
        let object = json!({
            "metadata": {"labels": {"kubernetes.io/metadata.name": name}},
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Active"},
        });
        let fields = json!({"f:metadata": {"f:labels": {".": {}, "f:kubernetes.io/metadata.name": {}}}});
        store_one(server, ("", "Namespace"), name, &object, &fields);
    }
    for (name, value, description) in kinds::SYSTEM_CLASSES {
        let object = json!({
            "metadata": {"generation": 1},
            "value": value, "description": description, "preemptionPolicy": priorities::PREEMPTION_POLICY,
        });
        let fields = json!({"f:description": {}, "f:preemptionPolicy": {}, "f:value": {}});
        store_one(server, ("scheduling.k8s.io", "PriorityClass"), name, &object, &fields);
    }
}

fn store_one(
    server: &Server,
    (group, kind): (&str, &str),
    name: &str,
    object: &serde_json::Value,
    fields: &serde_json::Value,
) {
    let Some(resource) = server.registry().of_kind(group, "v1", kind).cloned() else { return };
    let now = server.now();
    let owners = json!([{
        "manager": "kube-apiserver", "operation": "Update", "apiVersion": resource.gvk.api_version(),
        "time": types::second_time(now), "fieldsType": "FieldsV1", "fieldsV1": fields,
    }]);
    let target = RequestTarget {
        resource,
        namespace: String::new(),
        name: name.to_owned(),
        subresource: String::new(),
    };
    let arena = Arena::new();
    let Ok(object) = Value::from_json(&arena, object) else { return };
    let object = metadata::for_create(&arena, object, &target, now);
    let owners = owners.to_string();
    let stored_version = &target.resource.storage_version;
    let draft = Draft { object, owners: Owners::Text(&owners), order: Order::Set, stored_version };
    // There are no other writers yet.
    let _ = server.store.put(&target.resource.storage, target.key(), None, &Record::write(&draft, 0));
}

#[cfg(test)]
mod tests {
    use kube::{
        Api,
        api::{DynamicObject, PostParams},
        core::{ApiResource, GroupVersionKind},
    };
    use serde_json::Value;

    use super::*;
    use crate::ApiServer;

    /// An object without the fields that always differ.
    fn comparable(object: &DynamicObject) -> Value {
        let mut object = serde_json::to_value(object).unwrap();
        let metadata = object["metadata"].as_object_mut().unwrap();
        for name in ["name", "uid", "resourceVersion", "creationTimestamp"] {
            metadata.remove(name);
        }
        metadata["managedFields"][0]["time"] = Value::Null;
        if let Some(label) = metadata.get_mut("labels") {
            label["kubernetes.io/metadata.name"] = Value::Null;
        }
        object
    }

    #[tokio::test]
    async fn they_are_what_a_write_makes() {
        let server = ApiServer::builder().start().unwrap();
        for (group, kind, name) in
            [("", "Namespace", "default"), ("scheduling.k8s.io", "PriorityClass", "system-node-critical")]
        {
            let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind));
            let objects: Api<DynamicObject> = Api::all_with(server.client(), &resource);
            let initial = objects.get(name).await.unwrap();
            let mut made = DynamicObject::new("made", &resource);
            for field in
                ["value", "description"].into_iter().filter(|field| initial.data[field] != Value::Null)
            {
                made.data[field] = initial.data[field].clone();
            }
            let author =
                PostParams { field_manager: Some("kube-apiserver".to_owned()), ..PostParams::default() };
            // Validation refuses other classes with such values.
            if made.data["value"] != Value::Null {
                made.data["value"] = json!(1);
            }
            let made = comparable(&objects.create(&author, &made).await.unwrap());
            let mut initial = comparable(&initial);
            if initial.get("value").is_some() {
                initial["value"] = json!(1);
            }
            assert_eq!(initial, made);
        }
    }
}
