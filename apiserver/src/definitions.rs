//! CRDs: the work of the server's own controllers, after which custom resources are served.

pub(crate) mod deletion;

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc};

use baton_merge::{
    Arena,
    server::Resources,
    value::{Map, Value},
};

use crate::{
    custom::{self, crd},
    options::{FieldValidation, WriteOptions},
    registry::{GroupVersion, Resource, ServedVersion},
    server::{RequestTarget, Server},
    status::Failure,
    store::Range,
    table::CustomColumn,
    types,
    write::{Existence, Input, OneWrite},
};

pub(crate) const GROUP: &str = "apiextensions.k8s.io";
pub(crate) const KIND: &str = "CustomResourceDefinition";

/// A CRD, changed as JSON.
pub(crate) fn changed<'a>(
    arena: &'a Arena,
    object: Value<'a>,
    change: impl FnOnce(&mut serde_json::Value),
) -> Value<'a> {
    let mut json = object.to_json();
    change(&mut json);
    let text = arena.copy_text(&json.to_string());
    // JSON always parses.
    Value::from_text(arena, text).unwrap_or(Value::Map(Map::default()))
}

/// Follows a write of a CRD: updates its status and serves it, or continues its deletion.
pub(crate) fn written(server: &Server, target: &RequestTarget) -> Result<(), Failure> {
    reconcile(server, target)?;
    accept_freed_names(server, &target.resource)?;
    // If it is being deleted, its objects may have become readable.
    deletion::clean_up(server, &target.name)
}

/// Accepts the names of waiting CRDs that no other CRD has any more.
pub(crate) fn accept_freed_names(server: &Server, definitions: &Arc<Resource>) -> Result<(), Failure> {
    for object in all(server, &definitions.storage) {
        let waits =
            object["status"].is_object() && object["spec"]["names"] != object["status"]["acceptedNames"];
        if let (true, Some(name)) = (waits, object["metadata"]["name"].as_str()) {
            let target = RequestTarget {
                resource: definitions.clone(),
                namespace: String::new(),
                name: name.to_owned(),
                subresource: String::new(),
            };
            reconcile(server, &target)?;
        }
    }
    Ok(())
}

/// All CRDs in the store, as JSON.
fn all(server: &Server, storage: &str) -> Vec<serde_json::Value> {
    let listed = server.store.list(storage, &Range::default());
    let objects = listed.map(|snapshot| snapshot.objects).unwrap_or_default();
    objects.iter().filter_map(|(_, record)| serde_json::from_str(record.text()).ok()).collect()
}

/// Updates the status of a CRD.
fn reconcile(server: &Server, target: &RequestTarget) -> Result<(), Failure> {
    let options = WriteOptions {
        dry_run: false,
        field_manager: "kube-apiserver".to_owned(),
        field_validation: FieldValidation::Ignore,
        force: false,
    };
    let target = RequestTarget { subresource: "status".to_owned(), ..target.clone() };
    let now = types::second_time(server.now());
    let others = all(server, &target.resource.storage);
    let others: Vec<_> =
        others.iter().filter(|other| other["metadata"]["name"] != target.name.as_str()).collect();
    let arena = Arena::new();
    let write =
        OneWrite { server, arena: &arena, target: &target, options: &options, existence: Existence::There };
    let written = write.run(&|live| {
        let live = live.ok_or_else(|| Failure::not_found(&target.resource, &target.name))?;
        Ok(Input::Update(changed(&arena, live, |json| {
            crd::reconcile(json, &others, &now);
        })))
    });
    match written {
        // It is already deleted.
        Err(failure) if failure.code == 404 => Ok(()),
        written => written.map(drop),
    }
}

