//! Writing FieldsV1, byte for byte as structured-merge-diff does.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{FieldSet, PathElement};
use crate::value::{
    Dialect, Value, escape_json, go_json, is_plain, is_plain_in_html, write_plain_json_string,
};

impl FieldSet<'_> {
    /// The text of FieldsV1, as a kube-apiserver writes it: members in the set's order.
    pub fn to_fields_v1_text(&self) -> String {
        // A node takes some twenty bytes: `"f:name":{},`.
        let mut out = String::with_capacity(2 + 24 * self.nodes().len());
        self.write_fields_v1(&mut out);
        out
    }

    /// Appends the text of FieldsV1.
    pub fn write_fields_v1(&self, out: &mut String) {
        out.push('{');
        write_level(*self, out, &mut String::new());
        out.push('}');
    }

    /// Whether FieldsV1 is, except for the order of its members, what would be written for the set.
    pub(crate) fn is_written_as(&self, fields: &Value<'_>) -> bool {
        is_written_as(*self, false, fields)
    }

    /// FieldsV1 as a JSON tree. The order of its members depends on `serde_json`'s map.
    pub fn to_fields_v1(&self) -> serde_json::Value {
        let level = self.siblings().map(|(node, below)| {
            let mut fields = below.to_fields_v1();
            if let (true, Some(fields)) = (node.member && !below.is_empty(), fields.as_object_mut()) {
                fields.insert(".".to_owned(), empty());
            }
            (node.element.to_fields_v1_name(), fields)
        });
        serde_json::Value::Object(level.collect())
    }
}

fn is_written_as(set: FieldSet<'_>, includes_self: bool, fields: &Value<'_>) -> bool {
    let Some(fields) = fields.as_map() else { return false };
    let mut expected = 0;
    if includes_self && !set.is_empty() {
        expected += 1;
        if !fields.get(".").and_then(|value| value.as_map()).is_some_and(|map| map.is_empty()) {
            return false;
        }
    }
    // Names have the order of the fields, so each is usually the next one.
    let mut next = fields.members()[expected.min(fields.len())..].iter();
    let all = set.siblings().all(|(node, below)| {
        expected += 1;
        let found = match (node.element, next.next()) {
            (PathElement::Field(field), Some((name, value))) if name.strip_prefix("f:") == Some(field) => {
                Some(*value)
            }
            (element, _) => fields.get(&element.to_fields_v1_name()),
        };
        found.is_some_and(|fields| is_written_as(below, node.member, &fields))
    });
    all && expected == fields.len()
}

fn empty() -> serde_json::Value {
    serde_json::Value::Object(serde_json::Map::new())
}

fn write_level(set: FieldSet<'_>, out: &mut String, scratch: &mut String) {
    for (position, (node, below)) in set.siblings().enumerate() {
        let is_first = position == 0;
        if let PathElement::Field(name) = node.element {
            out.push_str(if is_first { "\"f:" } else { ",\"f:" });
            escape_json(out, name);
        } else {
            out.push_str(if is_first { "\"" } else { ",\"" });
            if !write_plain_name(node.element, out) {
                scratch.clear();
                scratch.reserve(256);
                node.element.write_fields_v1_name(scratch);
                escape_json(out, scratch);
            }
        }
        if below.is_empty() {
            out.push_str("\":{}");
        } else {
            out.push_str(if node.member { "\":{\".\":{}," } else { "\":{" });
            write_level(below, out, scratch);
            out.push('}');
        }
    }
}

/// Writes the name of an item within a JSON string, if nothing but its quotes needs an escape; returns whether it does so.
/// Most names of items are such.
fn write_plain_name(element: PathElement<'_>, out: &mut String) -> bool {
    let start = out.len();
    let written = match element {
        PathElement::Key(fields) => {
            let all = fields.iter().enumerate().all(|(position, (name, value))| {
                out.push_str(if position == 0 { "k:{\\\"" } else { ",\\\"" });
                out.push_str(name);
                out.push_str("\\\":");
                is_plain(name) && write_plain_scalar(*value, out)
            });
            out.push('}');
            all && !fields.is_empty()
        }
        PathElement::Value(value) => {
            out.push_str("v:");
            write_plain_scalar(value, out)
        }
        _ => false,
    };
    if !written {
        out.truncate(start);
    }
    written
}

fn write_plain_scalar(value: Value<'_>, out: &mut String) -> bool {
    match value {
        Value::String(text) => {
            out.push_str("\\\"");
            out.push_str(text);
            out.push_str("\\\"");
            is_plain_in_html(text)
        }
        Value::Bool(_) | Value::Int(_) | Value::Float(_) => {
            go_json(out, &value, Dialect::Iterator);
            true
        }
        _ => false,
    }
}

