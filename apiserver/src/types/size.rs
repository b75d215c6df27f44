//! Sizes of built-in objects in protobuf, as `Size` of Go's generated types.

use std::collections::BTreeSet;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use baton_merge::value::{Map, Value};
use jiff::Timestamp;

use super::{Field, Opaque, Scalar, Shape, TypeRef, Types};

/// `k8s` and a zero, before every object.
const MAGIC: usize = 4;

/// The length of a varint.
pub(crate) fn varint(number: usize) -> usize {
    let bits = usize::BITS - number.leading_zeros();
    bits.div_ceil(7).max(1) as usize
}

/// The length of a delimited field: its number, its length and its content.
pub(crate) fn delimited(number: u32, length: usize) -> usize {
    tag(number) + varint(length) + length
}

fn tag(number: u32) -> usize {
    varint(number as usize * 8)
}

impl Types {
    /// The stored size of a built-in object.
    pub(crate) fn protobuf_size(
        &self,
        of: TypeRef,
        object: Value<'_>,
        api_version: &str,
        kind: &str,
    ) -> usize {
        let type_meta = delimited(1, api_version.len()) + delimited(2, kind.len());
        let raw = self.message(of.0, object.as_map());
        // Two empty strings are the encoding.
        MAGIC + delimited(1, type_meta) + delimited(2, raw) + delimited(3, 0) + delimited(4, 0)
    }

    fn message(&self, place: usize, map: Option<Map<'_>>) -> usize {
        let fields: Vec<_> = self.structs.get(place).map(|of| of.fields.iter().collect()).unwrap_or_default();
        self.fields(&fields, 0, map.unwrap_or_default())
    }

    /// The fields of a message at this depth; deeper ones are in messages that are inline in JSON.
    fn fields(&self, fields: &[&Field], depth: usize, map: Map<'_>) -> usize {
        let own = fields.iter().filter(|field| field.number.len() == depth + 1);
        let own: usize = own.map(|field| self.field(field, field.number[depth], map.get(&field.name))).sum();
        let is_below = |field: &&&Field| field.number.len() > depth + 1;
        let inline: BTreeSet<_> = fields.iter().filter(is_below).map(|field| field.number[depth]).collect();
        let below = inline.into_iter().map(|number| {
            let of = fields.iter().filter(is_below).filter(|field| field.number[depth] == number);
            delimited(number, self.fields(&of.copied().collect::<Vec<_>>(), depth + 1, map))
        });
        own + below.sum::<usize>()
    }

    fn field(&self, field: &Field, number: u32, value: Option<Value<'_>>) -> usize {
        let value = value.filter(|value| !value.is_null());
        match (&field.shape, value) {
            (Shape::List(item), Some(Value::List(items))) => {
                items.iter().map(|each| tag(number) + self.content(item, Some(*each))).sum()
            }
            (Shape::Map(of), Some(Value::Map(map))) => {
                let entry =
                    |key: &str, value| delimited(1, key.len()) + tag(2) + self.content(of, Some(value));
                map.members().iter().map(|(key, value)| delimited(number, entry(key, *value))).sum()
            }
            (Shape::List(_) | Shape::Map(_) | Shape::Bytes, None) => 0,
            (_, None) if field.is_pointer => 0,
            // Go writes its zeros, too.
            (shape, value) => tag(number) + self.content(shape, value),
        }
    }

    /// The length of a field without its number.
    fn content(&self, shape: &Shape, value: Option<Value<'_>>) -> usize {
        let text = value.and_then(|value| value.as_str());
        let number = match value {
            Some(Value::Int(number)) => number,
            _ => 0,
        };
        let length = match shape {
            Shape::Scalar(Scalar::Bool, _) => return 1,
            Shape::Scalar(Scalar::Float, _) => return 8,
            Shape::Scalar(Scalar::Int32 | Scalar::Int64, _) => return signed(number),
            Shape::Scalar(Scalar::Text, _) => text.map_or(0, str::len),
            Shape::Bytes => text.and_then(|text| BASE64.decode(text).ok()).map_or(0, |bytes| bytes.len()),
            Shape::Struct(place) => self.message(*place, value.and_then(|value| value.as_map())),
            Shape::List(item) => {
                let items = value.and_then(|value| value.as_list()).unwrap_or_default();
                items.iter().map(|each| tag(1) + self.content(item, Some(*each))).sum()
            }
            Shape::Time | Shape::MicroTime => text.map_or(0, time),
            Shape::Quantity => delimited(1, text.map_or("0".len(), str::len)),
            Shape::IntOrString => {
                tag(1) + 1 + tag(2) + signed(number) + delimited(3, text.map_or(0, str::len))
            }
            Shape::Any(Opaque::Json) => value.map_or(0, |value| {
                let mut json = String::new();
                value.write_json(&mut json);
                delimited(1, json.len())
            }),
            // Only schemas of CRDs have others, which are stored as JSON, and no map is in a list or in a map.
            Shape::Any(_) | Shape::Map(_) => 0,
        };
        varint(length) + length
    }
}

/// A negative number has all bits.
fn signed(number: i64) -> usize {
    usize::try_from(number).map_or(10, varint)
}

fn time(text: &str) -> usize {
    let time: Timestamp = text.parse().unwrap_or_default();
    tag(1) + signed(time.as_second()) + tag(2) + signed(time.subsec_nanosecond().into())
}
