//! Protobuf bodies, which typed Go clients send: decoded to JSON values, by the numbers in the table of types.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use baton_merge::{
    Arena,
    schema::kinds::GroupVersionKind,
    value::{Map, Member, Value},
};
use jiff::Timestamp;

use super::{
    Omitted, Opaque, Scalar, Shape, Types,
    decode::{DecodeError, is_zero},
    scalars::{micro_time, second_time},
    wire::{Message, Record, packed},
};

/// The prefix of every body.
const MAGIC: &[u8] = b"k8s\0";

/// The deepest message, as in most readers of protobuf. Only schemas of custom resources are deep.
const MAX_DEPTH: usize = 100;

/// An error, and the kind in the body, if that could be read.
#[derive(Debug)]
pub(crate) struct Unreadable {
    pub(crate) kind: Option<GroupVersionKind>,
    pub(crate) error: DecodeError,
}

impl From<DecodeError> for Unreadable {
    fn from(error: DecodeError) -> Self {
        Self { kind: None, error }
    }
}

impl Types {
    /// The object in a body, which has this kind unless it names one.
    pub(crate) fn read_protobuf<'a>(
        &self,
        arena: &'a Arena,
        body: &[u8],
        expected: &GroupVersionKind,
    ) -> Result<Value<'a>, Unreadable> {
        let envelope = match body.strip_prefix(MAGIC) {
            None if body.is_empty() => return Err(DecodeError::new("empty data").into()),
            Some([]) => return Err(DecodeError::new("empty body").into()),
            None => {
                let message =
                    "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]";
                return Err(DecodeError::new(message).into());
            }
            Some(envelope) => Message::read([envelope])?,
        };
        let reader = Reader { types: self, arena };
        let (type_meta, _) = submessage(envelope.field(1), "TypeMeta", 0)?;
        let api_version = reader.text(type_meta.field(1), "APIVersion")?;
        let kind = reader.text(type_meta.field(2), "Kind")?;
        let expected_version = expected.api_version();
        let api_version =
            if api_version.is_empty() { arena.copy_text(&expected_version) } else { api_version };
        let kind = if kind.is_empty() { arena.copy_text(&expected.kind) } else { kind };
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let own = GroupVersionKind::new(group, version, kind);
        let typed = [("apiVersion", Value::String(api_version)), ("kind", Value::String(kind))];
        // An unknown kind is refused later, where another one is expected.
        let read =
            self.of_kind(&own).map_or(Ok(Vec::new()), |of| reader.members(of.0, envelope.field(2), "Raw", 0));
        let members = read.map_err(|error| Unreadable { kind: Some(own), error })?;
        Ok(Value::Map(Map::new(arena, members.into_iter().chain(typed))))
    }
}

/// The message in a field, with its depth. All occurrences of the field are merged.
fn submessage<'b>(
    records: &[Record<'b>],
    name: &str,
    depth: usize,
) -> Result<(Message<'b>, usize), DecodeError> {
    if depth >= MAX_DEPTH {
        return Err(DecodeError::new("exceeded max depth"));
    }
    let parts = records.iter().map(|record| bytes(*record, name)).collect::<Result<Vec<_>, _>>()?;
    Ok((Message::read(parts)?, depth + 1))
}

#[derive(Clone, Copy)]
struct Reader<'t, 'a> {
    types: &'t Types,
    arena: &'a Arena,
}

