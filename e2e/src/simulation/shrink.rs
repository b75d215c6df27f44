//! Shrinks a plan that breaks a promise to a smaller one that breaks it too.

use std::time::{Duration, Instant};

use super::{
    plan::{Plan, TimedEvent},
    run::Outcome,
};

/// The most attempts, and the longest time for them.
const MOST: u32 = 150;
const LONGEST: Duration = Duration::from_secs(40);

/// The smallest plan that was found, and its result. `try_out` plays a plan.
pub fn shrink(
    plan: Plan,
    outcome: Outcome,
    mut try_out: impl FnMut(&Plan) -> Option<Outcome>,
) -> (Plan, Outcome) {
    let what = outcome.violation.as_ref().map(|violation| violation.what.clone());
    let (mut left, began) = (MOST, Instant::now());
    let mut smallest = (plan, outcome);
    let mut attempt = |smallest: &mut (Plan, Outcome), smaller: Plan| {
        if left == 0 || began.elapsed() > LONGEST || smaller == smallest.0 {
            return false;
        }
        left -= 1;
        let Some(outcome) = try_out(&smaller) else { return false };
        let is_same = outcome.violation.as_ref().map(|violation| &violation.what) == what.as_ref();
        if is_same {
            *smallest = (smaller, outcome);
        }
        is_same
    };
    loop {
        let before = smallest.0.clone();
        let mut size = smallest.0.events.len().div_ceil(2);
        while size > 0 {
            let mut from = 0;
            while from < smallest.0.events.len() {
                let mut smaller = smallest.0.clone();
                smaller.events.drain(from..(from + size).min(smaller.events.len()));
                if !attempt(&mut smallest, smaller) {
                    from += size;
                }
            }
            size /= 2;
        }
        for at in 0..smallest.0.events.len() {
            while simpler(&smallest.0.events[at]).into_iter().any(|timed| {
                let mut smaller = smallest.0.clone();
                smaller.events[at] = timed;
                attempt(&mut smallest, smaller)
            }) {}
        }
        for smaller in
            [Plan { elected: false, ..smallest.0.clone() }, Plan { has_pods: false, ..smallest.0.clone() }]
        {
            attempt(&mut smallest, smaller);
        }
        if smallest.0 == before {
            return smallest;
        }
    }
}

/// Simpler replacements of an event and its pause.
fn simpler(timed: &TimedEvent) -> Vec<TimedEvent> {
    let pauses = [Duration::ZERO, Duration::from_secs(5), timed.pause / 2];
    let pauses = pauses.into_iter().filter(|pause| *pause < timed.pause);
    let events = timed.event.simpler().into_iter().map(|event| TimedEvent { event, ..timed.clone() });
    pauses.map(|pause| TimedEvent { pause, ..timed.clone() }).chain(events).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{Tally, Violation, choice};

    #[test]
    fn shrinking_keeps_only_the_events_that_break_the_promise() {
        let plan = (0..500).map(choice::plan).find(|plan| {
            let crashes = plan.events.iter().filter(|timed| timed.event.kind.name == "crash");
            crashes.count() == 2
        });
        let violation = Violation { what: "no operator crashes twice".to_owned(), how: String::new() };
        let outcome =
            Outcome { violation: Some(violation), tally: Tally::default(), digest: 0, story: String::new() };
        let try_out = |plan: &Plan| {
            let crashes = plan.events.iter().filter(|timed| timed.event.kind.name == "crash");
            let violation = (crashes.count() == 2).then(|| outcome.violation.clone()).flatten();
            Some(Outcome { violation, ..outcome.clone() })
        };
        let (smallest, _) = shrink(plan.unwrap(), outcome.clone(), try_out);
        assert_eq!(smallest.events.len(), 2, "{smallest}");
        assert!(smallest.events.iter().all(|timed| timed.pause == Duration::ZERO), "{smallest}");
    }
}
