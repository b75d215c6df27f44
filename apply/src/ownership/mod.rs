//! The owners of a field, and how a field passes from one manager to another.
//!
//! Server-side apply has no request for that. This module builds the requests that do it. Each is guarded by the object that it
//! was made for:
//!
//! | to | send |
//! | --- | --- |
//! | hand a field over to another program without its value changing | [`hand_over`]: the live value, applied by a temporary manager, never forced; then apply your intent without the field |
//! | take a field back | your intent with the live value, forced, under [`Guard::Unchanged`]; both own it until you write another value |
//! | take a field out of an entry, with its value as it is: that of a temporary manager, or one that isn't yours | [`FieldRelease`]: a JSON patch of `managedFields` |
//! | change what an applier owns, some of which isn't stored | [`reown`]: the same for its whole entry |
//! | make what retired managers own yours | [`Migration`]: the same for whole entries, and for client-side apply |

mod absent;
mod intent;
mod migrate;
mod release;
mod reown;

use baton_merge::{
    Arena,
    fieldpath::{FieldSet, Path, PathElement},
    server::Operation,
    value::Value,
};

pub use absent::{absent_fields, fields_without_value};
pub(crate) use intent::name_of_item;
pub use intent::{IntentError, applied_fields};
use intent::{Keys, intent_of};
pub use migrate::{CLIENT_SIDE_APPLY, Migration, is_client_side_apply};
pub use release::FieldRelease;
pub use reown::reown;

pub use crate::secrecy::LAST_APPLIED;
use crate::{Guard, LiveObject, ManagedFieldsEntry, Request, Target};

/// An entry of an object's `managedFields` that owns a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The manager's name.
    pub manager: String,
    /// The operation by which it wrote.
    pub operation: Operation,
    /// The subresource that it wrote through, such as `scale`; absent for the object itself.
    pub subresource: Option<String>,
    /// The entry's index in `managedFields`.
    position: usize,
}

/// The owners of a field, in the order of `managedFields`. An entry that can't be read owns nothing. Of two entries with the
/// same identity the first owns nothing: the server reads them into a map, so the next write finds only the last one. A write
/// of a `scale` subresource leaves such entries behind.
///
/// ```
/// use baton_apply::{LiveObject, ownership::owners};
/// use baton_apply::fieldpath::{Path, PathElement::Field};
/// use serde_json::json;
///
/// let live = LiveObject::from_json(json!({"metadata": {"managedFields": [{
///     "manager": "kube-controller-manager", "operation": "Update", "subresource": "scale",
///     "fieldsV1": {"f:spec": {"f:replicas": {}}},
/// }]}}))?;
/// let replicas = owners(&live, Path::new(&[Field("spec"), Field("replicas")]));
/// assert_eq!(replicas[0].manager, "kube-controller-manager");
/// assert_eq!(replicas[0].subresource.as_deref(), Some("scale"));
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn owners(live: &LiveObject, path: Path<'_>) -> Vec<Owner> {
    owners_by(live, path, |fields| fields.contains(&path))
}

/// The owners of a field or of any field below it, as [`owners`] has them.
pub fn owners_within(live: &LiveObject, path: Path<'_>) -> Vec<Owner> {
    owners_by(live, path, |fields| {
        let below = path.elements().iter().fold(fields, |fields, element| fields.below(element));
        fields.contains(&path) || !below.is_empty()
    })
}

fn owners_by(live: &LiveObject, path: Path<'_>, owns: impl Fn(FieldSet<'_>) -> bool) -> Vec<Owner> {
    let arena = Arena::new();
    let owner = |entry: ManagedFieldsEntry<'_>| {
        entry.fields_text().filter(|fields| may_name(fields, path))?;
        owns(entry.fields(&arena)?).then(|| Owner {
            manager: entry.manager().to_owned(),
            operation: if entry.is_apply() { Operation::Apply } else { Operation::Update },
            subresource: entry.subresource().map(str::to_owned),
            position: entry.position,
        })
    };
    live.current_entries().into_iter().filter_map(owner).collect()
}

/// Whether the text of a field set contains the last field of a path. Most don't, and then needn't be read.
fn may_name(fields: &str, path: Path<'_>) -> bool {
    match path.elements().last() {
        Some(PathElement::Field(name)) => fields.contains(name) || fields.contains('\\'),
        _ => true,
    }
}

/// Hands a field over: applies its live value, as a temporary manager.
///
/// If a program of that name has applied other fields, they stay its own: an apply without them would release them.
///
/// Never forced: force would take the field over from a manager that has just written it. Afterwards two managers own the
/// field, so the first may leave it out of its intent without the server resetting it. The next manager that writes the field
/// with another value takes it over from both. If the path ends at an item of a list, the temporary manager owns only its keys or its value.
///
/// `None` if the object has no value there, and for what is inside an atomic list, which only has owners as a whole.
pub fn hand_over(
    target: Target,
    live: &LiveObject,
    path: Path<'_>,
    temporary: impl Into<String>,
) -> Option<Request> {
    let (arena, temporary) = (Arena::new(), temporary.into());
    let text = live.text_without_managed_fields();
    let value = Value::from_text(&arena, &text).ok()?;
    let is_inside_a_whole = |element: &PathElement<'_>| matches!(element, PathElement::Index(_));
    if path.elements().iter().any(is_inside_a_whole) {
        return None;
    }
    let is_scalar = !matches!(path.find(value)?, Value::Map(_) | Value::List(_));
    let (field, applied) = (FieldSet::of_paths(&arena, [path]), applied_fields(&arena, live, &temporary));
    if is_scalar && !applied.is_empty() {
        // An intent can't have those of its fields that aren't stored.
        let fields = applied.union(&arena, field);
        let request = reown(&target, live, temporary.clone(), &[&target.resource.api_version], fields);
        if request.is_some() {
            return request;
        }
    }
    let fields = applied.union(&arena, field);
    let intent = intent_of(&target, value, fields, FieldSet::default(), Keys::All);
    Some(Request::apply(target, intent, temporary, false, &Guard::Unchanged(live.revision())))
}

