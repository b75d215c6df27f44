//! Durations as `k8s.io/apimachinery/pkg/util/duration` prints them.

use baton_merge::value::Value;
use jiff::Timestamp;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// A duration with two or three significant digits.
pub(super) fn human_duration(seconds: i64) -> String {
    // The largest unit, with the next one below a limit, unless that is zero.
    let with_rest = |unit: (i64, &str), rest: (i64, &str)| match seconds % unit.0 / rest.0 {
        0 => format!("{}{}", seconds / unit.0, unit.1),
        part => format!("{}{}{part}{}", seconds / unit.0, unit.1, rest.1),
    };
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        _ if seconds < 10 * MINUTE => with_rest((MINUTE, "m"), (1, "s")),
        _ if seconds < 3 * HOUR => format!("{}m", seconds / MINUTE),
        _ if seconds < 8 * HOUR => with_rest((HOUR, "h"), (MINUTE, "m")),
        _ if seconds < 2 * DAY => format!("{}h", seconds / HOUR),
        _ if seconds < 8 * DAY => with_rest((DAY, "d"), (HOUR, "h")),
        _ if seconds < 2 * YEAR => format!("{}d", seconds / DAY),
        _ if seconds < 8 * YEAR => with_rest((YEAR, "y"), (DAY, "d")),
        _ => format!("{}y", seconds / YEAR),
    }
}

/// The timestamp in a value.
pub(super) fn time(value: Option<Value<'_>>) -> Option<Timestamp> {
    value?.as_str()?.parse().ok()
}

/// The duration since a time.
pub(super) fn since(time: Option<Timestamp>, now: Timestamp) -> String {
    time.map_or_else(|| "<unknown>".to_owned(), |time| human_duration(now.duration_since(time).as_secs()))
}
