//! Whole clusters keep the promises, from a fixed seed; a run is replayed exactly; and an operator with a mistake in it would be
//! caught.

#![allow(missing_docs, clippy::unwrap_used)]

use baton_e2e::{
    handover_model::Fault,
    simulation::{Effort, Failure, choice, run, series},
};

/// Of the runs of the default tier.
const SEED: u64 = 1;
const RUNS: u64 = 200;

#[test]
fn every_promise_is_kept() {
    let effort = Effort { seed: SEED, runs: RUNS, time: None, fault: None, failures: 1, shrinks: true };
    let series = series(effort, |line| println!("{line}")).unwrap();
    println!("{}", series.table());
    let told: Vec<String> = series.failures.iter().map(Failure::tell).collect();
    assert!(told.is_empty(), "{}", told.join("\n"));
}

#[test]
fn a_run_is_replayed_exactly() {
    for seed in [1, 2, 3, 4] {
        let plan = choice::plan(seed);
        let digest = || run(&plan, None).unwrap().digest;
        assert_eq!(digest(), digest(), "{plan}");
    }
}

/// From this run on, each fault is found soon.
const FOUND_FROM: u64 = 118;
const FOUND_WITHIN: u64 = 60;

#[test]
fn every_fault_of_the_model_checker_is_found() {
    for fault in Fault::all().iter().copied().filter(|fault| !fault.is_harmless()) {
        let effort = Effort {
            seed: FOUND_FROM,
            runs: FOUND_WITHIN,
            time: None,
            fault: Some(fault),
            failures: 1,
            shrinks: false,
        };
        let series = series(effort, |_| ()).unwrap();
        let failure = series.failures.first().unwrap_or_else(|| panic!("{fault:?} isn't found"));
        let violation = failure.outcome.violation.as_ref().unwrap();
        println!("{fault:?}: seed {} breaks: {}", failure.plan.seed, violation.what);
    }
}
