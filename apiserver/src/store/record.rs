//! A stored object, as the text that clients get.
//!
//! The text has no `apiVersion` and `kind`, as in lists. Its `metadata` comes first, with `managedFields` and
//! `resourceVersion` before the rest, so that both can be removed or replaced without parsing.

use std::{
    fmt::Write as _,
    sync::{Arc, OnceLock},
};

use baton_merge::{
    Arena,
    server::{Order, Spelling, Stored},
    value::{Value, ValueError},
};
use serde::Deserialize;
use serde_json::{Value as Json, value::RawValue};

const START: &str = r#"{"metadata":{"#;
const MANAGED_FIELDS: &str = r#""managedFields":"#;
const VERSION: &str = r#""resourceVersion":""#;

/// An object to be stored.
pub(crate) struct Draft<'d, 'a> {
    pub(crate) object: Value<'a>,
    pub(crate) owners: Owners<'d>,
    pub(crate) order: Order,
    pub(crate) stored_version: &'d Arc<str>,
}

/// The `managedFields` of an object to be stored.
#[derive(Clone, Copy)]
pub(crate) enum Owners<'d> {
    /// Those after a write.
    Written(&'d Stored<'d>),
    /// Those of the live record.
    Kept(&'d Record),
    /// Those in this text.
    Text(&'d str),
}

#[derive(Clone, Debug)]
pub(crate) struct Record {
    text: Box<str>,
    pub(crate) version: u64,
    /// The order of names in its field sets.
    pub(crate) order: Order,
    /// The API version in which it was written, such as `apps/v1`.
    pub(crate) stored_version: Arc<str>,
    /// The offset of the version.
    version_at: u32,
    /// The parsed object, for callers that need it often.
    json: OnceLock<Json>,
}

impl Record {
    /// An object at a version; version 0 is an object that isn't stored.
    pub(crate) fn write(draft: &Draft<'_, '_>, version: u64) -> Self {
        let mut text = String::with_capacity(4096);
        text.push_str(START);
        let kept;
        let managed_fields = match draft.owners {
            Owners::Kept(record) => record.managed_fields(),
            Owners::Text(text) => text,
            Owners::Written(stored) => {
                kept = stored.managed_fields_text();
                &kept
            }
        };
        if !managed_fields.is_empty() {
            // Writing to a string can't fail.
            let _ = write!(text, "{MANAGED_FIELDS}{managed_fields},");
        }
        let version_at = text.len();
        if version > 0 {
            let _ = write!(text, "{VERSION}{version}\",");
        }
        let map = draft.object.as_map().unwrap_or_default();
        let metadata = map.get("metadata").and_then(|metadata| metadata.as_map()).unwrap_or_default();
        let own = ["managedFields", "resourceVersion"];
        write_members(&mut text, metadata.members(), &own);
        text.push('}');
        let top = map.members().iter().filter(|(name, _)| !["apiVersion", "kind", "metadata"].contains(name));
        for (name, value) in top {
            text.push(',');
            write_member(&mut text, name, value);
        }
        text.push('}');
        text.shrink_to_fit();
        let version_at = u32::try_from(version_at).unwrap_or_default();
        Self {
            text: text.into_boxed_str(),
            version,
            order: draft.order,
            stored_version: draft.stored_version.clone(),
            version_at,
            json: OnceLock::new(),
        }
    }

    /// Another object with the same owners.
    pub(crate) fn replaced(&self, object: Value<'_>, stored_version: &Arc<str>) -> Self {
        let draft = Draft { object, owners: Owners::Kept(self), order: self.order, stored_version };
        Self::write(&draft, self.version)
    }

    /// The same object at another version; version 0 is an object that isn't stored.
    pub(crate) fn at_version(&self, version: u64) -> Self {
        let at = self.version_at as usize;
        let rest = &self.text[at..];
        let end = VERSION.len() + self.version.to_string().len() + 2;
        let rest = if self.version > 0 { rest.get(end..).unwrap_or_default() } else { rest };
        let own = if version > 0 { format!("{VERSION}{version}\",") } else { String::new() };
        let text = [&self.text[..at], &own, rest].concat();
        Self {
            text: text.into_boxed_str(),
            version,
            order: self.order,
            stored_version: self.stored_version.clone(),
            version_at: self.version_at,
            json: OnceLock::new(),
        }
    }

    /// The text of `managedFields`; empty if absent.
    pub(crate) fn managed_fields(&self) -> &str {
        let from = START.len() + MANAGED_FIELDS.len();
        let to = (self.version_at as usize).saturating_sub(1);
        self.text.get(from..to).unwrap_or_default()
    }

    /// The order of its field sets, found by parsing them.
    pub(crate) fn spelling(&self) -> Spelling {
        let entries: Vec<Entry<'_>> = serde_json::from_str(self.managed_fields()).unwrap_or_default();
        let spelled = entries
            .iter()
            .filter_map(|entry| entry.fields)
            .map(|fields| Spelling::of_fields_v1(fields.get()));
        spelled.fold(Spelling::UNKNOWN, Spelling::and)
    }

    /// The object as text, without `apiVersion` and `kind`.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The parsed object without `apiVersion` and `kind`, cached.
    pub(crate) fn kept_json(&self) -> &Json {
        self.json.get_or_init(|| serde_json::from_str(&self.text).unwrap_or_default())
    }

    /// The object as text.
    pub(crate) fn json(&self, api_version: &str, kind: &str) -> String {
        format!(r#"{{"kind":"{kind}","apiVersion":"{api_version}",{}"#, &self.text[1..])
    }

    /// The object.
    ///
    /// # Errors
    /// Never, since the text was written here; but the parser's type has it.
    pub(crate) fn value<'a>(
        &self,
        arena: &'a Arena,
        api_version: &str,
        kind: &str,
    ) -> Result<Value<'a>, ValueError> {
        let bare = Value::from_text(arena, arena.copy_text(&self.text))?;
        let text = |text| Some(Value::String(arena.copy_text(text)));
        Ok(bare.with(arena, &["apiVersion"], text(api_version)).with(arena, &["kind"], text(kind)))
    }
}

