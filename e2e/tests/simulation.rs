//! Simulated clusters keep the promises, from a fixed seed. A run is replayed exactly, and an operator with a bug is found.

#![allow(missing_docs, clippy::unwrap_used)]

use baton_e2e::{
    handover_model::Fault,
    simulation::{Effort, Failure, choice, run, series},
};

/// The runs of the default tier.
const SEED: u64 = 1;
const RUNS: u64 = 200;

#[test]
fn every_promise_is_kept() {
    let effort = Effort { seed: SEED, runs: RUNS, time: None, fault: None, failures: 1, shrinks: true };
    let series = series(effort, |line| println!("{line}")).unwrap();
    println!("{}", series.table());
    let failures: Vec<String> = series.failures.iter().map(Failure::report).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn a_run_is_replayed_exactly() {
    for seed in [1, 2, 3, 4] {
        let plan = choice::plan(seed);
        let digest = || run(&plan, None).unwrap().digest;
        assert_eq!(digest(), digest(), "{plan}");
    }
}

/// A fault is found within so many runs, counted from the run that found it when this was written.
const FOUND_WITHIN: u64 = 60;

fn found_by(fault: Fault) -> u64 {
    match fault {
        Fault::ReleaseFirst => 133,
        Fault::ForceTemporary | Fault::BlindToOthers | Fault::UnguardedCreation => 118,
        Fault::UnguardedTemporary | Fault::ForceUnguardedTemporary => 123,
        Fault::TrustCache | Fault::MatchByName | Fault::SpecAtOnce | Fault::SkipsOwnership => 119,
        Fault::AutoscalerFirst | Fault::TakeBackFirst => 136,
        Fault::UnguardedClaim | Fault::Unguarded | Fault::GuardTooLate => 131,
        Fault::ReleaseTemporaryAlone | Fault::ForgetsOnSuspend => 124,
    }
}

#[test]
fn every_fault_of_the_model_checker_is_found() {
    for fault in Fault::all().iter().copied().filter(|fault| !fault.is_harmless()) {
        let first = found_by(fault);
        let found = (first..first + FOUND_WITHIN).find_map(|seed| {
            let violation = run(&choice::plan(seed), Some(fault)).unwrap().violation?;
            Some(format!("{fault:?}: seed {seed} breaks: {}", violation.what))
        });
        println!("{}", found.unwrap_or_else(|| panic!("{fault:?} isn't found")));
    }
}
