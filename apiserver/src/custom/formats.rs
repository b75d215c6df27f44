//! The enforced formats of strings, after go-openapi's strfmt.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use regex::Regex;

use crate::kinds::format;

/// An enforced format: its name without dashes, and its check.
type Format = (&'static str, fn(&str) -> bool);

const FORMATS: &[Format] = &[
    ("bsonobjectid", |text| matches(&BSON_ID, text)),
    ("byte", is_base64),
    ("cidr", is_cidr),
    ("creditcard", is_credit_card),
    ("date", is_date),
    ("datetime", is_date_time),
    ("duration", |text| parse_duration(text).is_some()),
    ("email", is_email),
    ("hexcolor", |text| matches(&HEX_COLOR, text)),
    ("hostname", is_hostname),
    ("ipv4", |text| text.contains('.') && text.parse::<Ipv4Addr>().is_ok()),
    ("ipv6", |text| text.contains(':') && text.parse::<Ipv6Addr>().is_ok()),
    ("isbn", |text| is_isbn10(text) || is_isbn13(text)),
    ("isbn10", is_isbn10),
    ("isbn13", is_isbn13),
    ("k8slongname", |text| format::dns_subdomain(text).is_empty()),
    ("k8sshortname", |text| format::dns_label(text).is_empty()),
    ("mac", |text| matches(&MAC, text)),
    ("password", |_| true),
    ("rgbcolor", |text| matches(&RGB_COLOR, text)),
    ("ssn", |text| matches(&SSN, text)),
    ("uri", is_uri),
    ("uuid", |text| matches(&UUID, text)),
    ("uuid3", |text| matches(&UUID3, text)),
    ("uuid4", |text| matches(&UUID4, text)),
    ("uuid5", |text| matches(&UUID5, text)),
];

type Lazy = LazyLock<Option<Regex>>;

static BSON_ID: Lazy = lazy(|| Regex::new("^[0-9a-fA-F]{24}$").ok());
static HEX_COLOR: Lazy = lazy(|| Regex::new("^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$").ok());
static MAC: Lazy = lazy(|| {
    let lengths = ["{5}", "{7}", "{19}"].map(|more| {
        format!("([0-9a-fA-F]{{2}}(:[0-9a-fA-F]{{2}}){more})|([0-9a-fA-F]{{2}}(-[0-9a-fA-F]{{2}}){more})")
    });
    let dotted = ["{2}", "{3}", "{9}"].map(|more| format!(r"([0-9a-fA-F]{{4}}(\.[0-9a-fA-F]{{4}}){more})"));
    Regex::new(&format!("^({}|{})$", lengths.join("|"), dotted.join("|"))).ok()
});
static RGB_COLOR: Lazy = lazy(|| {
    let part = r"\s*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])\s*";
    Regex::new(&format!(r"^rgb\({part},{part},{part}\)$")).ok()
});
static SSN: Lazy = lazy(|| Regex::new("^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$").ok());
static UUID: Lazy =
    lazy(|| Regex::new("(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$").ok());
static UUID3: Lazy =
    lazy(|| Regex::new("(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$").ok());
static UUID4: Lazy =
    lazy(|| Regex::new("(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$").ok());
static UUID5: Lazy =
    lazy(|| Regex::new("(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$").ok());
static HOSTNAME: Lazy = lazy(|| {
    let host = r"[a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)";
    let label = r"[a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9\-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)";
    Regex::new(&format!(r"^({host}|({label}){{1,}}([a-zA-Z\p{{L}}]){{2,63}})$")).ok()
});
static EMAIL: Lazy = lazy(|| {
    let atom = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~\x{80}-\x{10ffff}-]+";
    let address = format!(r#"(?:{atom}(?:\.{atom})*|"[^"\\]*")@(?:{atom}(?:\.{atom})*|\[[^\[\]]*\])"#);
    Regex::new(&format!(r"^\s*(?:{address}|[^<>@]*<{address}>)\s*$")).ok()
});
static CARD: Lazy = lazy(|| {
    let kinds = [
        "4[0-9]{12}(?:[0-9]{3})?",
        "5[1-5][0-9]{14}",
        "(222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720)[0-9]{12}",
        "6(?:011|5[0-9][0-9])[0-9]{12}",
        "3[47][0-9]{13}",
        "3(?:0[0-5]|[68][0-9])[0-9]{11}",
        r"(?:2131|1800|35[0-9]{3})[0-9]{11}",
        "6[27][0-9]{14}",
    ];
    Regex::new(&format!("^(?:{})$", kinds.join("|"))).ok()
});
static DURATION: Lazy = lazy(|| Regex::new("(([0-9]+)\\s*([A-Za-zµ]+))").ok());

const fn lazy(make: fn() -> Option<Regex>) -> Lazy {
    LazyLock::new(make)
}

fn matches(regex: &Lazy, text: &str) -> bool {
    regex.as_ref().is_some_and(|regex| regex.is_match(text))
}

/// The check of an enforced format.
pub(super) fn of(name: &str) -> Option<fn(&str) -> bool> {
    let plain = name.replace('-', "");
    FORMATS.iter().find(|(known, _)| *known == plain).map(|(_, holds)| *holds)
}

/// Whether a format is known for values of a type.
pub(super) fn is_known(type_name: &str, format: &str) -> bool {
    match type_name {
        "" | "string" => of(format).is_some(),
        "integer" => ["int32", "int64"].contains(&format),
        "number" => ["float", "double"].contains(&format),
        _ => false,
    }
}

fn is_base64(text: &str) -> bool {
    let padding = text.bytes().rev().take(2).take_while(|byte| *byte == b'=').count();
    let digits = &text.as_bytes()[..text.len() - padding];
    !text.is_empty()
        && text.len().is_multiple_of(4)
        && digits.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let limit = match (address.parse::<Ipv4Addr>(), address.parse::<Ipv6Addr>()) {
        (Ok(_), _) => 32,
        (_, Ok(_)) => 128,
        _ => return false,
    };
    bits.bytes().all(|byte| byte.is_ascii_digit()) && bits.parse::<u8>().is_ok_and(|bits| bits <= limit)
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok()
}

fn is_date_time(text: &str) -> bool {
    static TIME: Lazy =
        lazy(|| Regex::new("^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$").ok());
    let text = text.to_lowercase();
    let Some((date, time)) = text.split_once('t') else { return false };
    let fits = |parts: regex::Captures<'_>| &parts[1] <= "23" && &parts[2] <= "59" && &parts[3] <= "59";
    is_date(date) && TIME.as_ref().and_then(|regex| regex.captures(time)).is_some_and(fits)
}

fn is_email(text: &str) -> bool {
    matches(&EMAIL, text)
}

fn is_hostname(text: &str) -> bool {
    matches(&HOSTNAME, text) && text.len() <= 255 && text.split('.').all(|label| label.len() <= 63)
}

/// `url.ParseRequestURI`: an absolute path, or a scheme with something after it.
fn is_uri(text: &str) -> bool {
    let is_plain = text.chars().all(|each| !each.is_control() && each != ' ');
    let scheme = text.split_once(':').is_some_and(|(scheme, rest)| {
        let mut letters = scheme.chars();
        letters.next().is_some_and(|first| first.is_ascii_alphabetic())
            && letters.all(|each| each.is_ascii_alphanumeric() || "+-.".contains(each))
            && !rest.is_empty()
    });
    is_plain && (text.starts_with('/') || scheme)
}

fn digits(text: &str) -> Vec<u32> {
    text.chars().filter_map(|each| each.to_digit(10)).collect()
}

fn is_isbn10(text: &str) -> bool {
    let plain = text.replace([' ', '-'], "");
    let value = |(index, each): (u32, char)| match each {
        'X' if index == 9 => Some(100),
        _ => each.to_digit(10).map(|digit| (index + 1) * digit),
    };
    let sum: Option<u32> = (0..).zip(plain.chars()).map(value).sum();
    plain.len() == 10 && sum.is_some_and(|sum| sum % 11 == 0)
}

fn is_isbn13(text: &str) -> bool {
    let plain = text.replace([' ', '-'], "");
    let digits = digits(&plain);
    let sum: u32 = digits.iter().zip([1, 3].into_iter().cycle()).map(|(digit, weight)| digit * weight).sum();
    plain.len() == 13 && digits.len() == 13 && sum.is_multiple_of(10)
}

fn is_credit_card(text: &str) -> bool {
    let digits = digits(text);
    let plain: String = digits.iter().filter_map(|digit| char::from_digit(*digit, 10)).collect();
    let doubled = |(index, digit): (usize, &u32)| match index % 2 {
        0 => *digit,
        _ if *digit > 4 => 2 * digit - 9,
        _ => 2 * digit,
    };
    let sum: u32 = digits.iter().rev().enumerate().map(doubled).sum();
    matches(&CARD, &plain) && sum.is_multiple_of(10)
}

/// A duration in Go's form or, as strfmt allows, with long names of units: `3 days`. In nanoseconds.
pub(super) fn parse_duration(text: &str) -> Option<i64> {
    go_duration(text).or_else(|| {
        let mut sum: Option<i64> = None;
        for parts in DURATION.as_ref()?.captures_iter(text) {
            let factor: i64 = parts[2].parse().ok()?;
            if let Some(unit) = long_unit(&parts[3].to_lowercase()) {
                sum = Some(sum.unwrap_or_default().checked_add(factor.checked_mul(unit)?)?);
            }
        }
        sum
    })
}

const SECOND: i64 = 1_000_000_000;

fn long_unit(name: &str) -> Option<i64> {
    let units: [(&[&str], i64); 9] = [
        (&["ns", "nano"], 1),
        (&["us", "µs", "micro"], 1000),
        (&["ms", "milli"], 1_000_000),
        (&["s", "sec"], SECOND),
        (&["m", "min"], 60 * SECOND),
        (&["h", "hr", "hour"], 3600 * SECOND),
        (&["d", "day"], 24 * 3600 * SECOND),
        (&["w", "wk", "week"], 7 * 24 * 3600 * SECOND),
        (&[], 0),
    ];
    let is =
        |names: &[&str]| names.contains(&name) || names.last().is_some_and(|prefix| name.starts_with(prefix));
    units.iter().find(|(names, _)| is(names)).map(|(_, unit)| *unit)
}

fn go_duration(text: &str) -> Option<i64> {
    let (text, sign) = match text.strip_prefix('-') {
        Some(rest) => (rest, -1),
        None => (text.strip_prefix('+').unwrap_or(text), 1),
    };
    if text == "0" {
        return Some(0);
    }
    let mut rest = text;
    let mut sum: i64 = 0;
    while !rest.is_empty() {
        let end = rest.find(|each: char| !each.is_ascii_digit() && each != '.')?;
        let (number, after) = rest.split_at(end);
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        if part.contains('.') || (whole.is_empty() && part.is_empty()) {
            return None;
        }
        let unit_end = after.find(|each: char| each.is_ascii_digit() || each == '.').unwrap_or(after.len());
        let (unit, next) = after.split_at(unit_end);
        let unit = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1000,
            "ms" => 1_000_000,
            "s" => SECOND,
            "m" => 60 * SECOND,
            "h" => 3600 * SECOND,
            _ => return None,
        };
        let whole: i64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        sum = sum.checked_add(whole.checked_mul(unit)?)?.checked_add(fraction(part, unit))?;
        rest = next;
    }
    (!text.is_empty()).then_some(sum * sign)
}

