//! Quantities such as `500m` and `1Gi`, in the API server's spelling.
//!
//! The server parses a quantity and writes it in a form of its own, after `k8s.io/apimachinery/pkg/api/resource`. So the
//! stored spelling may differ from the applied one, and an intent in another spelling would never be live.

use std::iter;

/// The smallest part of a quantity. Anything smaller is rounded away from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// Thousandths, in lists of resources such as `limits`.
    Milli,
    /// Billionths, in any other quantity.
    Nano,
}

impl Precision {
    fn exponent(self) -> i32 {
        match self {
            Self::Milli => -3,
            Self::Nano => -9,
        }
    }
}

/// The stored spelling of a quantity, stable under further reads. None for an invalid text, or a quantity that the server
/// can't write: a number above `999E` with such a suffix.
pub fn canonical(text: &str, precision: Precision) -> Option<String> {
    Quantity::parse(text, precision)?.spelled()
}

/// A quantity in billionths, rounded away from zero; the greatest number if it is too large. None for an invalid text.
pub fn billionths(text: &str) -> Option<i128> {
    let Number { is_negative, digits, exponent } = Quantity::parse(text, Precision::Nano)?.number;
    let zeros = usize::try_from(exponent - Precision::Nano.exponent()).ok()?;
    let mut digits = digits.into_iter().chain(iter::repeat_n(0, zeros));
    let number = digits.try_fold(0_i128, |number, digit| number.checked_mul(10)?.checked_add(digit.into()));
    let number = number.unwrap_or(i128::MAX);
    Some(if is_negative { -number } else { number })
}

/// Whether two texts are equal quantities.
pub fn are_equal(one: &str, other: &str) -> bool {
    match (Quantity::parse(one, Precision::Nano), Quantity::parse(other, Precision::Nano)) {
        (Some(one), Some(other)) => one.number == other.number,
        _ => false,
    }
}

/// The format of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// A suffix for a power of a thousand, or none.
    Decimal,
    /// A suffix for a power of 1024.
    Binary,
    /// A power of ten, such as `e3`.
    Exponent,
}

/// The suffixes of the powers of a thousand, from -3.
const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
/// The suffixes of the powers of 1024, from 1.
const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
/// The index of the power of a thousand without a suffix.
const ONE: usize = 3;
/// The largest power of ten that is accepted.
const GREATEST_EXPONENT: i32 = 1_000_000;
/// The greatest quantity with a binary suffix.
const GREATEST: u128 = i64::MAX as u128;

struct Quantity<'t> {
    number: Number,
    format: Format,
    /// The text as it was read, if the server keeps it. It isn't always the shortest one: `1.500` and `+1` are kept.
    kept: Option<&'t str>,
}

/// A decimal number of any size. Equal numbers have equal fields.
#[derive(Debug, PartialEq, Eq)]
struct Number {
    is_negative: bool,
    /// From the highest to the lowest, without zeros at either end. None for zero.
    digits: Vec<u8>,
    /// The power of ten of the last digit.
    exponent: i32,
}

