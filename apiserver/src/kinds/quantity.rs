//! Quantities such as `500m` and `1Gi`, for comparisons in rules.

use baton_merge::{quantity::billionths, value::Value};

use super::cursor::{Cursor, Errors};

/// A quantity in billionths, the server's precision. Larger ones saturate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Quantity(pub(crate) i128);

pub(crate) const UNIT: i128 = 1_000_000_000;

impl Quantity {
    pub(super) const ZERO: Self = Self(0);

    pub(super) const ONE: Self = Self(UNIT);

    /// The quantity of a string, zero if it is invalid.
    pub(crate) fn parse(text: &str) -> Self {
        Self::read(text).unwrap_or(Self::ZERO)
    }

    /// The quantity of a string or a number.
    pub(crate) fn of(value: Option<Value<'_>>) -> Self {
        match value {
            Some(Value::String(text)) => Self::parse(text),
            Some(Value::Int(int)) => Self(i128::from(int) * UNIT),
            _ => Self::ZERO,
        }
    }

    /// In thousandths, rounded up; none on overflow.
    pub(crate) fn milli(self) -> Option<i64> {
        i64::try_from(self.0.saturating_add(999_999) / 1_000_000).ok()
    }

    pub(crate) fn read(text: &str) -> Option<Self> {
        billionths(text).map(Self)
    }

    pub(super) fn is_whole(self) -> bool {
        self.0 % UNIT == 0
    }

    /// Rounded away from zero.
    pub(super) fn rounded(self) -> i64 {
        let whole = self.0 / UNIT + (self.0 % UNIT).signum();
        i64::try_from(whole).unwrap_or(if whole < 0 { i64::MIN } else { i64::MAX })
    }

    /// Whether it is a multiple of another one, which isn't zero.
    pub(super) fn is_multiple_of(self, other: Self) -> bool {
        other.0 > 0 && other.is_whole() && self.0 % other.0 == 0
    }

    /// The ratio to another one.
    #[expect(clippy::cast_precision_loss, reason = "the server computes with floats here, too")]
    pub(super) fn ratio_to(self, other: Self) -> f64 {
        self.0 as f64 / other.0 as f64
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Cursor<'_> {
    /// The quantity, zero if absent.
    pub(super) fn quantity(&self) -> Quantity {
        Quantity::of(self.value)
    }

    /// The quantity is at least zero.
    pub(super) fn check_non_negative_quantity(&self, errors: &mut Errors) {
        if self.quantity() < Quantity::ZERO {
            errors.push(self.invalid_text("must be greater than or equal to 0"));
        }
    }

    /// The quantity is greater than zero.
    pub(super) fn check_positive_quantity(&self, errors: &mut Errors) {
        if self.quantity() <= Quantity::ZERO {
            errors.push(self.invalid_text("must be greater than zero"));
        }
    }
}
