//! The digest of an object.

use std::{
    fmt,
    hash::{BuildHasher as _, Hash, Hasher as _},
    sync::LazyLock,
};

use foldhash::quality::{FoldHasher, RandomState};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use crate::LiveObject;

/// Outside of this process, no one can predict which values have the same hash.
static SEED: LazyLock<RandomState> = LazyLock::new(RandomState::default);

/// The digest of values, such as of an intent. Digests of another process are others.
pub fn digest_of(parts: impl Hash) -> u64 {
    SEED.hash_one(parts)
}

fn hasher() -> FoldHasher<'static> {
    SEED.build_hasher()
}

/// A digest of an object, which changes when something changes that a controller may read.
///
/// Left out is what differs between two versions without meaning: the kind, which lists leave out, the `resourceVersion`, the times
/// in `managedFields`, the owners of the status, and the times in the status (`lastUpdateTime`, `lastTransitionTime`). The order of
/// members has no meaning either.
///
/// Digests of another process are others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Digest {
    /// The digest of all but the status.
    pub but_status: u64,
    /// The digest of the spec, which is part of the first.
    pub spec: u64,
    /// The digest of the status.
    pub status: u64,
}

impl Digest {
    /// The digest of an object. Every change of an object counts that is nested too deep to be read.
    pub fn of(live: &LiveObject) -> Self {
        Self::of_text(live.as_text())
    }

    /// The digest without the status, for objects whose status isn't read.
    #[must_use]
    pub fn without_status(self) -> Self {
        Self { status: 0, ..self }
    }

    fn of_text(text: &str) -> Self {
        let read = serde_json::Deserializer::from_str(text).deserialize_map(WholeObject);
        read.unwrap_or_else(|_| Self::of_parts(text))
    }

    /// The digest of an object's parts as they are spelled.
    fn of_parts(text: &str) -> Self {
        let parts: Parts<'_> = serde_json::from_str(text).unwrap_or_default();
        let of = |part: Option<&RawValue>| digest_of(part.map(RawValue::get));
        Self { but_status: digest_of(text), spec: of(parts.spec), status: of(parts.status) }
    }
}

/// The parts of an object, as text.
#[derive(Default, Deserialize)]
struct Parts<'t> {
    #[serde(default, borrow)]
    spec: Option<&'t RawValue>,
    #[serde(default, borrow)]
    status: Option<&'t RawValue>,
}

/// Reads an object, member by member.
struct WholeObject;

impl<'de> Visitor<'de> for WholeObject {
    type Value = Digest;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Digest, A::Error> {
        let mut digest = Digest::default();
        while let Some((Name { digest: name, part, .. }, value)) = Part::Object.next_member(&mut members)? {
            match part {
                Some(Part::Status) => digest.status = value,
                Some(Part::Spec) => digest.spec = value,
                _ => {}
            }
            if part != Some(Part::Status) {
                digest.but_status = digest.but_status.wrapping_add(digest_of((name, value)));
            }
        }
        Ok(digest)
    }
}

/// The part of an object that a value is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Object,
    Metadata,
    /// `managedFields`, or an entry of it.
    ManagedFields,
    /// The fields in an entry of `managedFields`. A client may nest them as deep as it likes.
    Fields,
    /// The status, or a value in it.
    Status,
    Spec,
    Rest,
}

const STATUS: &str = "status";
const SUBRESOURCE: &str = "subresource";

impl Part {
    /// The part that a member is; none if it doesn't count.
    fn member(self, name: &str) -> Option<Self> {
        match (self, name) {
            (Self::Object, "metadata") => Some(Self::Metadata),
            (Self::Metadata, "managedFields") => Some(Self::ManagedFields),
            (Self::Object, STATUS) => Some(Self::Status),
            (Self::Object, "spec") => Some(Self::Spec),
            (Self::ManagedFields, "fieldsV1") => Some(Self::Fields),
            // The items of a list may come without kind and version.
            (Self::Object, "kind" | "apiVersion")
            | (Self::Metadata, "resourceVersion")
            | (Self::ManagedFields, "time")
            | (Self::Status, "lastUpdateTime" | "lastTransitionTime") => None,
            (Self::Status, _) => Some(Self::Status),
            _ => Some(Self::Rest),
        }
    }