impl<'a> Reader<'_, 'a> {
    fn members(
        self,
        place: usize,
        records: &[Record<'_>],
        name: &str,
        depth: usize,
    ) -> Result<Vec<Member<'a>>, DecodeError> {
        let (message, depth) = submessage(records, name, depth)?;
        let fields = self.types.structs.get(place).map(|of| of.fields.as_slice()).unwrap_or_default();
        // The messages that are inline in JSON, by their numbers.
        let mut inline: Vec<(&[u32], Message<'_>)> = Vec::new();
        let mut members = Vec::new();
        for field in fields {
            let Some((number, path)) = field.number.split_last() else { continue };
            for end in 1..=path.len() {
                let (path, above) = (&path[..end], &path[..end - 1]);
                if inline.iter().all(|(own, _)| *own != path) {
                    let above =
                        inline.iter().find(|(own, _)| *own == above).map_or(&message, |(_, found)| found);
                    let records = path.last().map(|number| above.field(*number)).unwrap_or_default();
                    let (read, _) = submessage(records, &field.name, depth)?;
                    inline.push((path, read));
                }
            }
            let owner = inline.iter().find(|(own, _)| *own == path).map_or(&message, |(_, found)| found);
            let records = owner.field(*number);
            if records.is_empty() {
                continue;
            }
            let value = self.value(&field.shape, records, &field.name, depth)?;
            // Go writes all zeros in protobuf, but few of them in JSON.
            let is_told =
                field.is_pointer || field.omitted == Omitted::Never || !is_zero(&field.shape, value);
            if is_told {
                members.push((self.arena.copy_text(&field.name), value));
            }
        }
        Ok(members)
    }

    /// A value of a shape; its zero without records.
    fn value(
        self,
        shape: &Shape,
        records: &[Record<'_>],
        name: &str,
        depth: usize,
    ) -> Result<Value<'a>, DecodeError> {
        let message = || submessage(records, name, depth).map(|(message, _)| message);
        Ok(match shape {
            Shape::Struct(place) => {
                Value::Map(Map::new(self.arena, self.members(*place, records, name, depth)?))
            }
            Shape::List(item) => self.list(item, records, name, depth)?,
            Shape::Map(of) => {
                let entry = |record: &Record<'_>| {
                    let (entry, depth) = submessage(&[*record], name, depth)?;
                    Ok((self.text(entry.field(1), name)?, self.element(of, entry.field(2), name, depth)?))
                };
                let entries = records.iter().map(entry).collect::<Result<Vec<_>, DecodeError>>()?;
                Value::Map(Map::new(self.arena, entries))
            }
            Shape::Scalar(Scalar::Text, _) => Value::String(self.text(records, name)?),
            Shape::Scalar(scalar, _) => scalar_of(*scalar, records, name)?,
            Shape::Bytes => {
                let bytes = records.last().map(|last| bytes(*last, name)).transpose()?;
                Value::String(self.arena.copy_text(&BASE64.encode(bytes.unwrap_or_default())))
            }
            Shape::Time => self.time(&message()?, name, false)?,
            Shape::MicroTime => self.time(&message()?, name, true)?,
            Shape::Quantity => match self.text(message()?.field(1), name)? {
                "" => Value::String("0"),
                text => Value::String(text),
            },
            Shape::IntOrString => {
                let message = message()?;
                if number(message.field(1), name)? == 0 {
                    scalar_of(Scalar::Int32, message.field(2), name)?
                } else {
                    Value::String(self.text(message.field(3), name)?)
                }
            }
            Shape::Any(opaque) => self.opaque(opaque, records, name, depth)?,
        })
    }

    fn list(
        self,
        item: &Shape,
        records: &[Record<'_>],
        name: &str,
        depth: usize,
    ) -> Result<Value<'a>, DecodeError> {
        let mut items = Vec::with_capacity(records.len());
        for record in records {
            match (item, record) {
                (Shape::Scalar(Scalar::Bool | Scalar::Int32 | Scalar::Int64, _), Record::Bytes(bytes)) => {
                    for number in packed(bytes)? {
                        items.push(self.value(item, &[number], name, depth)?);
                    }
                }
                _ => items.push(self.element(item, &[*record], name, depth)?),
            }
        }
        Ok(Value::List(self.arena.list(items)))
    }

    /// An item of a list or a value of a map. A nested list has its own message.
    fn element(
        self,
        shape: &Shape,
        records: &[Record<'_>],
        name: &str,
        depth: usize,
    ) -> Result<Value<'a>, DecodeError> {
        if !matches!(shape, Shape::List(_)) {
            return self.value(shape, records, name, depth);
        }
        let (message, depth) = submessage(records, name, depth)?;
        self.value(shape, message.field(1), name, depth)
    }

    /// A value with its own JSON.
    fn opaque(
        self,
        opaque: &Opaque,
        records: &[Record<'_>],
        name: &str,
        depth: usize,
    ) -> Result<Value<'a>, DecodeError> {
        let (message, depth) = submessage(records, name, depth)?;
        let schema = |place: &Shape, number| match message.field(number) {
            [] => Ok(None),
            records => self.value(place, records, name, depth).map(Some),
        };
        match opaque {
            Opaque::Json => match self.text(message.field(1), name)? {
                "" => Ok(Value::Null),
                text => {
                    Value::from_text(self.arena, text).map_err(|error| DecodeError::new(error.to_string()))
                }
            },
            Opaque::SchemaOrBool(of) => {
                let allows = Value::Bool(number(message.field(1), name)? != 0);
                Ok(schema(of, 2)?.unwrap_or(allows))
            }
            Opaque::SchemaOrList(of, list) => match message.field(2) {
                [] => Ok(schema(of, 1)?.unwrap_or(Value::Null)),
                items => self.value(list, items, name, depth),
            },
        }
    }

    fn text(self, records: &[Record<'_>], name: &str) -> Result<&'a str, DecodeError> {
        let Some(last) = records.last() else { return Ok("") };
        Ok(self.arena.copy_text(&String::from_utf8_lossy(bytes(*last, name)?)))
    }

    /// A timestamp; null if it isn't set.
    fn time(self, message: &Message<'_>, name: &str, is_micro: bool) -> Result<Value<'a>, DecodeError> {
        if message.is_empty() {
            return Ok(Value::Null);
        }
        let seconds = number(message.field(1), name)?.cast_signed();
        let nanos = if is_micro { int32(number(message.field(2), name)?) } else { 0 };
        let time = Timestamp::new(seconds, nanos)
            .map_err(|_| DecodeError::new("Time.MarshalJSON: year outside of range [0,9999]"))?;
        let text = if is_micro { micro_time(time) } else { second_time(time) };
        Ok(Value::String(self.arena.copy_text(&text)))
    }
}

fn scalar_of<'a>(scalar: Scalar, records: &[Record<'_>], name: &str) -> Result<Value<'a>, DecodeError> {
    if scalar == Scalar::Float {
        return match records.last() {
            None => Ok(Value::Int(0)),
            Some(Record::Fixed64(bits)) => Ok(float(f64::from_bits(*bits))),
            Some(other) => Err(wrong_type(*other, name)),
        };
    }
    let number = number(records, name)?;
    Ok(match scalar {
        Scalar::Bool => Value::Bool(number != 0),
        Scalar::Int32 => Value::Int(int32(number).into()),
        _ => Value::Int(number.cast_signed()),
    })
}

