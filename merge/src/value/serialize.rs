//! Values from anything that serde can serialize, without a detour through text or through an owned JSON tree.

use serde::ser::{self, Serialize};

use super::{MAX_DEPTH, Map, Member, Value, ValueError};
use crate::{Arena, arena::ArenaVec};

impl<'a> Value<'a> {
    /// A view of a typed object, such as a `Deployment` of k8s-openapi. Its strings are copied into the arena.
    ///
    /// # Errors
    /// When the type's own serialization fails, when it isn't JSON, or when it is nested deeper than [`MAX_DEPTH`].
    ///
    /// ```
    /// use baton_merge::{Arena, value::Value};
    ///
    /// #[derive(serde::Serialize)]
    /// struct Spec { replicas: i32 }
    ///
    /// let arena = Arena::new();
    /// let spec = Value::from_typed(&arena, &Spec { replicas: 3 })?;
    /// assert_eq!(spec.get("replicas"), Some(Value::Int(3)));
    /// # Ok::<(), baton_merge::value::ValueError>(())
    /// ```
    pub fn from_typed<T: Serialize + ?Sized>(arena: &'a Arena, object: &T) -> Result<Self, ValueError> {
        object.serialize(Builder { arena, depth: MAX_DEPTH })
    }
}

#[derive(Clone, Copy)]
struct Builder<'a> {
    arena: &'a Arena,
    depth: usize,
}

impl<'a> Builder<'a> {
    fn below(self) -> Result<Self, ValueError> {
        let depth = self.depth.checked_sub(1).ok_or(ValueError::TooDeep)?;
        Ok(Self { depth, ..self })
    }

    fn list(self, length: Option<usize>) -> Result<ListBuilder<'a>, ValueError> {
        Ok(ListBuilder {
            below: self.below()?,
            items: self.arena.vec_with_capacity(length.unwrap_or(0)),
            variant: None,
        })
    }

    fn map(self, length: Option<usize>) -> Result<MapBuilder<'a>, ValueError> {
        let members = self.arena.vec_with_capacity(length.unwrap_or(0));
        Ok(MapBuilder { below: self.below()?, members, name: None, variant: None })
    }

    /// `{"variant": value}`, as serde's externally tagged enums are written.
    fn tagged(self, variant: &'static str, value: Value<'a>) -> Value<'a> {
        Value::Map(Map::of_sorted(self.arena.slice(&[(variant, value)])))
    }
}

impl ser::Error for ValueError {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self::NotJson(message.to_string())
    }
}

/// The integers that always fit.
macro_rules! integers {
    ($($serialize:ident($integer:ty))*) => {$(
        fn $serialize(self, value: $integer) -> Result<Value<'a>, ValueError> {
            Ok(Value::Int(value.into()))
        }
    )*};
}

impl<'a> ser::Serializer for Builder<'a> {
    type Ok = Value<'a>;
    type Error = ValueError;
    type SerializeSeq = ListBuilder<'a>;
    type SerializeTuple = ListBuilder<'a>;
    type SerializeTupleStruct = ListBuilder<'a>;
    type SerializeTupleVariant = ListBuilder<'a>;
    type SerializeMap = MapBuilder<'a>;
    type SerializeStruct = MapBuilder<'a>;
    type SerializeStructVariant = MapBuilder<'a>;

    fn serialize_bool(self, value: bool) -> Result<Value<'a>, ValueError> {
        Ok(Value::Bool(value))
    }

    integers! {
        serialize_i8(i8) serialize_i16(i16) serialize_i32(i32) serialize_i64(i64)
        serialize_u8(u8) serialize_u16(u16) serialize_u32(u32)
    }

    fn serialize_u64(self, value: u64) -> Result<Value<'a>, ValueError> {
        Ok(super::json::number(&value.into()))
    }

    fn serialize_f32(self, value: f32) -> Result<Value<'a>, ValueError> {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result<Value<'a>, ValueError> {
        // JSON has no NaN and no infinity; serde_json writes null for them.
        Ok(if value.is_finite() { Value::Float(value) } else { Value::Null })
    }

    fn serialize_char(self, value: char) -> Result<Value<'a>, ValueError> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<Value<'a>, ValueError> {
        Ok(Value::String(self.arena.copy_text(value)))
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<Value<'a>, ValueError> {
        let mut items = self.arena.vec_with_capacity(value.len());
        items.extend(value.iter().map(|byte| Value::Int((*byte).into())));
        Ok(Value::List(items.into_bump_slice()))
    }

    fn serialize_none(self) -> Result<Value<'a>, ValueError> {
        Ok(Value::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Value<'a>, ValueError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Value<'a>, ValueError> {
        Ok(Value::Null)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Value<'a>, ValueError> {
        Ok(Value::Null)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Value<'a>, ValueError> {
        Ok(Value::String(variant))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Value<'a>, ValueError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Value<'a>, ValueError> {
        let value = value.serialize(self.below()?)?;
        Ok(self.tagged(variant, value))
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<ListBuilder<'a>, ValueError> {
        self.list(length)
    }

    fn serialize_tuple(self, length: usize) -> Result<ListBuilder<'a>, ValueError> {
        self.list(Some(length))
    }

    fn serialize_tuple_struct(self, _: &'static str, length: usize) -> Result<ListBuilder<'a>, ValueError> {
        self.list(Some(length))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<ListBuilder<'a>, ValueError> {
        Ok(ListBuilder { variant: Some(variant), ..self.list(Some(length))? })
    }

    fn serialize_map(self, length: Option<usize>) -> Result<MapBuilder<'a>, ValueError> {
        self.map(length)
    }

    fn serialize_struct(self, _: &'static str, length: usize) -> Result<MapBuilder<'a>, ValueError> {
        self.map(Some(length))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<MapBuilder<'a>, ValueError> {
        Ok(MapBuilder { variant: Some(variant), ..self.map(Some(length))? })
    }
}

struct ListBuilder<'a> {
    below: Builder<'a>,
    items: ArenaVec<'a, Value<'a>>,
    variant: Option<&'static str>,
}

