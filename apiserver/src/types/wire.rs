//! The wire format of protobuf.

use std::collections::BTreeMap;

use super::decode::DecodeError;

/// One occurrence of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Record<'b> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'b [u8]),
    /// A wire type that the API doesn't use.
    Other(u8),
}

impl Record<'_> {
    /// The number of the wire type.
    pub(super) fn wire_type(self) -> u8 {
        match self {
            Self::Varint(_) => 0,
            Self::Fixed64(_) => 1,
            Self::Bytes(_) => 2,
            Self::Other(wire_type) => wire_type,
        }
    }
}

/// The occurrences of each field of a message, in order.
#[derive(Debug, Default)]
pub(super) struct Message<'b>(BTreeMap<u32, Vec<Record<'b>>>);

impl<'b> Message<'b> {
    /// Reads a message; several parts are merged.
    pub(super) fn read(parts: impl IntoIterator<Item = &'b [u8]>) -> Result<Self, DecodeError> {
        let mut fields: BTreeMap<u32, Vec<Record<'b>>> = BTreeMap::new();
        for part in parts {
            let mut reader = Reader(part);
            while let Some((number, record)) = reader.next()? {
                fields.entry(number).or_default().push(record);
            }
        }
        Ok(Self(fields))
    }

    /// All occurrences of a field.
    pub(super) fn field(&self, number: u32) -> &[Record<'b>] {
        self.0.get(&number).map(Vec::as_slice).unwrap_or_default()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The numbers of a packed field.
pub(super) fn packed(bytes: &[u8]) -> Result<Vec<Record<'_>>, DecodeError> {
    let mut reader = Reader(bytes);
    let mut numbers = Vec::new();
    while !reader.0.is_empty() {
        numbers.push(Record::Varint(reader.varint()?));
    }
    Ok(numbers)
}

/// The rest of a message.
struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    fn next(&mut self) -> Result<Option<(u32, Record<'b>)>, DecodeError> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let (number, wire_type) = self.tag()?;
        if wire_type == END_GROUP {
            return Err(DecodeError::new("proto: unexpected end of group"));
        }
        let record = self.record(wire_type)?;
        if wire_type == START_GROUP {
            self.skip_group()?;
        }
        Ok(Some((number, record)))
    }

    fn tag(&mut self) -> Result<(u32, u8), DecodeError> {
        let tag = self.varint()?;
        let wire_type = u8::try_from(tag & 7).unwrap_or_default();
        match u32::try_from(tag >> 3) {
            Ok(number) if number > 0 && i32::try_from(number).is_ok() => Ok((number, wire_type)),
            _ => Err(DecodeError::new(format!("proto: illegal tag {} (wire type {wire_type})", tag >> 3))),
        }
    }

    fn record(&mut self, wire_type: u8) -> Result<Record<'b>, DecodeError> {
        Ok(match wire_type {
            0 => Record::Varint(self.varint()?),
            1 => {
                let bytes = self.take(8)?;
                Record::Fixed64(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
            }
            2 => {
                let length = self.varint()?;
                let length = usize::try_from(length).map_err(|_| DecodeError::new(NEGATIVE))?;
                if isize::try_from(length).is_err() {
                    return Err(DecodeError::new(NEGATIVE));
                }
                Record::Bytes(self.take(length)?)
            }
            START_GROUP | END_GROUP => Record::Other(wire_type),
            5 => {
                self.take(4)?;
                Record::Other(wire_type)
            }
            _ => return Err(DecodeError::new(format!("proto: illegal wireType {wire_type}"))),
        })
    }

    fn skip_group(&mut self) -> Result<(), DecodeError> {
        let mut depth = 1_usize;
        while depth > 0 {
            let (_, wire_type) = self.tag()?;
            self.record(wire_type)?;
            match wire_type {
                START_GROUP => depth += 1,
                END_GROUP => depth -= 1,
                _ => {}
            }
        }
        Ok(())
    }

    fn varint(&mut self) -> Result<u64, DecodeError> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first().ok_or_else(|| DecodeError::new(UNEXPECTED_END))?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if *byte < 0x80 {
                return Ok(number);
            }
        }
        Err(DecodeError::new("proto: integer overflow"))
    }

    fn take(&mut self, length: usize) -> Result<&'b [u8], DecodeError> {
        let (taken, rest) =
            self.0.split_at_checked(length).ok_or_else(|| DecodeError::new(UNEXPECTED_END))?;
        self.0 = rest;
        Ok(taken)
    }
}

const START_GROUP: u8 = 3;
const END_GROUP: u8 = 4;
const UNEXPECTED_END: &str = "unexpected EOF";
const NEGATIVE: &str = "proto: negative length found during unmarshaling";
