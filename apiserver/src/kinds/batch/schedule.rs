//! Schedules of cron jobs, with the messages of the server's parser.

/// A field of a schedule.
struct Field {
    min: u64,
    max: u64,
    names: &'static [&'static str],
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

const FIELDS: [Field; 5] = [
    Field { min: 0, max: 59, names: &[] },
    Field { min: 0, max: 23, names: &[] },
    Field { min: 1, max: 31, names: &[] },
    Field { min: 1, max: 12, names: &MONTHS },
    Field { min: 0, max: 6, names: &DAYS },
];

const DESCRIPTORS: [&str; 7] =
    ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];

/// Validates a schedule.
pub(super) fn parse(text: &str) -> Result<(), String> {
    let text = match ["TZ=", "CRON_TZ="].iter().find_map(|prefix| text.strip_prefix(prefix)) {
        None => text,
        Some(rest) => {
            let (zone, rest) = rest.split_once(' ').ok_or_else(|| {
                "invalid schedule format: runtime error: slice bounds out of range [:-1]".to_owned()
            })?;
            if !matches!(zone, "" | "Local") && jiff::tz::TimeZone::get(zone).is_err() {
                return Err(format!("provided bad location {zone}: unknown time zone {zone}"));
            }
            rest.trim()
        }
    };
    if text.starts_with('@') {
        return parse_descriptor(text);
    }
    let fields: Vec<_> = text.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Err(format!(
            "expected exactly {} fields, found {}: [{}]",
            FIELDS.len(),
            fields.len(),
            fields.join(" ")
        ));
    }
    for (text, field) in fields.iter().zip(&FIELDS) {
        for range in text.split(',').filter(|range| !range.is_empty()) {
            check_range(range, field)?;
        }
    }
    Ok(())
}

fn parse_descriptor(text: &str) -> Result<(), String> {
    if DESCRIPTORS.contains(&text) {
        return Ok(());
    }
    let Some(duration) = text.strip_prefix("@every ") else {
        return Err(format!("unrecognized descriptor: {text}"));
    };
    if is_duration(duration) {
        return Ok(());
    }
    Err(format!("failed to parse duration {text}: time: invalid duration {duration:?}"))
}

/// Whether a text is a duration such as `1h30m`.
fn is_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let number = rest.trim_start_matches(|char: char| char.is_ascii_digit() || char == '.');
        let digits = &rest[..rest.len() - number.len()];
        if !digits.bytes().any(|byte| byte.is_ascii_digit()) || digits.matches('.').count() > 1 {
            return false;
        }
        let unit =
            ["ns", "us", "µs", "μs", "ms", "s", "m", "h"].iter().filter(|unit| number.starts_with(**unit));
        let Some(unit) = unit.max_by_key(|unit| unit.len()) else { return false };
        rest = &number[unit.len()..];
    }
    true
}

fn check_range(text: &str, field: &Field) -> Result<(), String> {
    let parts: Vec<_> = text.split('/').collect();
    let (range, step) = (parts.first().copied().unwrap_or_default(), parts.get(1));
    let ends: Vec<_> = range.split('-').collect();
    let (start, mut end) = match ends[..] {
        ["*" | "?", ..] => (field.min, field.max),
        [one] => number_or_name(one, field).map(|number| (number, number))?,
        [from, to] => (number_or_name(from, field)?, number_or_name(to, field)?),
        [from, ..] => {
            number_or_name(from, field)?;
            return Err(format!("too many hyphens: {text}"));
        }
        [] => return Ok(()),
    };
    if parts.len() > 2 {
        return Err(format!("too many slashes: {text}"));
    }
    let step = step.map_or(Ok(1), |step| number(step))?;
    if parts.len() == 2 && ends.len() == 1 {
        end = field.max;
    }
    if start < field.min {
        return Err(format!("beginning of range ({start}) below minimum ({}): {text}", field.min));
    }
    if end > field.max {
        return Err(format!("end of range ({end}) above maximum ({}): {text}", field.max));
    }
    if start > end {
        return Err(format!("beginning of range ({start}) beyond end of range ({end}): {text}"));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {text}"));
    }
    Ok(())
}

fn number_or_name(text: &str, field: &Field) -> Result<u64, String> {
    let position = field.names.iter().zip(field.min..).find(|(name, _)| text.eq_ignore_ascii_case(name));
    position.map_or_else(|| number(text), |(_, position)| Ok(position))
}

fn number(text: &str) -> Result<u64, String> {
    let parsed: i64 = text.parse().map_err(|error: std::num::ParseIntError| {
        let problem = match error.kind() {
            std::num::IntErrorKind::PosOverflow | std::num::IntErrorKind::NegOverflow => "value out of range",
            _ => "invalid syntax",
        };
        format!("failed to parse int from {text}: strconv.Atoi: parsing {text:?}: {problem}")
    })?;
    u64::try_from(parsed).map_err(|_| format!("negative number ({parsed}) not allowed: {text}"))
}
