//! The estimate of an expression: its type, its cost and the size of its value.

use super::super::super::rules::{PER_TEXT, scaled};
use super::super::declared::{Declared, Shape};

/// The type of an expression, as far as it is known.
#[derive(Clone)]
pub(super) enum Type<'d> {
    Any,
    Bool,
    /// Integer, double, time or duration.
    Scalar,
    Text,
    Bytes,
    List(Box<Self>),
    Map(Box<Self>),
    Object(&'d Declared),
    Optional(Box<Self>),
    /// Quantity, address and other library types.
    Other,
}

impl<'d> Type<'d> {
    pub(super) fn of(declared: &'d Declared) -> Self {
        match &declared.shape {
            Shape::Any => Self::Any,
            Shape::Bool => Self::Bool,
            Shape::Int | Shape::Double | Shape::Duration | Shape::Time => Self::Scalar,
            Shape::Text => Self::Text,
            Shape::Bytes => Self::Bytes,
            Shape::List(below) => Self::List(Box::new(Self::of(below))),
            Shape::Map(below) => Self::Map(Box::new(Self::of(below))),
            Shape::Object(_) => Self::Object(declared),
        }
    }

    pub(super) fn is_scalar(&self) -> bool {
        match self {
            Self::Bool | Self::Scalar => true,
            Self::Optional(inner) => inner.is_scalar(),
            _ => false,
        }
    }

    pub(super) fn is_text(&self) -> bool {
        matches!(self, Self::Text | Self::Bytes)
    }

    /// The type of the items of a list, the values of a map, or an optional value.
    pub(super) fn inner(&self) -> Self {
        match self {
            Self::List(inner) | Self::Map(inner) | Self::Optional(inner) => (**inner).clone(),
            _ => Self::Any,
        }
    }

    pub(super) fn optional(self) -> Self {
        Self::Optional(Box::new(self))
    }
}

/// The location of a value in the object. Below a value without a location, it is the root's, as upstream.
#[derive(Clone, Copy)]
pub(super) enum Location<'d> {
    Nowhere,
    At(Option<&'d Declared>),
}

/// A range of counts: items, members, characters or bytes.
#[derive(Clone, Copy)]
pub(super) struct Size {
    pub(super) min: u64,
    pub(super) max: u64,
}

impl Size {
    pub(super) const UNKNOWN: Self = Self { min: 0, max: u64::MAX };

    pub(super) fn exactly(size: u64) -> Self {
        Self { min: size, max: size }
    }

    pub(super) fn or(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    pub(super) fn times(self, other: Self) -> Self {
        Self { min: self.min.saturating_mul(other.min), max: self.max.saturating_mul(other.max) }
    }
}

/// The sizes of keys and values in a list or map that an expression makes.
#[derive(Clone, Copy)]
pub(super) struct Entries {
    pub(super) is_list: bool,
    pub(super) key: Size,
    pub(super) value: Size,
}

#[derive(Clone)]
pub(super) struct Estimate<'d> {
    pub(super) cost: u64,
    pub(super) type_: Type<'d>,
    pub(super) location: Location<'d>,
    pub(super) size: Option<Size>,
    pub(super) entries: Option<Entries>,
}

impl<'d> Estimate<'d> {
    pub(super) fn new(cost: u64, type_: Type<'d>) -> Self {
        Self { cost, type_, location: Location::Nowhere, size: None, entries: None }
    }

    /// The size: computed, from the schema, or that of a scalar.
    pub(super) fn size(&self) -> Option<Size> {
        if self.size.is_some() {
            return self.size;
        }
        match self.location {
            Location::At(Some(declared)) => Some(Size { min: 0, max: declared.max_elements }),
            _ => self.type_.is_scalar().then(|| Size::exactly(1)),
        }
    }

    pub(super) fn size_or_unknown(&self) -> Size {
        self.size().unwrap_or(Size::UNKNOWN)
    }

    pub(super) fn max(&self) -> u64 {
        self.size_or_unknown().max
    }

    /// The cost of reading the value.
    pub(super) fn read(&self, factor: f64) -> u64 {
        scaled(self.max(), factor * PER_TEXT)
    }

    /// The largest size of its items, by the schema.
    pub(super) fn max_of_items(&self) -> u64 {
        match self.location {
            Location::At(Some(declared)) => declared.below().map_or(u64::MAX, |item| item.max_elements),
            _ => u64::MAX,
        }
    }
}

/// The smallest and the largest of all sizes.
pub(super) fn all_of<'i, 'd: 'i>(all: impl Iterator<Item = &'i Estimate<'d>>) -> Size {
    all.map(Estimate::size_or_unknown).reduce(Size::or).unwrap_or(Size::exactly(0))
}

/// The sizes of the items of either list.
pub(super) fn united(one: &Estimate<'_>, other: &Estimate<'_>) -> Option<Entries> {
    let (one, other) = (one.entries?, other.entries?);
    Some(Entries { is_list: one.is_list, key: one.key.or(other.key), value: one.value.or(other.value) })
}