impl<'t> Quantity<'t> {
    fn parse(text: &'t str, precision: Precision) -> Option<Self> {
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
        let (decimal, suffix) = unsigned.split_at(end);
        let (whole, fraction) = decimal.split_once('.').unwrap_or((decimal, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return None;
        }
        let (format, power) = magnitude(suffix)?;
        let whole = whole.trim_start_matches('0');
        let exponent = if format == Format::Binary { 0 } else { power };
        let places = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?;
        let digits = whole.bytes().chain(fraction.bytes()).map(|digit| digit - b'0').collect();
        let mut number = Number { is_negative: text.starts_with('-'), digits, exponent: places };
        let is_kept = match format {
            Format::Binary => fraction.is_empty() && is_kept_binary(whole, power),
            Format::Decimal | Format::Exponent => {
                places >= precision.exponent() && places % 3 == 0 && is_kept_decimal(whole, fraction)
            }
        };
        if format == Format::Binary {
            (0..power).for_each(|_| number.multiply(1024));
        }
        number.round_up(precision.exponent());
        if format == Format::Binary {
            number.cap();
        }
        number.normalize();
        Some(Self { number, format, kept: is_kept.then_some(text) })
    }

    fn spelled(&self) -> Option<String> {
        if let Some(kept) = self.kept {
            return Some(kept.to_owned());
        }
        let sign = if self.number.is_negative { "-" } else { "" };
        if self.format == Format::Binary
            && let Some((factor, suffix)) = self.number.binary()
        {
            return Some(format!("{sign}{factor}{suffix}"));
        }
        // A binary number without a suffix is read as a decimal one the next time.
        let exponent = self.number.exponent - self.number.exponent.rem_euclid(3);
        let suffix = match self.format {
            _ if exponent == 0 => String::new(),
            Format::Exponent => format!("e{exponent}"),
            Format::Binary | Format::Decimal => {
                let position = usize::try_from(exponent / 3 + i32::try_from(ONE).ok()?).ok()?;
                (*DECIMAL.get(position)?).to_owned()
            }
        };
        Some(format!("{sign}{}{suffix}", self.number.in_units_of(exponent)))
    }
}

/// The power of a suffix: of 1024, or of ten.
fn magnitude(suffix: &str) -> Option<(Format, i32)> {
    let position = |suffixes: &[&str]| {
        let position = suffixes.iter().position(|known| *known == suffix)?;
        i32::try_from(position).ok()
    };
    if let Some(position) = position(&DECIMAL) {
        return Some((Format::Decimal, 3 * (position - i32::try_from(ONE).ok()?)));
    }
    if let Some(position) = position(&BINARY) {
        return Some((Format::Binary, position + 1));
    }
    let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    (-GREATEST_EXPONENT..=GREATEST_EXPONENT).contains(&exponent).then_some((Format::Exponent, exponent))
}

/// Whether the server keeps the text of a decimal number with a suitable magnitude: one that fits an integer and has no
/// zeros to remove.
fn is_kept_decimal(whole: &str, fraction: &str) -> bool {
    const MOST_DIGITS: usize = 18;
    let starts_well = !whole.is_empty();
    let ends_well = !whole.bytes().chain(fraction.bytes()).rev().take(3).eq(iter::repeat_n(b'0', 3));
    starts_well && ends_well && whole.len() + fraction.len() <= MOST_DIGITS
}

/// The same for an integer with a binary suffix.
fn is_kept_binary(whole: &str, power: i32) -> bool {
    let has_room = i32::try_from(whole.len()).is_ok_and(|digits| digits + 3 * power <= 14);
    has_room && whole.parse::<u64>().is_ok_and(|number| number % 8 != 0)
}

impl Number {
    fn multiply(&mut self, factor: u32) {
        let mut carry = 0;
        for digit in self.digits.iter_mut().rev() {
            carry += u32::from(*digit) * factor;
            *digit = last_digit(carry);
            carry /= 10;
        }
        while carry > 0 {
            self.digits.insert(0, last_digit(carry));
            carry /= 10;
        }
    }

    /// Rounds away from zero to a power of ten.
    fn round_up(&mut self, exponent: i32) {
        let surplus = usize::try_from(exponent - self.exponent).unwrap_or(0);
        if surplus == 0 {
            return;
        }
        let lost = self.digits.split_off(self.digits.len().saturating_sub(surplus));
        self.exponent = exponent;
        if lost.iter().any(|digit| *digit != 0) {
            self.increment();
        }
    }

    fn increment(&mut self) {
        for digit in self.digits.iter_mut().rev() {
            if *digit < 9 {
                *digit += 1;
                return;
            }
            *digit = 0;
        }
        self.digits.insert(0, 1);
    }

    /// Caps the number at the greatest integer.
    fn cap(&mut self) {
        let fraction = usize::try_from(-self.exponent).unwrap_or(0).min(self.digits.len());
        let (whole, fraction) = self.digits.split_at(self.digits.len() - fraction);
        let has_fraction = fraction.iter().any(|digit| *digit != 0);
        let whole = whole.iter().try_fold(0_u128, |number, digit| {
            number.checked_mul(10)?.checked_add(u128::from(*digit)).filter(|number| *number <= GREATEST)
        });
        if whole.is_none_or(|whole| whole == GREATEST && has_fraction) {
            self.digits = GREATEST.to_string().bytes().map(|digit| digit - b'0').collect();
            self.exponent = 0;
        }
    }

