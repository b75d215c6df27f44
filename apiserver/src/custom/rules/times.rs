//! Fields of a timestamp, in a time zone.

use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, Zoned};
use kube_cel::cel::{ExecutionError, Value};

/// A field of a timestamp in a zone, or in UTC.
///
/// # Errors
/// When the zone doesn't exist.
pub(super) fn field(name: &str, time: &Value, zone: Option<&str>) -> Option<Result<Value, ExecutionError>> {
    let Value::Timestamp(time) = time else { return None };
    let read: fn(&Zoned) -> i64 = match name {
        "getFullYear" => |time| time.year().into(),
        "getMonth" => |time| i64::from(time.month()) - 1,
        "getDayOfYear" => |time| i64::from(time.day_of_year()) - 1,
        "getDayOfMonth" => |time| i64::from(time.day()) - 1,
        "getDate" => |time| time.day().into(),
        "getDayOfWeek" => |time| time.weekday().to_sunday_zero_offset().into(),
        "getHours" => |time| time.hour().into(),
        "getMinutes" => |time| time.minute().into(),
        "getSeconds" => |time| time.second().into(),
        "getMilliseconds" => |time| time.millisecond().into(),
        _ => return None,
    };
    let nanosecond = i32::try_from(time.timestamp_subsec_nanos()).unwrap_or_default();
    let time = Timestamp::new(time.timestamp(), nanosecond).map_err(|why| why.to_string());
    let read = time.and_then(|time| Ok(Value::Int(read(&time.to_zoned(time_zone(zone)?)))));
    Some(read.map_err(|why| ExecutionError::function_error(name, why)))
}

/// A zone by its name, or by its offset from UTC, such as `-05:30`.
fn time_zone(name: Option<&str>) -> Result<TimeZone, String> {
    let name = match name {
        None | Some("" | "UTC") => return Ok(TimeZone::UTC),
        Some(name) => name,
    };
    let Some((hours, minutes)) = name.split_once(':') else {
        return TimeZone::get(name).map_err(|_| format!("unknown time zone {name}"));
    };
    let number = |text: &str| {
        let number = text.parse::<i32>();
        number.map_err(|_| format!("strconv.Atoi: parsing {text:?}: invalid syntax"))
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    let minutes = if name.starts_with('-') { -minutes } else { minutes };
    let seconds = hours.saturating_mul(60).saturating_add(minutes).saturating_mul(60);
    Offset::from_seconds(seconds).map(TimeZone::fixed).map_err(|why| why.to_string())
}