#[cfg(test)]
mod tests {
    use baton_merge::{
        fieldpath::PathElement::{Field, Index, Key, Value as Item},
        value::Value::{Int, String as Text},
    };
    use k8s_openapi::api::core::v1::Pod;
    use kube::core::ApiResource;
    use serde_json::{Value, json};

    use super::*;
    use crate::Change;

    #[test]
    fn what_a_program_of_the_temporary_managers_name_has_applied_stays_its_own() {
        let entry = json!({"manager": "temporary", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
            "fieldsV1": {"f:metadata": {"f:annotations": {"f:note": {}}}, "f:spec": {"f:hostNetwork": {}}}});
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "spec": {"priority": 3},
            "metadata": {"name": "web", "uid": "u", "resourceVersion": "42", "annotations": {"note": "x"}, "managedFields": [entry]},
        });
        let live = LiveObject::from_json(pod).unwrap();
        let target = Target::new(ApiResource::erase::<Pod>(&()), Some("shop".to_owned()), "web");
        let request = hand_over(target, &live, Path::new(&[Field("spec"), Field("priority")]), "temporary");
        let Change::Patch { operations, .. } = request.unwrap().change else {
            panic!("it releases the rest")
        };
        let fields = json!({"f:metadata": {"f:annotations": {"f:note": {}}}, "f:spec": {"f:hostNetwork": {}, "f:priority": {}}});
        let expected = json!([
            {"op": "test", "path": "/metadata/resourceVersion", "value": "42"},
            {"op": "replace", "path": "/metadata/managedFields/0/fieldsV1", "value": fields},
        ]);
        assert_eq!(serde_json::to_value(operations).unwrap(), expected);
    }

    /// The intent that hands this field of a pod over, without the pod's name and kind.
    fn applied(path: &[PathElement<'_>]) -> Option<Value> {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "web", "finalizers": ["example.com/a", "example.com/b"]},
            "spec": {"containers": [
                {"name": "log", "image": "log:1", "args": ["-v"]},
                {"name": "app", "image": "app:1", "ports": [
                    {"containerPort": 80, "protocol": "UDP", "name": "dns"},
                    {"containerPort": 80, "protocol": "TCP", "name": "web"},
                ]},
            ]},
        });
        let live = LiveObject::from_json(pod).unwrap();
        let target = Target::new(ApiResource::erase::<Pod>(&()), Some("shop".to_owned()), "web");
        let request = hand_over(target, &live, Path::new(path), "temporary")?;
        let Change::Apply { body, .. } = request.change else { panic!("it isn't an apply") };
        let mut sent = body.as_object().unwrap().clone();
        sent.retain(|name, _| !matches!(name.as_str(), "apiVersion" | "kind"));
        sent["metadata"].as_object_mut().unwrap().retain(|name, _| name == "finalizers");
        Some(json!(sent))
    }

    #[test]
    fn a_field_of_an_item_is_handed_over_with_the_keys_in_its_path() {
        let app = [("name", Text("app"))];
        let tcp = [("containerPort", Int(80)), ("protocol", Text("TCP"))];
        let path = [Field("spec"), Field("containers"), Key(&app), Field("ports"), Key(&tcp), Field("name")];
        let ports = json!([{"containerPort": 80, "protocol": "TCP", "name": "web"}]);
        let intent = json!({"metadata": {}, "spec": {"containers": [{"name": "app", "ports": ports}]}});
        assert_eq!(applied(&path), Some(intent));
        assert_eq!(
            applied(&path[..3]),
            Some(json!({"metadata": {}, "spec": {"containers": [{"name": "app"}]}}))
        );
    }

    #[test]
    fn an_item_of_a_set_is_handed_over_by_its_value() {
        let finalizer = |name| [Field("metadata"), Field("finalizers"), Item(Text(name))];
        let intent = json!({"metadata": {"finalizers": ["example.com/b"]}});
        assert_eq!(applied(&finalizer("example.com/b")), Some(intent));
        assert_eq!(applied(&finalizer("example.com/c")), None);
    }

    #[test]
    fn absent_fields_and_fields_inside_atomic_lists_are_not_handed_over() {
        let log = [("name", Text("log"))];
        let of_log = |last| [Field("spec"), Field("containers"), Key(&log), Field("args"), last];
        assert_eq!(applied(&of_log(Index(0))), None);
        assert_eq!(applied(&of_log(Index(0))[..4]).unwrap()["spec"]["containers"][0]["args"], json!(["-v"]));
        assert_eq!(applied(&[Field("spec"), Field("nodeName")]), None);
    }
}