/// The nanoseconds of the digits after the decimal point.
fn fraction(digits: &str, unit: i64) -> i64 {
    let mut place = i128::from(unit);
    let mut scale: i128 = 1;
    let mut sum: i128 = 0;
    for digit in digits.chars().take(18).filter_map(|each| each.to_digit(10)) {
        sum = sum * 10 + i128::from(digit);
        scale *= 10;
    }
    place *= sum;
    i64::try_from(place / scale).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_fulfil_formats_as_strfmt_has_it() {
        for (format, good, bad) in [
            ("byte", "YWJj", "YWJ"),
            ("cidr", "10.0.0.0/8", "10.0.0.0/33"),
            ("creditcard", "4111-1111-1111-1111", "4111-1111-1111-1112"),
            ("date", "2026-02-28", "2026-02-30"),
            ("date-time", "2026-02-28T10:11:12.5Z", "2026-02-28 10:11:12Z"),
            ("duration", "1h30m", "soon"),
            ("duration", "3 days", ""),
            ("email", "a@b.c", "a.b.c"),
            ("hostname", "a-b.example", "a_b!"),
            ("ipv4", "1.2.3.4", "1.2.3"),
            ("ipv6", "::1", "1.2.3.4"),
            ("isbn10", "0321751043", "0321751044"),
            ("isbn", "978-0321751041", "978-0321751042"),
            ("k8s-short-name", "a-b", "a.b"),
            ("mac", "01:23:45:67:89:ab", "01:23"),
            ("uri", "https://a/b", "a/b"),
            ("uuid", "6BA7B810-9DAD-11D1-80B4-00C04FD430C8", "6BA7"),
        ] {
            let holds = of(format).unwrap();
            assert!(holds(good), "{format} {good}");
            assert!(!holds(bad), "{format} {bad}");
        }
        assert_eq!(parse_duration("-1.5s"), Some(-1_500_000_000));
    }
}
