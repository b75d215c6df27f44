//! Simulated clusters keep the promises, from a fixed seed. A run is replayed exactly, and an operator with a bug is found.

#![allow(missing_docs, clippy::unwrap_used)]

use baton_e2e::{
    handover_model::{Fault, Occurrence},
    simulation::{Effort, Failure, choice, run, series},
};

/// The runs of the default tier.
const SEED: u64 = 1;
const RUNS: u64 = 60;

/// A simulation in which these don't happen tests little.
const MUST_HAPPEN: [Occurrence; 7] = [
    Occurrence::HandedOver,
    Occurrence::TakenBack,
    Occurrence::Released,
    Occurrence::Set,
    Occurrence::ResetByTheRogue,
    Occurrence::Suspended,
    Occurrence::Resumed,
];

#[test]
fn every_promise_is_kept() {
    let effort = Effort { seed: SEED, runs: RUNS, time: None, fault: None, failures: 1, shrinks: true };
    let series = series(effort, |line| println!("{line}")).unwrap();
    println!("{}", series.table());
    let failures: Vec<String> = series.failures.iter().map(Failure::report).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let happened = |occurrence: &Occurrence| series.tally.judged.occurrences.of(*occurrence) > 0;
    let never: Vec<&Occurrence> = MUST_HAPPEN.iter().filter(|occurrence| !happened(occurrence)).collect();
    assert!(never.is_empty(), "these never happen, so that they aren't tested: {never:?}");
}

#[test]
fn a_run_is_replayed_exactly() {
    for seed in [1, 2, 3, 4] {
        let plan = choice::plan(seed);
        let digest = || run(&plan, None).unwrap().digest;
        assert_eq!(digest(), digest(), "{plan}");
    }
}

/// The seed of a plan in which the fault breaks a promise.
fn found_by(fault: Fault) -> Option<u64> {
    let seed = match fault {
        Fault::ForceTemporary => return None,
        Fault::TrustCache | Fault::MatchByName | Fault::ForgetsOnSuspend => 1,
        Fault::ReleaseFirst
        | Fault::AutoscalerFirst
        | Fault::TakeBackFirst
        | Fault::SpecAtOnce
        | Fault::ReleaseTemporaryAlone => 2,
        Fault::SkipsOwnership => 5,
        Fault::Unguarded | Fault::GuardTooLate => 8,
        Fault::UnguardedTemporary | Fault::ForceUnguardedTemporary => 13,
        Fault::BlindToOthers => 26,
        Fault::UnguardedClaim | Fault::UnguardedCreation => 42,
    };
    Some(seed)
}

fn with_fault(fault: Fault, seed: u64, runs: u64) -> Option<Failure> {
    let effort = Effort { seed, runs, time: None, fault: Some(fault), failures: 1, shrinks: false };
    series(effort, |_| {}).unwrap().failures.pop()
}

/// A change of the operator may change what a plan leads to, so that its seed no longer finds the fault. That is no error of the
/// operator: `cargo simulate` searches for another seed.
#[test]
fn every_fault_of_the_model_checker_is_found() {
    for (fault, seed) in Fault::all().iter().filter_map(|fault| Some((*fault, found_by(*fault)?))) {
        let failure = with_fault(fault, seed, 1);
        let search = format!("cargo simulate --no-shrink --runs 400 --fault {}", fault.name());
        let failure = failure.unwrap_or_else(|| {
            panic!("seed {seed} no longer finds {fault:?}; search for another one by\n{search}")
        });
        println!("{fault:?}: seed {seed} breaks: {}", failure.what());
    }
}

/// So what is found is the fault, not the way in which it is injected.
#[test]
fn a_fault_without_harm_breaks_no_promise() {
    for fault in Fault::all().iter().copied().filter(|fault| fault.is_harmless()) {
        let failure = with_fault(fault, SEED, RUNS / 10);
        assert!(failure.is_none(), "{fault:?}:\n{}", failure.unwrap().report());
    }
}
