//! Changes that the API server makes in an object after the merge, as far as they follow from the kind. The owners in `managedFields`
//! stay.
//!
//! | kind | change |
//! | --- | --- |
//! | any | Of a label or an annotation that is `null` the key stays, with an empty text. |
//! | Service | What its old type needed and its new one doesn't is dropped, `status.loadBalancer` too; and the settings of an affinity that is `None`. |
//! | Secret | `stringData` is copied to `data` and dropped. |

use base64::{Engine, prelude::BASE64_STANDARD};
use baton_merge::{
    Arena,
    fieldpath::{FieldSet, Path, PathElement::Field},
    predict::PredictedApply,
    server::{Resource, without_unused_affinity, without_what_the_type_lacks},
    value::{Map, Value},
};

const DATA: &str = "data";
const STRING_DATA: &str = "stringData";

/// A merged object as the server stores it, and the added fields that it doesn't store because their values are there already, by
/// another name.
pub(crate) fn stored_form<'a>(
    arena: &'a Arena,
    resource: Resource<'_>,
    live: Option<Value<'a>>,
    prediction: &mut PredictedApply<'a>,
) -> FieldSet<'a> {
    let merged = with_texts_in_metadata(arena, prediction.stored.object);
    prediction.stored.object = merged;
    match (resource.api_version(), resource.kind(), live) {
        ("v1", "Service", live) => {
            let stored = live.map_or(merged, |live| without_what_the_type_lacks(arena, merged, live));
            prediction.stored.object = without_unused_affinity(arena, stored);
            FieldSet::default()
        }
        ("v1", "Secret", live) => {
            let stored = with_string_data_in_data(arena, merged);
            prediction.stored.object = stored;
            let value = |object: Option<Value<'a>>, key| object.and_then(|object| object.at(&[DATA, key]));
            let changes = |key| value(Some(stored), key) != value(live, key);
            let texts = merged.get(STRING_DATA).and_then(|texts| texts.as_map()).unwrap_or_default();
            let copied = texts.members().iter().filter(|(key, _)| changes(key));
            let copied = copied.map(|(key, _)| Path::new(arena.list([Field(DATA), Field(key)])));
            let copied = FieldSet::of_paths(arena, copied);
            prediction.comparison.modified = prediction.comparison.modified.union(arena, copied);
            let is_there = |path: &Path<'a>| match path.elements() {
                [Field(STRING_DATA), Field(key)] => !changes(key),
                _ => false,
            };
            let added = prediction.comparison.added.leaves(arena).paths(arena);
            FieldSet::of_paths(arena, added.into_iter().filter(is_there))
        }
        _ => FieldSet::default(),
    }
}

fn with_texts_in_metadata<'a>(arena: &'a Arena, object: Value<'a>) -> Value<'a> {
    ["labels", "annotations"].into_iter().fold(object, |object, name| {
        let path = ["metadata", name];
        match object.at(&path) {
            Some(Value::Map(texts)) if texts.members().iter().any(|(_, text)| text.is_null()) => {
                let text = |text: Value<'a>| if text.is_null() { Value::String("") } else { text };
                let members = texts.members().iter().map(|(key, value)| (*key, text(*value)));
                object.with(arena, &path, Some(Value::Map(Map::new(arena, members))))
            }
            _ => object,
        }
    })
}

fn with_string_data_in_data<'a>(arena: &'a Arena, secret: Value<'a>) -> Value<'a> {
    let Some(texts) = secret.get(STRING_DATA).and_then(|texts| texts.as_map()) else { return secret };
    let data = secret.get(DATA).and_then(|data| data.as_map()).unwrap_or_default();
    let copied = texts.members().iter().filter_map(|(key, text)| {
        let encoded = BASE64_STANDARD.encode(text.as_str()?);
        Some((*key, Value::String(arena.copy_text(&encoded))))
    });
    let kept = data.members().iter().copied().filter(|(key, _)| !texts.contains(key));
    let data = Map::new(arena, kept.chain(copied));
    let secret = secret.with(arena, &[STRING_DATA], None);
    if data.is_empty() { secret } else { secret.with(arena, &[DATA], Some(Value::Map(data))) }
}
