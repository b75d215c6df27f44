//! Requests.

use baton_merge::{Arena, Release, fieldpath::FieldSet, value::Value};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::refusal::Refusal;

/// A request with its members as they are written. Absent isn't null.
#[derive(Default)]
pub(crate) struct Request<'a> {
    members: Vec<(String, &'a RawValue)>,
}

const EVERYWHERE: &[&str] = &["id", "do", "profile"];
const TYPE: &[&str] = &["schema", "openapi", "crd", "type"];
const UPDATE: &[&str] = &["live", "managers", "object", "version", "manager", "force", "ignored"];
const SERVER: &[&str] =
    &["openapi", "crd", "gvk", "subresource", "live", "object", "manager", "force", "now"];

impl<'a> Request<'a> {
    pub(crate) fn parse(line: &'a str) -> Result<Self, Refusal> {
        serde_json::from_str(line)
            .map(|Members(members)| Self { members })
            .map_err(|error| Refusal::bad_request(format!("the line is no JSON object: {error}")))
    }

    /// The verb, if the request has only members that belong to it.
    pub(crate) fn question(&self) -> Result<String, Refusal> {
        let question = self.text("do")?;
        let own: &[&[&str]] = match (&*question, self.has("gvk")) {
            ("validate", _) => &[TYPE, &["value", "duplicates"]],
            ("to_set", _) => &[TYPE, &["value"]],
            ("merge", _) => &[TYPE, &["live", "applied"]],
            ("compare", _) => &[TYPE, &["old", "new"]],
            ("remove" | "extract", _) => &[TYPE, &["value", "set"]],
            ("reconcile", _) => &[TYPE, &["set"]],
            ("apply" | "update", false) => &[TYPE, UPDATE],
            ("apply" | "update", true) => &[SERVER],
            (other, _) => return Err(Refusal::bad_request(format!("do: there is no {other:?}"))),
        };
        for (name, _) in &self.members {
            if !EVERYWHERE.contains(&name.as_str()) && !own.iter().any(|own| own.contains(&name.as_str())) {
                return Err(Refusal::bad_request(format!("{name}: no member of this request")));
            }
        }
        Ok(question)
    }

    pub(crate) fn release(&self) -> Result<Release, Refusal> {
        if !self.has("profile") {
            return Ok(Release::LATEST);
        }
        self.text("profile")?.parse().map_err(|error| Refusal::bad_request(format!("profile: {error}")))
    }

    pub(crate) fn has(&self, member: &str) -> bool {
        self.raw(member).is_some()
    }

    /// The member as it is written. Of two with one name the last counts.
    pub(crate) fn raw(&self, member: &str) -> Option<&'a str> {
        self.members.iter().rev().find(|(name, _)| name == member).map(|(_, raw)| raw.get())
    }

    fn required(&self, member: &str) -> Result<&'a str, Refusal> {
        self.raw(member).ok_or_else(|| Refusal::bad_request(format!("{member}: missing")))
    }

    /// A member that serde reads.
    pub(crate) fn read<T: Deserialize<'a>>(&self, member: &str) -> Result<T, Refusal> {
        serde_json::from_str(self.required(member)?)
            .map_err(|error| Refusal::bad_request(format!("{member}: {error}")))
    }

    /// A string; null counts as empty, as in Go.
    pub(crate) fn text(&self, member: &str) -> Result<String, Refusal> {
        self.read::<Option<String>>(member).map(Option::unwrap_or_default)
    }

    /// A bool; false if absent or null.
    pub(crate) fn flag(&self, member: &str) -> Result<bool, Refusal> {
        if !self.has(member) {
            return Ok(false);
        }
        self.read::<Option<bool>>(member).map(Option::unwrap_or_default)
    }

    /// A member of any JSON.
    pub(crate) fn value(&self, arena: &'a Arena, member: &str) -> Result<Value<'a>, Refusal> {
        Value::from_text(arena, self.required(member)?)
            .map_err(|error| Refusal::bad_request(format!("{member}: {error}")))
    }

    /// A member that is a field set.
    pub(crate) fn set(&self, arena: &'a Arena, member: &str) -> Result<FieldSet<'a>, Refusal> {
        field_set(self.release()?, arena, member, self.required(member)?)
    }
}

/// Reads a field set.
pub(crate) fn field_set<'a>(
    release: Release,
    arena: &'a Arena,
    member: &str,
    text: &'a str,
) -> Result<FieldSet<'a>, Refusal> {
    if !text.starts_with('{') {
        return Err(Refusal::bad_request(format!("{member}: a field set is an object")));
    }
    FieldSet::from_fields_v1_text_for_release(release, arena, text)
        .map_err(|error| Refusal::bad_request(format!("{member}: {error}")))
}

/// The members of an object in their order, each as it is written.
pub(crate) struct Members<'a>(pub(crate) Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }

        deserializer.deserialize_map(Visitor).map(Self)
    }
}