    /// Reads up to the next member that counts; returns its name and the digest of its value.
    fn next_member<'de, A: MapAccess<'de>>(self, members: &mut A) -> Result<Option<(Name, u64)>, A::Error> {
        while let Some(name) = members.next_key_seed(NameOf(self))? {
            match name.part {
                Some(part) => return Ok(Some((name, members.next_value_seed(part)?))),
                None => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        Ok(None)
    }
}

impl<'de> DeserializeSeed<'de> for Part {
    type Value = u64;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<u64, D::Error> {
        match self {
            Self::Fields => <&'de RawValue>::deserialize(deserializer).map(|fields| digest_of(fields.get())),
            _ => deserializer.deserialize_any(self),
        }
    }
}

/// The kind of a value, without which `false` would have the digest of 0, and `null` that of an empty list.
#[derive(Hash)]
enum Kind {
    Null,
    Bool,
    Negative,
    Positive,
    Fraction,
    List,
}

impl<'de> Visitor<'de> for Part {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<u64, E> {
        Ok(digest_of((Kind::Bool, value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<u64, E> {
        Ok(digest_of((Kind::Negative, value)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<u64, E> {
        Ok(digest_of((Kind::Positive, value)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<u64, E> {
        Ok(digest_of((Kind::Fraction, value.to_bits())))
    }

    fn visit_str<E>(self, value: &str) -> Result<u64, E> {
        Ok(digest_of(value))
    }

    fn visit_unit<E>(self) -> Result<u64, E> {
        Ok(digest_of(Kind::Null))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<u64, A::Error> {
        let mut hasher = hasher();
        Kind::List.hash(&mut hasher);
        while let Some(item) = items.next_element_seed(self)? {
            // Entries that don't count are left out of the hash.
            if item != NOTHING {
                item.hash(&mut hasher);
            }
        }
        Ok(hasher.finish())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<u64, A::Error> {
        let (mut sum, mut is_of_status) = (1_u64, false);
        while let Some((Name { digest, is_subresource, .. }, value)) = self.next_member(&mut members)? {
            is_of_status |= is_subresource && value == digest_of(STATUS);
            // The order of members has no meaning.
            sum = sum.wrapping_add(digest_of((digest, value)));
        }
        Ok(if is_of_status { NOTHING } else { sum })
    }
}

/// The digest of an entry of `managedFields` that doesn't count.
const NOTHING: u64 = 0;

/// The name of a member.
struct Name {
    digest: u64,
    part: Option<Part>,
    is_subresource: bool,
}

/// Reads the name of a member of this part.
struct NameOf(Part);

impl<'de> DeserializeSeed<'de> for NameOf {
    type Value = Name;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Name, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for NameOf {
    type Value = Name;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_str<E>(self, name: &str) -> Result<Name, E> {
        Ok(Name {
            digest: digest_of(name),
            part: self.0.member(name),
            is_subresource: self.0 == Part::ManagedFields && name == SUBRESOURCE,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use serde_json::{Value, json};

    use super::*;

    fn object(change: impl FnOnce(&mut Value)) -> Value {
        let mut object = json!({
            "metadata": {"name": "web", "resourceVersion": "1", "managedFields": [
                {"manager": "baton", "operation": "Apply", "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:spec": {}}},
                {"manager": "kcm", "operation": "Update", "subresource": "status", "fieldsV1": {"f:status": {}}},
            ]},
            "spec": {"replicas": 3, "list": [1, 2], "paused": false},
            "status": {"replicas": 3, "conditions": [{"type": "Available", "lastUpdateTime": "2026-01-01T00:00:00Z"}]},
        });
        change(&mut object);
        object
    }

    /// Whether a change leaves the digests of the object without its status, and of its status, the same.
    fn same(change: impl FnOnce(&mut Value)) -> (bool, bool) {
        let of = |object: Value| Digest::of_text(&object.to_string());
        let (before, after) = (of(object(|_| {})), of(object(change)));
        (before.but_status == after.but_status, before.status == after.status)
    }

    #[test]
    fn kind_version_times_and_owners_of_the_status_do_not_count() {
        let changes: [fn(&mut Value); 5] = [
            |object| object["kind"] = json!("Deployment"),
            |object| object["metadata"]["resourceVersion"] = json!("2"),
            |object| object["metadata"]["managedFields"][0]["time"] = json!("2026-02-02T00:00:00Z"),
            |object| object["metadata"]["managedFields"].as_array_mut().unwrap().truncate(1),
            |object| object["status"]["conditions"][0]["lastUpdateTime"] = json!("2026-02-02T00:00:00Z"),
        ];
        for change in changes {
            assert_eq!(same(change), (true, true));
        }
    }

    #[test]
    fn every_other_change_counts() {
        let changes: [fn(&mut Value); 6] = [
            |object| {
                object["metadata"]["managedFields"][0]["fieldsV1"] = json!({"f:spec": {"f:replicas": {}}});
            },
            |object| object["metadata"]["managedFields"][1]["subresource"] = json!("scale"),
            |object| object["spec"]["replicas"] = json!(4),
            |object| object["spec"]["list"] = json!([2, 1]),
            |object| object["spec"]["paused"] = Value::Null,
            |object| object["spec"]["time"] = json!("2026-02-02T00:00:00Z"),
        ];
        for change in changes {
            assert_eq!(same(change), (false, true));
        }
    }

    #[test]
    fn values_of_other_kinds_are_other_values() {
        let values = [
            "null", "[]", "{}", "[null]", "[[]]", "[{}]", "false", "0", "true", "1", "1.0", "-1", "\"\"",
            "\"1\"",
        ];
        let others = [u64::MAX.to_string(), format!("[{}]", u64::MAX)];
        let all = values.into_iter().chain(others.iter().map(String::as_str));
        let digests: HashSet<u64> =
            all.map(|value| Digest::of_text(&format!(r#"{{"spec":{value}}}"#)).spec).collect();
        assert_eq!(digests.len(), values.len() + others.len());
    }

    #[test]
    fn a_status_counts_by_itself() {
        assert_eq!(same(|object| object["status"]["replicas"] = json!(4)), (true, false));
    }

    #[test]
    fn the_order_of_members_does_not_count() {
        let texts =
            [r#"{"spec": {"a": 1, "b": [2]}, "kind": "x"}"#, r#"{"kind":"x","spec":{"b":[2],"a":1}}"#];
        let [one, other] = texts.map(Digest::of_text);
        assert!(one == other && one != Digest::default());
    }

    /// `{"a":{"a":…}}`, this deep.
    fn nested(levels: usize, inner: &str) -> String {
        format!("{}{inner}{}", r#"{"f:a":"#.repeat(levels), "}".repeat(levels))
    }

    #[test]
    fn changes_of_an_object_with_owners_of_deep_fields_count() {
        let text = |version: u32, deep: &str, replicas: u32, ready: u32| {
            format!(
                r#"{{"metadata":{{"resourceVersion":"{version}","managedFields":[{{"manager":"x","fieldsV1":{deep}}}]}},
                    "spec":{{"replicas":{replicas}}},"status":{{"ready":{ready}}}}}"#
            )
        };
        for levels in [100, 200, 9_000] {
            let (deep, other) = (nested(levels, "{}"), nested(levels, r#"{"f:b":{}}"#));
            let before = Digest::of_text(&text(1, &deep, 3, 3));
            assert_eq!(Digest::of_text(&text(2, &deep, 3, 3)), before, "{levels} levels");
            let owners = Digest::of_text(&text(1, &other, 3, 3));
            assert!(owners.but_status != before.but_status && owners.spec == before.spec, "{levels} levels");
            let spec = Digest::of_text(&text(1, &deep, 4, 3));
            assert!(spec.but_status != before.but_status && spec.spec != before.spec, "{levels} levels");
            let status = Digest::of_text(&text(1, &deep, 3, 4));
            assert!(
                status.but_status == before.but_status && status.status != before.status,
                "{levels} levels"
            );
        }
    }

    #[test]
    fn every_change_of_an_object_that_cannot_be_read_counts() {
        let text = |spec: &str, status: &str| format!(r#"{{"spec":{spec},"status":{status}}}"#);
        let (deep, other) = (nested(200, "{}"), nested(200, "1"));
        let before = Digest::of_text(&text(&deep, "1"));
        assert_ne!(before, Digest::default());
        let spec = Digest::of_text(&text(&other, "1"));
        assert!(spec.but_status != before.but_status && spec.spec != before.spec);
        assert!(spec.status == before.status);
        let status = Digest::of_text(&text(&deep, "2"));
        assert!(status.spec == before.spec && status.status != before.status);
        assert_ne!(Digest::of_text("[1]"), Digest::of_text("[2]"), "whatever it is");
    }
}