impl PathElement<'_> {
    /// The element's name in FieldsV1: `f:image`, `k:{"name":"web"}`, `v:"a"`, `i:2`.
    pub fn to_fields_v1_name(&self) -> String {
        let mut name = String::new();
        self.write_fields_v1_name(&mut name);
        name
    }

    fn write_fields_v1_name(&self, out: &mut String) {
        match self {
            Self::Field(name) => {
                out.push_str("f:");
                out.push_str(name);
            }
            Self::Key(fields) => {
                out.push_str("k:{");
                for (position, (name, value)) in fields.iter().enumerate() {
                    if position > 0 {
                        out.push(',');
                    }
                    write_plain_json_string(out, name);
                    out.push(':');
                    go_json(out, value, Dialect::Iterator);
                }
                out.push('}');
            }
            Self::Value(value) => {
                out.push_str("v:");
                go_json(out, value, Dialect::Iterator);
            }
            Self::Index(index) => {
                out.push_str("i:");
                out.push_str(&index.to_string());
            }
            // The server refuses to write such a set; no reader accepts an empty name.
            Self::Keyless => {}
        }
    }
}

/// Serializes as FieldsV1, members in the set's order.
impl Serialize for FieldSet<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_level(*self, false, serializer)
    }
}

/// The set below a member, which is written as `.`.
struct Below<'a>(FieldSet<'a>);

impl Serialize for Below<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_level(self.0, true, serializer)
    }
}

fn serialize_level<S: Serializer>(
    set: FieldSet<'_>,
    includes_self: bool,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut level = serializer.serialize_map(None)?;
    if includes_self && !set.is_empty() {
        level.serialize_entry(".", &FieldSet::default())?;
    }
    for (node, below) in set.siblings() {
        let name = node.element.to_fields_v1_name();
        if node.member {
            level.serialize_entry(&name, &Below(below))?;
        } else {
            level.serialize_entry(&name, &below)?;
        }
    }
    level.end()
}

/// A field set whose members are written in the order of their names, as Go writes a JSON tree.
pub(crate) struct SortedByName<'a> {
    set: FieldSet<'a>,
    includes_self: bool,
}

impl<'a> FieldSet<'a> {
    /// The set, to be serialized with its members in the order of their names.
    pub(crate) fn sorted_by_name(self) -> SortedByName<'a> {
        SortedByName { set: self, includes_self: false }
    }
}

impl SortedByName<'_> {
    fn members(&self) -> Vec<(String, Self)> {
        let mut named: Vec<_> = self
            .set
            .siblings()
            .map(|(node, below)| {
                let below = SortedByName { set: below, includes_self: node.member && !below.is_empty() };
                (node.element.to_fields_v1_name(), below)
            })
            .collect();
        if self.includes_self {
            named.push((".".to_owned(), FieldSet::default().sorted_by_name()));
        }
        named.sort_by(|(left, _), (right, _)| left.cmp(right));
        named
    }

    /// Appends the text.
    pub(crate) fn write(&self, out: &mut String) {
        out.push('{');
        for (position, (name, below)) in self.members().iter().enumerate() {
            if position > 0 {
                out.push(',');
            }
            write_plain_json_string(out, name);
            out.push(':');
            below.write(out);
        }
        out.push('}');
    }
}

impl Serialize for SortedByName<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.members())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arena, fieldpath::Path};

    #[test]
    fn text_and_trees_say_the_same() {
        let arena = Arena::new();
        let key = [("port", Value::Int(80)), ("protocol", Value::String("<TCP>"))];
        let paths = [
            Path::new(&[PathElement::Field("a\"b")]),
            Path::new(arena.slice(&[PathElement::Field("ports"), PathElement::Key(arena.slice(&key))])),
            Path::new(arena.slice(&[
                PathElement::Field("ports"),
                PathElement::Key(arena.slice(&key)),
                PathElement::Field("port"),
            ])),
            Path::new(&[PathElement::Value(Value::Float(0.5))]),
            Path::new(&[PathElement::Index(3)]),
        ];
        let set = FieldSet::of_paths(&arena, paths);
        let text = set.to_fields_v1_text();
        assert_eq!(
            text,
            r#"{"f:a\"b":{},"f:ports":{"k:{\"port\":80,\"protocol\":\"\\u003cTCP\\u003e\"}":{".":{},"f:port":{}}},"v:0.5":{},"i:3":{}}"#
        );
        assert_eq!(serde_json::to_string(&set).unwrap(), text);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), set.to_fields_v1());
        assert_eq!(FieldSet::from_fields_v1_text(&arena, &text).unwrap(), set);
    }
}