/// A number as Go writes it in JSON: integers without a point.
#[expect(clippy::cast_possible_truncation, reason = "it is whole and small enough")]
fn float<'a>(number: f64) -> Value<'a> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() < EXACT {
        Value::Int(number as i64)
    } else if number.is_finite() {
        Value::Float(number)
    } else {
        Value::Null
    }
}

/// The lower half of a number, which a smaller field takes.
#[expect(clippy::cast_possible_truncation, reason = "protobuf says so")]
fn int32(number: u64) -> i32 {
    number as i32
}

/// The number in a field, or 0.
fn number(records: &[Record<'_>], name: &str) -> Result<u64, DecodeError> {
    match records.last() {
        None => Ok(0),
        Some(Record::Varint(number)) => Ok(*number),
        Some(other) => Err(wrong_type(*other, name)),
    }
}

fn bytes<'b>(record: Record<'b>, name: &str) -> Result<&'b [u8], DecodeError> {
    match record {
        Record::Bytes(bytes) => Ok(bytes),
        other => Err(wrong_type(other, name)),
    }
}

fn wrong_type(record: Record<'_>, name: &str) -> DecodeError {
    // Go's name of the field, except for abbreviations.
    let mut letters = name.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    let name: String = first.into_iter().chain(letters).collect();
    DecodeError::new(format!("proto: wrong wireType = {} for field {name}", record.wire_type()))
}