#[derive(Deserialize)]
struct Entry<'t> {
    #[serde(rename = "fieldsV1", borrow)]
    fields: Option<&'t RawValue>,
}

fn write_members(text: &mut String, members: &[(&str, Value<'_>)], without: &[&str]) {
    for (name, value) in members.iter().filter(|(name, _)| !without.contains(name)) {
        write_member(text, name, value);
        text.push(',');
    }
    if text.ends_with(',') {
        text.pop();
    }
}

fn write_member(text: &mut String, name: &str, value: &Value<'_>) {
    Value::String(name).write_json(text);
    text.push(':');
    value.write_json(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_changes_its_version_and_nothing_else() {
        let arena = Arena::new();
        let text = r#"{"apiVersion":"v1","data":{"a":"b"},"kind":"ConfigMap","metadata":{"name":"x"}}"#;
        let object = Value::from_text(&arena, text).unwrap();
        let stored_version = "v1".into();
        let kept = Record {
            text: "{\"metadata\":{}}".into(),
            version: 0,
            order: Order::Set,
            stored_version,
            version_at: 13,
            json: OnceLock::new(),
        };
        let draft = Draft {
            object,
            owners: Owners::Kept(&kept),
            order: Order::Set,
            stored_version: &kept.stored_version,
        };
        let first = Record::write(&draft, 9);
        assert_eq!(first.text(), r#"{"metadata":{"resourceVersion":"9","name":"x"},"data":{"a":"b"}}"#);
        let later = first.at_version(10);
        assert_eq!(later.text(), r#"{"metadata":{"resourceVersion":"10","name":"x"},"data":{"a":"b"}}"#);
        assert_eq!(Record::write(&draft, 0).at_version(10).text(), later.text());
        let value = later.value(&arena, "v1", "ConfigMap").unwrap();
        assert_eq!(value.at(&["metadata", "resourceVersion"]), Some(Value::String("10")));
        assert_eq!(later.managed_fields(), "");
    }
}
