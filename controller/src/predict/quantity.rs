//! Quantities such as `500m` and `1Gi`, as far as one is another in a different spelling.
//!
//! The API server reads a quantity into a number and writes it in a form of its own, after
//! `k8s.io/apimachinery/pkg/api/resource`. So what is stored may be spelled otherwise than what was applied.

/// Whether two texts are quantities of the same number.
pub(super) fn are_equal(one: &str, other: &str) -> bool {
    match (nanos(one), nanos(other)) {
        (Some(one), Some(other)) => one == other,
        _ => false,
    }
}

/// The quantity in billionths, rounded away from zero as the server does; absent where the text isn't a quantity, or is too
/// large to tell.
fn nanos(text: &str) -> Option<i128> {
    const NANO: u32 = 9;
    let (negative, unsigned) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let (factor, exponent) = unit(suffix)?;
    let exponent = exponent + i32::try_from(NANO).ok()? - i32::try_from(fraction.len()).ok()?;
    let scale = 10_i128.checked_pow(exponent.unsigned_abs())?;
    let number = digits.checked_mul(factor)?;
    let rounded_up = || number / scale + i128::from(number % scale != 0);
    let nanos = if exponent >= 0 { number.checked_mul(scale)? } else { rounded_up() };
    Some(if negative { -nanos } else { nanos })
}

/// A suffix as a factor and a power of ten.
fn unit(suffix: &str) -> Option<(i128, i32)> {
    let decimal = match suffix {
        "n" => -9,
        "u" => -6,
        "m" => -3,
        "" => 0,
        "k" => 3,
        "M" => 6,
        "G" => 9,
        "T" => 12,
        "P" => 15,
        "E" => 18,
        _ => return binary(suffix).or_else(|| exponent(suffix)),
    };
    Some((1, decimal))
}

fn binary(suffix: &str) -> Option<(i128, i32)> {
    let power = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].iter().position(|unit| *unit == suffix)?;
    Some((1 << (10 * (power + 1)), 0))
}

fn exponent(suffix: &str) -> Option<(i128, i32)> {
    let digits = suffix.strip_prefix(['e', 'E'])?;
    Some((1, digits.parse().ok().filter(|exponent: &i32| exponent.abs() < 30)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_number_has_many_spellings() {
        for same in [
            ["0.5", "500m"],
            ["1.5", "1500m"],
            ["1.5Gi", "1536Mi"],
            ["1000", "1k"],
            ["1e3", "1k"],
            ["0.1n", "1n"],
            ["+1", "1"],
            [".5", "500m"],
            ["-1.5", "-1500m"],
            ["0", "0Mi"],
        ] {
            assert!(are_equal(same[0], same[1]), "{same:?}");
        }
    }

    #[test]
    fn other_numbers_and_other_texts_are_not_equal() {
        for other in
            [["1", "2"], ["1Ki", "1k"], ["1", "-1"], ["a", "a"], ["1.2.3", "1.2.3"], ["", ""], ["1x", "1x"]]
        {
            assert!(!are_equal(other[0], other[1]), "{other:?}");
        }
    }
}
