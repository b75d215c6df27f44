//! The annotation with the last intent of client-side `kubectl apply`, after `lastappliedmanager.go` and
//! `lastappliedupdater.go`.

use super::chain::Chain;
use crate::{
    Arena,
    fieldpath::FieldSet,
    value::{Dialect, Map, Value, go_json},
};

/// The only manager with this annotation.
pub(super) const MANAGER: &str = "kubectl";

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The limit of all annotations of an object together, in bytes.
const MAX_ANNOTATIONS: usize = 256 * 1024;

fn annotations(object: Value<'_>) -> Option<Map<'_>> {
    object.at(&["metadata", "annotations"])?.as_map()
}

/// The annotations as the server's accessor reads them: none if one isn't a string; null is empty.
fn texts(object: Value<'_>) -> Option<Map<'_>> {
    annotations(object)
        .filter(|map| map.members().iter().all(|(_, value)| matches!(value, Value::String(_) | Value::Null)))
}

fn text_of(object: Value<'_>) -> Option<&str> {
    texts(object)?.get(ANNOTATION)?.as_str().filter(|text| !text.is_empty())
}

/// The fields of the last client-side apply that are still live: `kubectl` may change these without force.
pub(super) fn still_live<'a>(chain: &Chain<'_, 'a>, live: Value<'a>) -> Option<FieldSet<'a>> {
    let arena = chain.context.arena;
    let last = Value::from_text(arena, text_of(live)?).ok()?;
    if last.get("apiVersion").and_then(|version| version.as_str()) != Some(chain.api_version)
        || last.get("kind").and_then(|kind| kind.as_str()) != Some(chain.kind)
    {
        return None;
    }
    let (last, live) = (chain.fitting(last)?, chain.fitting(live)?);
    let comparison = last.compare(&live).ok()?;
    let set = last.to_set().ok()?;
    Some(
        set.difference(arena, comparison.modified)
            .difference(arena, comparison.added)
            .difference(arena, comparison.removed),
    )
}

/// Updates the annotation with the intent, if the object has it.
pub(super) fn updated<'a>(arena: &'a Arena, object: Value<'a>, intent: Value<'a>) -> Value<'a> {
    let (Some(_), Some(annotations)) = (text_of(object), texts(object)) else { return object };
    let intent = without_annotation(arena, intent);
    let mut text = String::new();
    go_json(&mut text, &intent, Dialect::Standard);
    text.push('\n');
    let strings = coerced(arena, annotations);
    let with = strings.with(arena, ANNOTATION, Some(Value::String(arena.copy_text(&text))));
    let size: usize =
        with.members().iter().map(|(name, value)| name.len() + value.as_str().map_or(0, str::len)).sum();
    let kept = if size > MAX_ANNOTATIONS { strings.with(arena, ANNOTATION, None) } else { with };
    object.with(arena, &["metadata", "annotations"], Some(Value::Map(kept)))
}

/// The intent without the annotation; without all annotations if they can't be read.
fn without_annotation<'a>(arena: &'a Arena, intent: Value<'a>) -> Value<'a> {
    let kept = texts(intent).map(|map| Value::Map(coerced(arena, map).with(arena, ANNOTATION, None)));
    intent.with(arena, &["metadata", "annotations"], kept)
}

fn coerced<'a>(arena: &'a Arena, map: Map<'a>) -> Map<'a> {
    let mut members = arena.vec_with_capacity(map.len());
    members.extend(
        map.members()
            .iter()
            .map(|(name, value)| (*name, if value.is_null() { Value::String("") } else { *value })),
    );
    Map::of_sorted(members.into_bump_slice())
}
