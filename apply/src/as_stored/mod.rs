//! Predictions in the server's spelling.

mod required;

use baton_merge::{Arena, fieldpath::Path};
use kube::core::{
    Status,
    response::{StatusCause, StatusDetails},
};
use serde_json::{Value, json};

use self::required::missing;
use crate::{
    ApiError, Change, FieldPath, LiveObject, ManagedFieldsEntry, Obstacle, Prediction, PreparedWrite,
    Request, Schemas, Target, find::Finder, spelling, types::Types,
};

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

impl Schemas {
    /// A predicted apply as the server would store it. Quantities are canonical, and what the server doesn't store isn't in the object: an
    /// apply in another spelling doesn't [change](crate::PredictedObject::changed) anything. One that leaves out a field which the server
    /// requires is [refused](Prediction::Refused).
    ///
    /// For showing the effects of an apply. For sending, spell the intent with [`minimal`](Self::minimal).
    pub fn as_stored(&self, mut write: PreparedWrite, live: Option<&LiveObject>) -> PreparedWrite {
        let Request { target, change: Change::Apply { body, .. } } = &write.request else { return write };
        let kind = &target.resource;
        let (None, Ok(resource), Some((types, of))) =
            (target.subresource, self.resource(kind), self.type_of(kind))
        else {
            return write;
        };
        let is_custom = resource.is_custom();
        let predicted = match &mut write.prediction {
            Ok(Prediction::Stored(predicted)) => predicted,
            Ok(Prediction::Conflicts(conflicts)) if !is_custom => {
                let respelled = live.and_then(|live| self.respelled(target, live, body));
                for conflict in &mut conflicts.fields {
                    conflict.is_respelled = respelled.iter().flatten().any(|path| *path == conflict.path);
                }
                return write;
            }
            _ => return write,
        };
        let spelled = |object: &LiveObject| spelled(object.as_json().ok()?.clone(), types, of, is_custom);
        let Some((mut object, owners)) = spelled(&predicted.object) else { return write };
        let before = live.and_then(spelled).map(|(object, _)| object);
        let lacking = missing(types, of, &object, before.as_ref());
        predicted.changed &= before.as_ref() != Some(&object)
            || live.is_none_or(|live| fields_of_managers(live) != fields_of_managers(&predicted.object));
        object["metadata"]["managedFields"] = owners;
        if let Some(Ok(live)) = live.filter(|_| !is_custom).map(LiveObject::as_json) {
            add_nulls(&mut object, live);
        }
        if let Ok(object) = LiveObject::from_json(object) {
            predicted.object = object;
        }
        if !lacking.is_empty() {
            let error = refusal(&write.request.target, &lacking);
            let message = Obstacle::explain(error.to_string(), &error, &write, live);
            write.prediction = Ok(Prediction::Refused(message));
        }
        write
    }

    /// The fields of an intent that have their live values, if it is spelled as the server does.
    fn respelled(&self, target: &Target, live: &LiveObject, intent: &Value) -> Option<Vec<FieldPath>> {
        let arena = Arena::new();
        let spelled = LiveObject::from_json(self.minimal(&target.resource, intent.clone())).ok()?;
        let (ours, theirs) =
            (Finder::new(spelled.value(&arena).ok()?), Finder::new(live.value(&arena).ok()?));
        let paths = self.fields_in(&arena, target, &spelled).ok()?.paths(&arena);
        let have_equal = |path: &Path<'_>| ours.find(*path) == theirs.find(*path);
        Some(paths.into_iter().filter(have_equal).map(FieldPath::from).collect())
    }
}

/// An object of a type as the server stores it, and its `managedFields`. Of a custom resource the server spells the metadata alone.
fn spelled(mut object: Value, types: &Types, of: &str, is_custom: bool) -> Option<(Value, Value)> {
    let owners = object.get_mut("metadata")?.as_object_mut()?.remove("managedFields").unwrap_or_default();
    if is_custom {
        object["metadata"] = spelling::stored(object["metadata"].take(), types, OBJECT_META);
    } else {
        object = spelling::stored(object, types, of);
    }
    Some((object, owners))
}

/// Adds what a server shows as `null`, such as the rules of a role that has none.
fn add_nulls(object: &mut Value, live: &Value) {
    let (Value::Object(members), Value::Object(live)) = (object, live) else { return };
    for (name, live) in live {
        match members.get_mut(name) {
            Some(own) => add_nulls(own, live),
            None if live.is_null() => drop(members.insert(name.clone(), Value::Null)),
            None => {}
        }
    }
}

