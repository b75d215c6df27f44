//! Support for tokio's paused time, which advances only while every task waits: a clock that follows it, and a limit of
//! repeats for clients that never wait.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time,
};

use jiff::Timestamp;
use tokio::time::Instant;

use crate::{faults::RequestInfo, server::Clock};

/// The system's clock or, if tokio's time is paused, one that advances with it.
pub(crate) fn clock() -> Clock {
    if !is_paused() {
        return Box::new(Timestamp::now);
    }
    let (start, began) = (Timestamp::now(), Instant::now());
    Box::new(move || start.checked_add(began.elapsed()).unwrap_or(Timestamp::MAX))
}

/// Whether tokio's time stands still.
fn is_paused() -> bool {
    let (before, machine) = (Instant::now(), time::Instant::now());
    while time::Instant::now() == machine {}
    Instant::now() == before
}

/// How many of the most frequent requests the message shows.
const SHOWN: usize = 5;

/// Counts repeated requests at one moment. Without paused time, no two requests are at the same moment.
pub(crate) struct Repeats {
    limit: usize,
    counted: Mutex<(Instant, HashMap<String, usize>)>,
}

impl Repeats {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, counted: Mutex::new((Instant::now(), HashMap::new())) }
    }

    /// Counts a request. Returns a message with the most frequent requests, if the limit is exceeded.
    pub(crate) fn count(&self, info: &RequestInfo) -> Option<String> {
        let of = |kind, name: &str| if name.is_empty() { String::new() } else { format!(", {kind} {name}") };
        let manager = of("field manager", info.query("fieldManager").unwrap_or_default());
        let what = format!("{} {}{manager}{}", info.method, info.path, of("client", &info.client));
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let (moment, requests) = &mut *counted;
        let now = Instant::now();
        if *moment != now {
            *moment = now;
            requests.clear();
        }
        let count = requests.entry(what).or_default();
        *count += 1;
        if *count <= self.limit {
            return None;
        }
        let mut most: Vec<_> = requests.iter().map(|(what, count)| (*count, what)).collect();
        most.sort_unstable_by(|left, right| right.cmp(left));
        let shown = most.iter().take(SHOWN).map(|(count, what)| format!("  {count} × {what}"));
        Some(shown.collect::<Vec<_>>().join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::Request;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn requests_are_counted_until_the_clock_advances() {
        let repeats = Repeats::new(2);
        let read = RequestInfo::of(&Request::get("/api/v1/pods/a").body(()).unwrap(), &[]);
        let write = RequestInfo::of(&Request::patch("/api/v1/pods/a?fieldManager=x").body(()).unwrap(), &[]);
        for _ in 0..2 {
            assert_eq!((repeats.count(&read), repeats.count(&write)), (None, None));
        }
        assert_eq!(
            repeats.count(&write).as_deref(),
            Some("  3 × PATCH /api/v1/pods/a, field manager x\n  2 × GET /api/v1/pods/a")
        );
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(repeats.count(&write), None);
    }

    #[tokio::test]
    async fn time_that_is_not_paused_has_no_limit() {
        let repeats = Repeats::new(1);
        let write = RequestInfo::of(&Request::patch("/api/v1/pods/a").body(()).unwrap(), &[]);
        assert!((0..100).all(|_| repeats.count(&write).is_none()));
        assert!(!is_paused());
    }
}
