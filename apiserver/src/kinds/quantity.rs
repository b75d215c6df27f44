//! Quantities such as `500m` and `1Gi`, as far as rules compare them.

use baton_merge::value::Value;

use super::cursor::{Cursor, Errors};

/// A quantity in billionths, the smallest part that the server keeps. Too large ones count as the largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Quantity(pub(crate) i128);

/// One, in billionths.
pub(crate) const UNIT: i128 = 1_000_000_000;

/// The suffixes and what they multiply a number with, in billionths.
const SUFFIXES: [(&str, i128); 16] = [
    ("Ki", UNIT << 10),
    ("Mi", UNIT << 20),
    ("Gi", UNIT << 30),
    ("Ti", UNIT << 40),
    ("Pi", UNIT << 50),
    ("Ei", UNIT << 60),
    ("n", 1),
    ("u", 1_000),
    ("m", 1_000_000),
    ("k", UNIT * 1_000),
    ("M", UNIT * 1_000_000),
    ("G", UNIT * 1_000_000_000),
    ("T", UNIT * 1_000_000_000_000),
    ("P", UNIT * 1_000_000_000_000_000),
    ("E", UNIT * 1_000_000_000_000_000_000),
    ("", UNIT),
];

impl Quantity {
    /// Nothing.
    pub(super) const ZERO: Self = Self(0);

    /// One.
    pub(super) const ONE: Self = Self(UNIT);

    /// The quantity of a text, nothing where it isn't one.
    pub(crate) fn parse(text: &str) -> Self {
        Self::read(text).unwrap_or(Self::ZERO)
    }

    /// The quantity of a value: a text, or a number.
    pub(crate) fn of(value: Option<Value<'_>>) -> Self {
        match value {
            Some(Value::String(text)) => Self::parse(text),
            Some(Value::Int(int)) => Self(i128::from(int) * UNIT),
            _ => Self::ZERO,
        }
    }

    /// In thousandths, rounded up; none where that is too many.
    pub(crate) fn milli(self) -> Option<i64> {
        i64::try_from(self.0.saturating_add(999_999) / 1_000_000).ok()
    }

    /// The quantity of a text.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let end = text.find(|char: char| !char.is_ascii_digit() && char != '.').unwrap_or(text.len());
        let (digits, suffix) = text.split_at(end);
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let scale = match suffix.strip_prefix(['e', 'E']).filter(|exponent| !exponent.is_empty()) {
            Some(exponent) if !matches!(suffix, "Ei") => {
                10_i128.checked_pow(u32::try_from(exponent.parse::<i32>().ok()?.checked_add(9)?).ok()?)?
            }
            _ => SUFFIXES.iter().find(|(name, _)| *name == suffix)?.1,
        };
        let mut total: i128 = 0;
        for digit in whole.bytes() {
            total = total.checked_mul(10)?.checked_add(i128::from(digit - b'0'))?;
        }
        total = total.checked_mul(scale).unwrap_or(i128::MAX);
        let mut part = scale;
        for digit in fraction.bytes() {
            part /= 10;
            total = total.saturating_add(part * i128::from(digit.checked_sub(b'0')?));
        }
        Some(Self(if negative { -total } else { total }))
    }

    /// Whether it is a whole number.
    pub(super) fn is_whole(self) -> bool {
        self.0 % UNIT == 0
    }

    /// The next whole number that isn't nearer to zero.
    pub(super) fn rounded(self) -> i64 {
        let whole = self.0 / UNIT + (self.0 % UNIT).signum();
        i64::try_from(whole).unwrap_or(if whole < 0 { i64::MIN } else { i64::MAX })
    }

    /// Whether it is a multiple of another one, which isn't nothing.
    pub(super) fn is_multiple_of(self, other: Self) -> bool {
        other.0 > 0 && other.is_whole() && self.0 % other.0 == 0
    }

    /// How many times another one it is.
    #[expect(clippy::cast_precision_loss, reason = "the server computes with floats here, too")]
    pub(super) fn ratio_to(self, other: Self) -> f64 {
        self.0 as f64 / other.0 as f64
    }

    /// The sum of both.
    pub(super) fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Cursor<'_> {
    /// The quantity, nothing where there is none.
    pub(super) fn quantity(&self) -> Quantity {
        Quantity::of(self.value)
    }

    /// The quantity may not be negative.
    pub(super) fn check_non_negative_quantity(&self, errors: &mut Errors) {
        if self.quantity() < Quantity::ZERO {
            errors.push(self.invalid_text("must be greater than or equal to 0"));
        }
    }

    /// The quantity has to be more than nothing.
    pub(super) fn check_positive_quantity(&self, errors: &mut Errors) {
        if self.quantity() <= Quantity::ZERO {
            errors.push(self.invalid_text("must be greater than zero"));
        }
    }
}
