//! Fields and conditions of objects, as controllers read and write them.

use baton_merge::{Arena, value};
use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::{selector::LabelSelector, types};

/// The value at a JSON pointer without escapes. Controllers read all objects in every pass, and [`Value::pointer`] copies
/// each name.
fn at<'v>(object: &'v Value, pointer: &str) -> Option<&'v Value> {
    pointer.split('/').skip(1).try_fold(object, |value, name| value.get(name))
}

/// The text at a JSON pointer, or an empty one.
pub(crate) fn text<'v>(object: &'v Value, pointer: &str) -> &'v str {
    at(object, pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The integer at a JSON pointer, or 0.
pub(super) fn int(object: &Value, pointer: &str) -> i64 {
    at(object, pointer).and_then(Value::as_i64).unwrap_or_default()
}

/// The items of the list at a JSON pointer.
pub(crate) fn items<'v>(object: &'v Value, pointer: &str) -> &'v [Value] {
    at(object, pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn metadata<'v>(object: &'v Value, field: &str) -> Option<&'v Value> {
    object.get("metadata")?.get(field)
}

fn identity<'v>(object: &'v Value, field: &str) -> &'v str {
    metadata(object, field).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn name(object: &Value) -> &str {
    identity(object, "name")
}

pub(crate) fn namespace(object: &Value) -> &str {
    identity(object, "namespace")
}

pub(super) fn uid(object: &Value) -> &str {
    identity(object, "uid")
}

pub(super) fn is_deleted(object: &Value) -> bool {
    metadata(object, "deletionTimestamp").is_some()
}

pub(super) fn has_finalizer(object: &Value, finalizer: &str) -> bool {
    items(object, "/metadata/finalizers").iter().any(|own| own == finalizer)
}

pub(super) fn owners(object: &Value) -> &[Value] {
    metadata(object, "ownerReferences").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The owner reference with `controller: true`.
pub(super) fn controller(object: &Value) -> Option<&Value> {
    owners(object).iter().find(|owner| owner["controller"] == true)
}

pub(super) fn is_controlled_by(object: &Value, owner: &Value) -> bool {
    controller(object).is_some_and(|reference| text(reference, "/uid") == uid(owner))
}

/// The owner reference of a controller.
pub(super) fn reference_to(owner: &Value) -> Value {
    json!({
        "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": name(owner), "uid": uid(owner),
        "controller": true, "blockOwnerDeletion": true,
    })
}

/// Whether a selector matches labels.
pub(crate) fn selects(selector: Option<&Value>, labels: Option<&Value>) -> bool {
    // The fast path: nearly every mismatch is found by `matchLabels`.
    let mut wanted = selector.and_then(|selector| selector["matchLabels"].as_object()).into_iter().flatten();
    if wanted.any(|(name, value)| labels.and_then(|labels| labels.get(name)) != Some(value)) {
        return false;
    }
    let arena = Arena::new();
    let read = |json: Option<&Value>| {
        json.and_then(|json| value::Value::from_text(&arena, arena.copy_text(&json.to_string())).ok())
    };
    let labels = read(labels);
    LabelSelector::from_object(read(selector))
        .is_ok_and(|selector| selector.matches(labels.and_then(|labels| labels.as_map())))
}

/// An integer, or a percentage of the whole.
pub(super) fn scaled(amount: Option<&Value>, whole: i64, rounds_up: bool) -> i64 {
    match amount {
        Some(Value::String(text)) => {
            let percent: i64 = text.strip_suffix('%').and_then(|text| text.parse().ok()).unwrap_or_default();
            let hundredfold = percent.saturating_mul(whole);
            if rounds_up { hundredfold.saturating_add(99) / 100 } else { hundredfold / 100 }
        }
        Some(amount) => amount.as_i64().unwrap_or_default(),
        None => 0,
    }
}

pub(super) fn condition<'v>(object: &'v Value, kind: &str) -> Option<&'v Value> {
    items(object, "/status/conditions").iter().find(|condition| condition["type"] == kind)
}

pub(crate) fn is_ready(pod: &Value) -> bool {
    condition(pod, "Ready").is_some_and(|ready| ready["status"] == "True")
}

/// Whether a pod counts as a replica: it has neither ended nor been deleted.
pub(crate) fn is_active(pod: &Value) -> bool {
    !matches!(text(pod, "/status/phase"), "Succeeded" | "Failed") && !is_deleted(pod)
}

/// The names of the claims that a pod uses.
pub(super) fn claims_of(pod: &Value) -> impl Iterator<Item = String> {
    items(pod, "/spec/volumes").iter().filter_map(|volume| match volume.get("ephemeral") {
        Some(_) => Some(format!("{}-{}", name(pod), text(volume, "/name"))),
        None => volume["persistentVolumeClaim"]["claimName"].as_str().map(str::to_owned),
    })
}

/// A pod of an owner's template, without a name.
pub(super) fn pod_of(owner: &Value, template: &Value) -> Value {
    let mut metadata = json!({"namespace": namespace(owner), "ownerReferences": [reference_to(owner)]});
    for part in ["labels", "annotations", "finalizers"] {
        if let Some(value) = template["metadata"].get(part) {
            metadata[part] = value.clone();
        }
    }
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]})
}

pub(super) fn replicas(object: &Value) -> i64 {
    object.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(1)
}

/// The hash of a template, of the length and the letters of the real one, which depends on how Go prints the template.
pub(super) fn hash(template: &Value, collisions: i64) -> String {
    const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
    let text = format!("{template}{collisions}");
    let number =
        Sha256::digest(text).iter().take(4).fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
    let letter = |digit: u8| LETTERS.get(usize::from(digit) % LETTERS.len()).copied().map_or('x', char::from);
    number.to_string().bytes().map(letter).collect()
}

/// A timestamp as JSON.
pub(super) fn time(now: Timestamp) -> Value {
    types::second_time(now).into()
}

/// Sets a condition. `lastTransitionTime` changes with the status only.
pub(crate) fn set_condition(conditions: &mut Vec<Value>, mut condition: Value, now: Timestamp) {
    let live = conditions.iter_mut().find(|live| live["type"] == condition["type"]);
    condition["lastTransitionTime"] = match &live {
        Some(live) if live["status"] == condition["status"] => live["lastTransitionTime"].clone(),
        _ => time(now),
    };
    match live {
        Some(live) => *live = condition,
        None => conditions.push(condition),
    }
}