/// The entries of `managedFields` in their order, without their times.
fn fields_of_managers(object: &LiveObject) -> Vec<Value> {
    let arena = Arena::new();
    let entry = |entry: ManagedFieldsEntry<'_>| {
        let fields = entry.fields(&arena).map(|fields| fields.to_fields_v1());
        json!([entry.manager(), entry.operation(), entry.api_version(), entry.subresource(), fields])
    };
    object.managed_fields().into_iter().map(entry).collect()
}

/// The server's response to a write of an object that lacks these fields, unless a webhook sets them.
fn refusal(target: &Target, lacking: &[String]) -> ApiError {
    const REQUIRED: &str = "Required value";
    let text = |field: &String| format!("{field}: {REQUIRED}");
    let texts = match lacking {
        [field] => text(field),
        fields => format!("[{}]", fields.iter().map(text).collect::<Vec<_>>().join(", ")),
    };
    let cause = |field: &String| StatusCause {
        reason: "FieldValueRequired".to_owned(),
        message: REQUIRED.to_owned(),
        field: field.clone(),
    };
    let details = StatusDetails {
        name: target.name.clone(),
        group: target.resource.group.clone(),
        kind: target.resource.kind.clone(),
        uid: String::new(),
        causes: lacking.iter().map(cause).collect(),
        retry_after_seconds: 0,
    };
    let message = format!("{}, unless a webhook sets it", target.invalid(&texts));
    ApiError::Response(Box::new(Status {
        code: 422,
        reason: "Invalid".to_owned(),
        message,
        details: Some(details),
        ..Status::default()
    }))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, LazyLock};

    use baton_merge::{Release, server::Resources};
    use jiff::Timestamp;
    use k8s_openapi::api::apps::v1::Deployment;
    use kube::core::{ApiResource, GroupVersionKind};

    use super::*;
    use crate::{Guard, PredictedObject, openapi::document_path};

    /// A kind, with its schemas.
    struct Kind(ApiResource, Schemas);

    impl Kind {
        fn of(resource: ApiResource, document: &Value) -> Self {
            let resources = Arc::new(Resources::from_openapi(document).unwrap());
            let schemas = Schemas::new(Release::new(36, 3), [(document_path(&resource), resources)]);
            Self(resource, schemas.with_types([Arc::new(Types::from_document(document))]))
        }

        fn deployments() -> &'static Self {
            static KIND: LazyLock<Kind> = LazyLock::new(|| {
                let document = baton_openapi::document("apis/apps/v1").unwrap();
                let document = serde_json::from_str(&document.text()).unwrap();
                Kind::of(ApiResource::erase::<Deployment>(&()), &document)
            });
            &KIND
        }

        fn predict(&self, live: Option<&LiveObject>, manager: &'static str, intent: &Value) -> Prediction {
            let Self(resource, schemas) = self;
            let mut intent = intent.clone();
            intent["apiVersion"] = resource.api_version.as_str().into();
            intent["kind"] = resource.kind.as_str().into();
            intent["metadata"]["name"] = "web".into();
            let request = Request::apply(
                Target::new(resource.clone(), None, "web"),
                intent,
                manager,
                false,
                &Guard::Nothing,
            );
            let now = Timestamp::from_second(1_767_323_045).unwrap();
            let write = schemas.prepare_exact(request, live, now);
            schemas.as_stored(write, live).prediction.unwrap()
        }

        fn stored(
            &self,
            live: Option<&LiveObject>,
            manager: &'static str,
            intent: &Value,
        ) -> PredictedObject {
            match self.predict(live, manager, intent) {
                Prediction::Stored(stored) => *stored,
                other => panic!("{other:?}"),
            }
        }

        fn applied(&self, live: Option<&LiveObject>, manager: &'static str, intent: &Value) -> LiveObject {
            self.stored(live, manager, intent).returned(live).unwrap()
        }
    }

    fn deployment(cpu: &Value, labels: &Value) -> Value {
        let app = json!({"name": "app", "image": "app:1", "resources": {"limits": {"cpu": cpu}}});
        json!({
            "metadata": {"labels": labels, "creationTimestamp": null},
            "spec": {"template": {"spec": {"containers": [app], "hostNetwork": false, "tolerations": []}}},
        })
    }

    #[test]
    fn an_apply_in_another_spelling_changes_nothing() {
        let kind = Kind::deployments();
        let live = kind.applied(None, "me", &deployment(&json!("1"), &json!({})));
        let spec =
            json!({"containers": [{"name": "app", "image": "app:1", "resources": {"limits": {"cpu": "1"}}}]});
        assert_eq!(live.get(&["spec", "template", "spec"]), Some(&spec));
        assert_eq!(live.get(&["metadata", "labels"]), None);

        let changed =
            |cpu: Value, labels: Value| kind.stored(Some(&live), "me", &deployment(&cpu, &labels)).changed;
        assert!(!changed(json!("1000m"), json!({})));
        assert!(!changed(json!(1.0), json!({})));
        assert!(changed(json!("1001m"), json!({})));
        assert!(changed(json!("1"), json!({"app": "web"})));
        let same = json!({"spec": {"template": {"spec": spec}}});
        assert!(kind.stored(Some(&live), "other", &same).changed, "it comes to own the fields");
    }

    #[test]
    fn a_conflict_about_equal_quantities_is_known() {
        let kind = Kind::deployments();
        let live = kind.applied(None, "me", &deployment(&json!("1"), &json!({})));
        for (cpu, expected) in [("1000m", true), ("2", false)] {
            let Prediction::Conflicts(conflicts) =
                kind.predict(Some(&live), "other", &deployment(&json!(cpu), &json!({})))
            else {
                panic!("another spelling is another value to the merge")
            };
            let respelled = conflicts.fields.iter().filter(|one| one.is_respelled);
            let respelled: Vec<_> = respelled.map(|one| one.path.as_str()).collect();
            let cpu = r#".spec.template.spec.containers[name="app"].resources.limits.cpu"#;
            assert_eq!(respelled.contains(&cpu), expected, "{conflicts}");
        }
    }

    #[test]
    fn an_item_that_keeps_only_what_another_manager_owns_is_refused_for_what_it_lacks() {
        let kind = Kind::deployments();
        let containers = |all: Value| json!({"spec": {"template": {"spec": {"containers": all}}}});
        let own = json!({"name": "app", "image": "app:1"});
        let live = kind.applied(None, "me", &containers(json!([own, {"name": "helper", "image": "b"}])));
        let live = {
            // Another manager that applies just the name.
            let mut json = live.as_json().unwrap().clone();
            let fields = json!({"f:spec": {"f:template": {"f:spec": {"f:containers": {r#"k:{"name":"helper"}"#: {".": {}, "f:name": {}}}}}}});
            let entry = json!({"manager": "legacy", "operation": "Update", "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
                "fieldsV1": fields, "time": "2026-01-02T03:04:05Z"});
            json["metadata"]["managedFields"].as_array_mut().unwrap().push(entry);
            LiveObject::from_json(json).unwrap()
        };
        let Prediction::Refused(message) = kind.predict(Some(&live), "me", &containers(json!([own]))) else {
            panic!("the container stays without an image")
        };
        assert_eq!(
            message,
            "Deployment.apps \"web\" is invalid: spec.template.spec.containers[1].image: Required value, unless a webhook sets it. Fields of other \
             managers are in the way: .spec.template.spec.containers[name=\"helper\"], owned by legacy"
        );
        let Prediction::Refused(message) = kind.predict(None, "me", &containers(json!([{"image": "app:1"}])))
        else {
            panic!("the container has no name")
        };
        assert!(message.contains("spec.template.spec.containers[0].name: Required value"), "{message}");
    }

    #[test]
    fn a_custom_resource_needs_what_its_schema_requires_and_is_stored_as_it_is_spelled() {
        let gvk = json!([{"group": "example.org", "version": "v1", "kind": "Thing"}]);
        let part = json!({"type": "object", "required": ["size", "mode"], "properties": {
            "size": {"type": "integer"}, "mode": {"type": "string", "default": ""}, "tags": {"type": "array", "items": {"type": "string"}},
        }});
        let document = json!({"openapi": "3.0.0", "components": {"schemas": {"org.example.v1.Thing": {
            "type": "object", "x-kubernetes-group-version-kind": gvk,
            "properties": {
                "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}, "spec": part,
            },
        }}}});
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("example.org", "v1", "Thing"));
        let kind = Kind::of(resource, &document);
        let live = kind.applied(None, "me", &json!({"spec": {"size": 0, "tags": []}}));
        assert_eq!(live.get(&["spec"]), Some(&json!({"size": 0, "tags": []})));
        let lacking = kind.predict(Some(&live), "me", &json!({"spec": {"tags": ["a"]}}));
        let Prediction::Refused(message) = lacking else { panic!("{lacking:?}") };
        assert_eq!(
            message,
            "Thing.example.org \"web\" is invalid: spec.size: Required value, unless a webhook sets it"
        );
    }
}
