//! Lists of completion indexes, such as `1,3-5`.

/// The first and the last index of a part.
type Interval = (i64, i64);

/// The count of indexes in a list, which ascends and stays below the completions.
pub(super) fn count(text: &str, completions: i64) -> Result<i64, String> {
    let (mut total, mut last) = (0, None);
    for part in text.split(',').filter(|_| !text.is_empty()) {
        let (from, to) = interval(part, completions)?;
        if let Some(last) = last.filter(|last| *last >= from) {
            return Err(format!("non-increasing order, previous: {last}, current: {from}"));
        }
        total += to - from + 1;
        last = Some(to);
    }
    Ok(total)
}

fn interval(part: &str, completions: i64) -> Result<Interval, String> {
    let number = |text: &str| {
        let number: i64 =
            text.parse().map_err(|_| format!("cannot convert string to integer for index: {text:?}"))?;
        if number >= completions { Err(format!("too large index: {text:?}")) } else { Ok(number) }
    };
    match part.split('-').collect::<Vec<_>>()[..] {
        [one] => number(one).map(|index| (index, index)),
        [from, to] => {
            let (from, to) = (number(from)?, number(to)?);
            if from >= to {
                return Err(format!("non-increasing order, previous: {from}, current: {to}"));
            }
            Ok((from, to))
        }
        _ => Err(format!(
            "the fragment {part:?} violates the requirement that an index interval can have at most two parts separated by '-'"
        )),
    }
}

/// The first index in both lists.
pub(super) fn overlap(completed: &str, failed: &str, completions: i64) -> Option<i64> {
    let intervals = |text: &str| -> Vec<Interval> {
        text.split(',').filter_map(|part| interval(part, completions).ok()).collect()
    };
    let failed = intervals(failed);
    intervals(completed).iter().find_map(|(from, to)| {
        let (other, _) = failed.iter().find(|(other, end)| from <= end && other <= to)?;
        Some(*from.max(other))
    })
}
