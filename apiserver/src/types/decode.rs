//! Decodes objects as Go types do: drops unknown and empty fields, adds those that are always written, and sets defaults.

use std::fmt::Write as _;

use baton_merge::{
    Arena, Release,
    value::{Map, Member, Value},
};

use super::{Field, Omitted, Scalar, Shape, TypeRef, Types, scalars};

/// A decoded object.
#[derive(Debug)]
pub(crate) struct Decoded<'a> {
    pub(crate) object: Value<'a>,
    /// The paths of unknown fields, which are dropped.
    pub(crate) unknown: Vec<String>,
}

/// An error in the wording of Go's JSON decoder.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct DecodeError(String);

impl DecodeError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

/// Decodes objects of built-in types.
#[derive(Clone, Copy)]
pub(crate) struct Decoder<'a> {
    pub(crate) types: &'a Types,
    pub(crate) arena: &'a Arena,
    /// Whether defaults are set.
    pub(crate) fills_in: bool,
    /// Whether empty lists that are always written stay, as in a request. The store doesn't distinguish them from absent
    /// ones.
    pub(crate) keeps_empty: bool,
    pub(crate) release: Release,
}

/// A step of the path to the current value.
#[derive(Clone, Copy)]
enum Step<'s> {
    /// A field of a struct.
    Field {
        owner: &'s str,
        name: &'s str,
    },
    Key(&'s str),
    Item(usize),
}

#[derive(Default)]
struct Walk<'s> {
    steps: Vec<Step<'s>>,
    unknown: Vec<String>,
}

impl<'s> Walk<'s> {
    /// Runs a part of the walk below a step.
    fn below<T>(
        &mut self,
        step: Step<'s>,
        act: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        self.steps.push(step);
        let done = act(self)?;
        self.steps.pop();
        Ok(done)
    }

    fn note_unknown(&mut self, name: &str) {
        let mut path = String::new();
        for step in &self.steps {
            match step {
                Step::Field { name, .. } | Step::Key(name) => {
                    path.push_str(name);
                    path.push('.');
                }
                Step::Item(position) => {
                    path.pop();
                    // Writing to a string can't fail.
                    let _ = write!(path, "[{position}].");
                }
            }
        }
        path.push_str(name);
        self.unknown.push(path);
    }

    /// The path in Go's messages: the innermost struct and all fields.
    fn place(&self) -> String {
        let fields = || {
            self.steps.iter().filter_map(|step| match step {
                Step::Field { owner, name } => Some((*owner, *name)),
                _ => None,
            })
        };
        match fields().next_back() {
            Some((owner, _)) => {
                let names: Vec<_> = fields().map(|(_, name)| name).collect();
                format!("struct field {}.{}", owner.rsplit('.').next().unwrap_or(owner), names.join("."))
            }
            None => "value".to_owned(),
        }
    }
}

impl<'a> Decoder<'a> {
    /// Decodes an object of a type.
    pub(crate) fn decode(&self, of: TypeRef, value: Value<'a>) -> Result<Decoded<'a>, DecodeError> {
        let mut walk = Walk::default();
        let object = self.read_struct(of.0, value, &mut walk)?;
        Ok(Decoded { object, unknown: walk.unknown })
    }

    fn read(
        &self,
        shape: &'a Shape,
        value: Value<'a>,
        walk: &mut Walk<'a>,
    ) -> Result<Value<'a>, DecodeError> {
        match (shape, value) {
            // The store doesn't distinguish empty bytes from null.
            (Shape::Bytes, Value::Null) => return Ok(Value::String("")),
            (_, Value::Null) => return Ok(self.zero(shape)),
            _ => {}
        }
        match (shape, value) {
            (Shape::Struct(place), _) => self.read_struct(*place, value, walk),
            (Shape::List(item), Value::List(items)) => self.read_list(item, items, walk),
            (Shape::Map(of), Value::Map(map)) => self.read_map(of, map, walk),
            (shape, value) if scalars::fits(shape, value) => Ok(value),
            (Shape::Time | Shape::MicroTime, Value::String(text)) => {
                let is_micro = matches!(shape, Shape::MicroTime);
                let time = scalars::time(text, is_micro).map_err(DecodeError)?;
                Ok(Value::String(self.arena.copy_text(&time)))
            }
            (Shape::Bytes, Value::String(text)) => {
                let read = scalars::bytes(text).map_err(DecodeError)?;
                Ok(read.map_or(value, |text| Value::String(self.arena.copy_text(&text))))
            }
            (Shape::Quantity, Value::String(_) | Value::Int(_) | Value::Float(_)) => {
                self.quantity(value, walk)
            }
            _ => Err(self.misfit(shape, value, walk)),
        }
    }