/// To serde the items of a list and the elements and fields of a tuple are different things.
macro_rules! items {
    ($($of:ident::$serialize:ident)*) => {$(
        impl<'a> ser::$of for ListBuilder<'a> {
            type Ok = Value<'a>;
            type Error = ValueError;

            fn $serialize<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), ValueError> {
                self.items.push(item.serialize(self.below)?);
                Ok(())
            }

            fn end(self) -> Result<Value<'a>, ValueError> {
                let list = Value::List(self.items.into_bump_slice());
                Ok(self.variant.map_or(list, |variant| self.below.tagged(variant, list)))
            }
        }
    )*};
}

items! {
    SerializeSeq::serialize_element
    SerializeTuple::serialize_element
    SerializeTupleStruct::serialize_field
    SerializeTupleVariant::serialize_field
}

struct MapBuilder<'a> {
    below: Builder<'a>,
    members: ArenaVec<'a, Member<'a>>,
    name: Option<&'a str>,
    variant: Option<&'static str>,
}

impl<'a> MapBuilder<'a> {
    fn finish(self) -> Value<'a> {
        let map = Value::Map(Map::of_unsorted(self.members));
        self.variant.map_or(map, |variant| self.below.tagged(variant, map))
    }
}

impl<'a> ser::SerializeMap for MapBuilder<'a> {
    type Ok = Value<'a>;
    type Error = ValueError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), ValueError> {
        let name = match key.serialize(self.below)? {
            Value::String(name) => name,
            // serde_json writes numbers and booleans as names too.
            scalar @ (Value::Int(_) | Value::Bool(_)) => self.below.arena.copy_text(&scalar.to_string()),
            other => {
                return Err(ValueError::NotJson(format!("a map has the key {other}, which is no string")));
            }
        };
        self.name = Some(name);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ValueError> {
        let name = self.name.take().unwrap_or_default();
        self.members.push((name, value.serialize(self.below)?));
        Ok(())
    }

    fn end(self) -> Result<Value<'a>, ValueError> {
        Ok(self.finish())
    }
}

/// So are the fields of a struct and of a variant.
macro_rules! fields {
    ($($of:ident)*) => {$(
        impl<'a> ser::$of for MapBuilder<'a> {
            type Ok = Value<'a>;
            type Error = ValueError;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), ValueError> {
                self.members.push((name, value.serialize(self.below)?));
                Ok(())
            }

            fn end(self) -> Result<Value<'a>, ValueError> {
                Ok(self.finish())
            }
        }
    )*};
}

fields! { SerializeStruct SerializeStructVariant }

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Serialize;
    use serde_json::json;

    use super::*;

    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    enum Odd {
        Unit,
        Newtype(u8),
        Tuple(u8, f32),
        Struct { zulu: (), alpha: Option<char> },
    }

    #[test]
    fn a_typed_object_is_seen_as_serde_json_sees_it() {
        let arena = Arena::new();
        let object = (
            vec![Odd::Unit, Odd::Newtype(1), Odd::Tuple(2, 0.5), Odd::Struct { zulu: (), alpha: Some('ä') }],
            BTreeMap::from([(7, u64::MAX), (10, 1)]),
            json!({"z": {"raw": [null]}, "a": -1}),
        );
        let value = Value::from_typed(&arena, &object).unwrap();
        let mut expected = serde_json::to_value(&object).unwrap();
        expected[1]["7"] = json!(18_446_744_073_709_551_616.0);
        assert_eq!(value.to_json(), expected);
    }
}
