//! Shrinks a plan that breaks a promise to a smaller one that breaks it too.

use std::time::{Duration, Instant};

use super::{
    event::{Event, Plan, Spec, Step},
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
        let mut size = smallest.0.steps.len().div_ceil(2);
        while size > 0 {
            let mut from = 0;
            while from < smallest.0.steps.len() {
                let mut smaller = smallest.0.clone();
                smaller.steps.drain(from..(from + size).min(smaller.steps.len()));
                if !attempt(&mut smallest, smaller) {
                    from += size;
                }
            }
            size /= 2;
        }
        for at in 0..smallest.0.steps.len() {
            while simpler(&smallest.0.steps[at]).into_iter().any(|step| {
                let mut smaller = smallest.0.clone();
                smaller.steps[at] = step;
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

/// Simpler replacements of a step.
fn simpler(step: &Step) -> Vec<Step> {
    let pauses = [Duration::ZERO, Duration::from_secs(5), step.pause / 2];
    let pauses = pauses.into_iter().filter(|pause| *pause < step.pause);
    let mut all: Vec<Step> = pauses.map(|pause| Step { pause, ..step.clone() }).collect();
    if let Event::Apply(site, spec) = step.event {
        let specs = [
            Spec { service: false, ..spec },
            Spec { budget: false, ..spec },
            Spec { adopts: false, ..spec },
            Spec { suspended: false, ..spec },
            Spec { image: 1, ..spec },
        ];
        let event = |spec| Step { event: Event::Apply(site, spec), ..step.clone() };
        all.extend(specs.into_iter().filter(|simpler| *simpler != spec).map(event));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{Tally, Violation, choice};

    #[test]
    fn shrinking_keeps_only_the_steps_that_break_the_promise() {
        let plan = (0..500).map(choice::plan).find(|plan| {
            let crashes = plan.steps.iter().filter(|step| matches!(step.event, Event::Crash(_)));
            crashes.count() == 2
        });
        let violation = Violation { what: "no operator crashes twice".to_owned(), how: String::new() };
        let outcome =
            Outcome { violation: Some(violation), tally: Tally::default(), digest: 0, story: String::new() };
        let try_out = |plan: &Plan| {
            let crashes = plan.steps.iter().filter(|step| matches!(step.event, Event::Crash(_)));
            let violation = (crashes.count() == 2).then(|| outcome.violation.clone()).flatten();
            Some(Outcome { violation, ..outcome.clone() })
        };
        let (smallest, _) = shrink(plan.unwrap(), outcome.clone(), try_out);
        assert_eq!(smallest.steps.len(), 2, "{smallest}");
        assert!(smallest.steps.iter().all(|step| step.pause == Duration::ZERO), "{smallest}");
    }
}