/// Serves the CRDs in the store.
pub(crate) fn serve(server: &Server) {
    // A later writer sees the CRDs of an earlier one.
    let _one_by_one = server.serves_definitions();
    let registry = server.registry();
    let Some(definitions) = registry.resource(GROUP, "v1", "customresourcedefinitions") else { return };
    let mut groups: BTreeMap<String, BTreeMap<String, Vec<Arc<Resource>>>> = BTreeMap::new();
    for object in all(server, &definitions.storage).into_iter().filter(is_established) {
        // The merge core refuses only invalid CRDs, which validation has refused.
        let Ok(resources) = Resources::from_crd(&object) else { continue };
        let definition = Arc::new(custom::Definition::new(&object));
        let (object, resources) = (Arc::new(object), Arc::new(resources));
        for version in definition.versions.iter().filter(|version| version.served) {
            let json = version_of(&object, &version.name);
            let paths = json["selectableFields"].as_array().into_iter().flatten();
            let custom = ServedVersion {
                definition: definition.clone(),
                object: object.clone(),
                resources: resources.clone(),
                name: version.name.clone(),
                may_differ_from_stored: definition.versions.len() > 1
                    || object["metadata"]["generation"] != 1
                    || version.fills_in_status(),
                columns: columns(json),
                selectable: paths.filter_map(|field| field["jsonPath"].as_str().map(str::to_owned)).collect(),
            };
            let versions = groups.entry(definition.group.clone()).or_default();
            versions.entry(version.name.clone()).or_default().push(Arc::new(Resource::custom(custom)));
        }
    }
    let custom = groups.into_iter().map(|(group, versions)| {
        let mut versions: Vec<_> = versions
            .into_iter()
            .map(|(version, resources)| Arc::new(GroupVersion::new(group.clone(), version, resources)))
            .collect();
        versions.sort_by_key(|of| Reverse(custom::priority(&of.version)));
        (group, versions)
    });
    // In the order of upstream's `APIService` objects, which are named `v1.example.com`.
    let mut custom: Vec<(_, Vec<_>)> = custom.collect();
    custom.sort_by_cached_key(|(_, versions)| {
        versions.iter().map(|of| format!("{}.{}", of.version, of.group)).min()
    });
    let mut registry = (*registry).clone();
    registry.set_custom(custom);
    server.set_registry(registry);
}

fn version_of<'c>(object: &'c serde_json::Value, name: &str) -> &'c serde_json::Value {
    let versions = object["spec"]["versions"].as_array().into_iter().flatten();
    versions.into_iter().find(|version| version["name"] == name).unwrap_or(&serde_json::Value::Null)
}

/// The table columns of a version.
fn columns(version: &serde_json::Value) -> Vec<CustomColumn> {
    let arena = Arena::new();
    Value::from_json(&arena, version).map(CustomColumn::of_version).unwrap_or_default()
}

fn is_established(object: &serde_json::Value) -> bool {
    let mut conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions.any(|condition| condition["type"] == "Established" && condition["status"] == "True")
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
    use kube::{
        Api,
        api::{DeleteParams, Patch, PatchParams, PostParams},
    };
    use serde_json::json;

    use crate::ApiServer;

    #[tokio::test]
    async fn names_that_a_definition_frees_go_to_those_that_wait_for_them() {
        let server = ApiServer::builder().start().unwrap();
        let definitions: Api<CustomResourceDefinition> = Api::all(server.client());
        for (plural, kind, short) in [
            ("apples", "Apple", "ap"),
            ("plums", "Apple", "pl"),
            ("pears", "Pear", "ap"),
            ("figs", "Fig", "ap"),
        ] {
            let schema = json!({"openAPIV3Schema": {"type": "object"}});
            let definition = json!({"metadata": {"name": format!("{plural}.example.com")}, "spec": {
                "group": "example.com", "scope": "Namespaced",
                "names": {"plural": plural, "kind": kind, "shortNames": [short]},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}],
            }});
            let definition = serde_json::from_value(definition).unwrap();
            definitions.create(&PostParams::default(), &definition).await.unwrap();
        }
        let plurals = async || {
            let all = server.client().list_api_group_resources("example.com/v1").await.unwrap().resources;
            all.into_iter().map(|resource| resource.name).collect::<Vec<_>>()
        };
        let before = plurals().await;
        definitions.delete("apples.example.com", &DeleteParams::default()).await.unwrap();
        let after_deletion = plurals().await;
        let renamed = json!({"spec": {"names": {"shortNames": ["fg"]}}});
        definitions
            .patch("pears.example.com", &PatchParams::default(), &Patch::Merge(renamed))
            .await
            .unwrap();
        // The plural of a waiting CRD isn't served before all its names are accepted.
        assert_eq!(
            (before, after_deletion),
            (vec!["apples".to_owned()], vec!["figs".to_owned(), "plums".to_owned()])
        );
        assert_eq!(plurals().await, ["figs", "pears", "plums"]);
    }
}

#[cfg(test)]
mod versions_tests;