    /// Removes zeros, and the sign of zero.
    fn normalize(&mut self) {
        let zeros = self.digits.iter().rev().take_while(|digit| **digit == 0).count();
        self.digits.truncate(self.digits.len() - zeros);
        let leading = self.digits.iter().take_while(|digit| **digit == 0).count();
        self.digits.drain(..leading);
        if self.digits.is_empty() {
            (self.is_negative, self.exponent) = (false, 0);
        } else {
            self.exponent += i32::try_from(zeros).unwrap_or(i32::MAX);
        }
    }

    /// The number as a multiple of the greatest power of 1024 that divides it.
    fn binary(&self) -> Option<(u64, &'static str)> {
        let mut number = self.in_units_of(0).parse::<u64>().ok().filter(|_| self.exponent >= 0)?;
        let mut suffix = None;
        for larger in BINARY {
            if number == 0 || number % 1024 != 0 {
                break;
            }
            number /= 1024;
            suffix = Some(larger);
        }
        Some((number, suffix?))
    }

    /// The number in units of this power of ten, which is at most its own.
    fn in_units_of(&self, exponent: i32) -> String {
        if self.digits.is_empty() {
            return "0".to_owned();
        }
        let zeros = usize::try_from(self.exponent - exponent).unwrap_or(0);
        let digits = self.digits.iter().copied().chain(iter::repeat_n(0, zeros));
        digits.map(|digit| char::from(b'0' + digit)).collect()
    }
}

fn last_digit(number: u32) -> u8 {
    u8::try_from(number % 10).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Texts with the results of `resource.ParseQuantity` of k8s.io/apimachinery v0.36.3, read and written until they are
    /// stable: as they are, and rounded up to thousandths.
    #[rustfmt::skip]
    const CASES: &[(&str, &str, &str)] = &[
        ("0", "0", "0"), ("00", "0", "0"), ("-0", "0", "0"), ("0.0", "0", "0"), ("0Mi", "0", "0"),
        ("0e9", "0", "0"), ("1", "1", "1"), ("+1", "+1", "+1"), ("-1", "-1", "-1"), ("01", "01", "01"),
        ("1.", "1.", "1."), ("1.0", "1", "1"), (".5", "500m", "500m"), ("0.5", "500m", "500m"),
        ("-0.5", "-500m", "-500m"), ("+0.5", "500m", "500m"), ("1.5", "1500m", "1500m"),
        ("1.500", "1.500", "1.500"), ("1.5000", "1500m", "1500m"), ("0.1", "100m", "100m"),
        ("0.25", "250m", "250m"), ("0.001", "1m", "1m"), ("100m", "100m", "100m"), ("1000m", "1", "1"),
        ("1500m", "1500m", "1500m"), ("2000m", "2", "2"), ("-2500m", "-2500m", "-2500m"),
        ("100000000n", "100m", "100m"), ("1n", "1n", "1m"), ("0.1n", "1n", "1m"), ("-0.1n", "-1n", "-1m"),
        ("1u", "1u", "1m"), ("100u", "100u", "1m"), ("1500u", "1500u", "2m"), ("999999u", "999999u", "1"),
        ("1.250000", "1250m", "1250m"), ("999", "999", "999"), ("1000", "1k", "1k"), ("1001", "1001", "1001"),
        ("1500", "1500", "1500"), ("12000", "12k", "12k"), ("1000000", "1M", "1M"),
        ("123456789012345678", "123456789012345678", "123456789012345678"),
        ("1234567890123456789", "1234567890123456789", "1234567890123456789"),
        ("+1234567890123456789", "1234567890123456789", "1234567890123456789"),
        ("1000000000000000000", "1E", "1E"), ("1k", "1k", "1k"), ("1.5k", "1500", "1500"),
        ("0.5k", "500", "500"), ("1000k", "1M", "1M"), ("1500M", "1500M", "1500M"), ("0.000001M", "1", "1"),
        ("1000P", "1E", "1E"), ("1500P", "1500P", "1500P"), ("999E", "999E", "999E"), ("1e0", "1e0", "1e0"),
        ("1e3", "1e3", "1e3"), ("1E3", "1E3", "1E3"), ("1e03", "1e03", "1e03"), ("10e2", "1e3", "1e3"),
        ("1500e-3", "1500e-3", "1500e-3"), ("1e-9", "1e-9", "1e-3"), ("1e-10", "1e-9", "1e-3"),
        ("12e4", "120e3", "120e3"), ("1e21", "1e21", "1e21"), ("1000e18", "1e21", "1e21"),
        ("1Ki", "1Ki", "1Ki"), ("2Ki", "2Ki", "2Ki"), ("1024Ki", "1Mi", "1Mi"),
        ("1000Ki", "1000Ki", "1000Ki"), ("1025Ki", "1025Ki", "1025Ki"), ("0.5Ki", "512", "512"),
        ("0.9Ki", "921600m", "921600m"), ("1.1Ki", "1126400m", "1126400m"), ("1.5Ki", "1536", "1536"),
        ("-1.5Ki", "-1536", "-1536"), ("1.953125Ki", "2k", "2k"), ("1Mi", "1Mi", "1Mi"),
        ("1.5Gi", "1536Mi", "1536Mi"), ("0.5Gi", "512Mi", "512Mi"), ("1048576Ki", "1Gi", "1Gi"),
        ("+1Mi", "+1Mi", "+1Mi"), ("+8Mi", "8Mi", "8Mi"), ("1Ti", "1Ti", "1Ti"),
        ("1.25Ti", "1280Gi", "1280Gi"), ("+1Pi", "1Pi", "1Pi"), ("7Ei", "7Ei", "7Ei"),
        ("8Ei", "9223372036854775807", "9223372036854775807"),
        ("9223372036854775807Ki", "9223372036854775807", "9223372036854775807"),
        ("-9Ei", "-9223372036854775807", "-9223372036854775807"), ("0.0001Ki", "102400u", "103m"),
        ("1.0001Ki", "1024102400u", "1024103m"),
    ];

    #[test]
    fn quantities_are_spelled_as_the_server_spells_them() {
        for (text, nano, milli) in CASES {
            assert_eq!(canonical(text, Precision::Nano).as_deref(), Some(*nano), "{text}");
            assert_eq!(canonical(text, Precision::Milli).as_deref(), Some(*milli), "{text} in thousandths");
        }
    }

    #[test]
    fn what_is_no_quantity_has_no_spelling() {
        for text in
            ["", "a", "1x", "1.2.3", "+-1", "1e", "1e1.5", "1ki", "1 ", "Ki", ".", "-", "1e99999999999"]
        {
            assert_eq!(canonical(text, Precision::Nano), None, "{text:?}");
        }
    }

    #[test]
    fn what_the_server_cannot_write_has_no_spelling() {
        // The server drops the suffix and stores another number.
        for text in ["1000E", "1000000P", "2000000000T"] {
            assert_eq!(canonical(text, Precision::Nano), None, "{text:?}");
        }
    }

    #[test]
    fn one_number_has_many_spellings() {
        let same =
            [["0.5", "500m"], ["1.5Gi", "1536Mi"], ["1e3", "1k"], ["0.1n", "1n"], ["+1", "1"], ["0", "0Mi"]];
        for [one, other] in same {
            assert!(are_equal(one, other), "{one} {other}");
        }
    }

    #[test]
    fn other_numbers_and_other_texts_are_not_equal() {
        for [one, other] in [["1", "2"], ["1Ki", "1k"], ["1", "-1"], ["a", "a"], ["1.2.3", "1.2.3"], ["", ""]]
        {
            assert!(!are_equal(one, other), "{one} {other}");
        }
    }

    const QUANTITY: &str =
        "[+-]?([0-9]{1,25}\\.?[0-9]{0,15}|\\.[0-9]{1,15})([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,3})?";

    proptest! {
        #[test]
        fn the_spelling_of_a_spelling_is_the_same(text in QUANTITY) {
            for precision in [Precision::Nano, Precision::Milli] {
                if let Some(spelled) = canonical(&text, precision) {
                    prop_assert_eq!(canonical(&spelled, precision), Some(spelled));
                }
            }
        }

        #[test]
        fn a_quantity_equals_its_spelling(text in QUANTITY) {
            if let Some(spelled) = canonical(&text, Precision::Nano) {
                prop_assert!(are_equal(&text, &spelled), "{} {}", text, spelled);
            }
        }

        #[test]
        fn any_text_can_be_tried(text in ".{0,12}") {
            let _ = canonical(&text, Precision::Nano);
        }
    }
}