    fn read_list(
        &self,
        item: &'a Shape,
        items: &'a [Value<'a>],
        walk: &mut Walk<'a>,
    ) -> Result<Value<'a>, DecodeError> {
        let mut read = Vec::with_capacity(items.len());
        for (position, value) in items.iter().enumerate() {
            read.push(walk.below(Step::Item(position), |walk| self.read(item, *value, walk))?);
        }
        let is_same = read.iter().zip(items).all(|(read, value)| read.is_same(value));
        Ok(Value::List(if is_same { items } else { self.arena.list(read) }))
    }

    fn read_map(&self, of: &'a Shape, map: Map<'a>, walk: &mut Walk<'a>) -> Result<Value<'a>, DecodeError> {
        let mut read = Vec::with_capacity(map.len());
        for (key, value) in map.members() {
            read.push((*key, walk.below(Step::Key(key), |walk| self.read(of, *value, walk))?));
        }
        Ok(self.unless_same(map, read))
    }

    fn read_struct(
        &self,
        place: usize,
        value: Value<'a>,
        walk: &mut Walk<'a>,
    ) -> Result<Value<'a>, DecodeError> {
        let Some(of) = self.types.structs.get(place) else { return Ok(value) };
        let Value::Map(map) = value else { return Err(self.misfit(&Shape::Struct(place), value, walk)) };
        let mut members = map.members().iter().peekable();
        let mut read: Vec<Member<'a>> = Vec::with_capacity(map.len() + 4);
        for field in &of.fields {
            while let Some((name, _)) = members.next_if(|(name, _)| *name < field.name.as_str()) {
                walk.note_unknown(name);
            }
            let value = members.next_if(|(name, _)| *name == field.name).map(|(_, value)| *value);
            let value = match value {
                Some(value) if !value.is_null() => {
                    let step = Step::Field { owner: &of.name, name: &field.name };
                    Some(walk.below(step, |walk| self.read(&field.shape, value, walk))?)
                }
                _ => None,
            };
            read.extend(self.written(field, value).map(|value| (field.name.as_str(), value)));
        }
        members.for_each(|(name, _)| walk.note_unknown(name));
        Ok(self.unless_same(map, read))
    }

    /// The map itself if its members are unchanged, which spares comparisons later.
    fn unless_same(&self, map: Map<'a>, read: Vec<Member<'a>>) -> Value<'a> {
        let is_same = read.len() == map.len()
            && read.iter().zip(map.members()).all(|(read, own)| read.0 == own.0 && read.1.is_same(&own.1));
        Value::Map(if is_same { map } else { Map::new(self.arena, read) })
    }

    /// The written value of a field.
    fn written(&self, field: &'a Field, value: Option<Value<'a>>) -> Option<Value<'a>> {
        let is_set = value.is_some_and(|value| field.is_pointer || !is_zero(&field.shape, value));
        let value = match (&field.default, is_set) {
            (Some(default), false) if self.fills_in => Value::from_json(self.arena, default).ok(),
            _ => value,
        };
        let value =
            value.unwrap_or_else(|| if field.is_pointer { Value::Null } else { self.zero(&field.shape) });
        let is_struct = matches!(
            field.shape,
            Shape::Struct(_) | Shape::Time | Shape::MicroTime | Shape::Quantity | Shape::IntOrString
        );
        let is_empty = value.is_null() || !field.is_pointer && is_zero(&field.shape, value);
        let value = match value {
            Value::List([]) if !field.is_pointer && !self.keeps_empty => Value::Null,
            value => value,
        };
        let is_omitted = match field.omitted {
            Omitted::Never => false,
            Omitted::Empty => is_empty && (field.is_pointer || !is_struct),
            // Servers before 1.34 wrote an unset time as null.
            Omitted::Zero => {
                is_empty && !(matches!(field.shape, Shape::Time) && self.release < Release::new(34, 0))
            }
        };
        (!is_omitted).then_some(value)
    }

    /// The zero value of a type.
    fn zero(&self, shape: &'a Shape) -> Value<'a> {
        match shape {
            Shape::Struct(place) => {
                let fields = self.types.structs.get(*place).map_or(&[][..], |of| &of.fields);
                let written = |field: &'a Field| Some((field.name.as_str(), self.written(field, None)?));
                Value::Map(Map::new(self.arena, fields.iter().filter_map(written)))
            }
            Shape::Scalar(Scalar::Bool, _) => Value::Bool(false),
            Shape::Scalar(Scalar::Text, _) => Value::String(""),
            Shape::Scalar(..) | Shape::IntOrString => Value::Int(0),
            Shape::Quantity => Value::String("0"),
            Shape::List(_)
            | Shape::Map(_)
            | Shape::Time
            | Shape::MicroTime
            | Shape::Bytes
            | Shape::Any(_) => Value::Null,
        }
    }

    fn quantity(&self, value: Value<'a>, walk: &Walk<'a>) -> Result<Value<'a>, DecodeError> {
        let in_resources = matches!(walk.steps.last(), Some(Step::Key(_)));
        match scalars::quantity(value, in_resources) {
            Some(text) if value.as_str() == Some(&text) => Ok(value),
            Some(text) => Ok(Value::String(self.arena.copy_text(&text))),
            None => Err(DecodeError(
                "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
                    .to_owned(),
            )),
        }
    }

    fn misfit(&self, shape: &Shape, value: Value<'_>, walk: &Walk<'_>) -> DecodeError {
        let found = match value {
            Value::Null => "null".to_owned(),
            Value::Bool(_) => "bool".to_owned(),
            Value::Int(_) | Value::Float(_) => match shape {
                Shape::Scalar(Scalar::Int32 | Scalar::Int64 | Scalar::Float, _) | Shape::IntOrString => {
                    format!("number {}", value.to_json())
                }
                _ => "number".to_owned(),
            },
            Value::String(_) => "string".to_owned(),
            Value::List(_) => "array".to_owned(),
            Value::Map(_) => "object".to_owned(),
        };
        let wanted = match (shape, value) {
            // A number is read as one.
            (Shape::IntOrString, Value::Int(_) | Value::Float(_)) => "int32".to_owned(),
            _ => shape.go_name(self.types),
        };
        let place = walk.place();
        DecodeError(format!("json: cannot unmarshal {found} into Go {place} of type {wanted}"))
    }
}

/// Whether a value is the zero of its type.
pub(super) fn is_zero(shape: &Shape, value: Value<'_>) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Int(number) => number == 0,
        Value::Float(number) => number == 0.0,
        Value::String(text) => text.is_empty(),
        Value::List(items) => items.is_empty(),
        Value::Map(map) => map.is_empty() && matches!(shape, Shape::Struct(_) | Shape::Map(_)),
    }
}
