//! The handover keeps its promises in every order of events, in the quick configurations; and the model finds an operator with a
//! bug.

#![allow(missing_docs, clippy::unwrap_used)]

use baton_e2e::handover_model::{
    Configuration, Exploration, Extent, Fault, Occurrence, Occurrences, Promise, configurations, explore,
};

fn explored(configuration: Configuration, fault: Option<Fault>) -> Exploration {
    explore(configuration, fault, |_| {})
}

/// The result of a fault, in the configuration of this name.
fn with_fault(fault: Fault, name: &str) -> Exploration {
    let configuration = configurations(Extent::Quick).into_iter().find(|one| one.name == name).unwrap();
    explored(configuration, Some(fault))
}

#[test]
fn every_promise_is_kept_in_every_order_of_events() {
    let mut occurrences = Occurrences::default();
    for configuration in configurations(Extent::Quick) {
        let name = configuration.name;
        let found = explored(configuration, None);
        if let Some(trace) = found.broken {
            panic!("{name}:\n{trace}");
        }
        occurrences.add(&found.occurrences);
    }
    // A guarded write is refused by its guard first; it gets a conflict only with a fault.
    let silent =
        |occurrence: &Occurrence| *occurrence != Occurrence::Conflict && occurrences.of(*occurrence) == 0;
    let never: Vec<Occurrence> = Occurrence::all().iter().copied().filter(silent).collect();
    assert_eq!(never, [], "these never happen, so that they aren't tested");
}

#[test]
fn every_fault_breaks_the_promise_that_it_should() {
    let there_and_back = "to the autoscaler and back";
    let late = "crashes and late writes";
    let others = "another owner's autoscaler";
    let faults = [
        (Fault::ReleaseFirst, there_and_back, Promise::NeverUnowned),
        (Fault::ForceUnguardedTemporary, late, Promise::OnlyFromWhatWasRead),
        (Fault::UnguardedTemporary, "a rogue", Promise::OnlyFromWhatWasRead),
        (Fault::TrustCache, there_and_back, Promise::OnlyFromWhatWasRead),
        (Fault::MatchByName, others, Promise::NotWhileOthersOwn),
        (Fault::AutoscalerFirst, there_and_back, Promise::OneAtATime),
        (Fault::TakeBackFirst, there_and_back, Promise::OneAtATime),
        (Fault::UnguardedClaim, there_and_back, Promise::OnlyFromWhatWasRead),
        (Fault::SpecAtOnce, there_and_back, Promise::NotWhileOthersOwn),
        (Fault::ReleaseTemporaryAlone, there_and_back, Promise::NoReset),
        (Fault::BlindToOthers, others, Promise::Rest),
        (Fault::Unguarded, there_and_back, Promise::OnlyFromWhatWasRead),
        (Fault::GuardTooLate, there_and_back, Promise::OnlyFromWhatWasRead),
        (Fault::SkipsOwnership, there_and_back, Promise::Rest),
        (Fault::UnguardedCreation, "deleted", Promise::NotWhileOthersOwn),
        (Fault::ForgetsOnSuspend, "suspended and resumed", Promise::ComesBack),
    ];
    for (fault, name, promise) in faults {
        let found = with_fault(fault, name);
        let Some(trace) = &found.broken else { panic!("{fault:?} isn't found in {name:?}") };
        println!("{fault:?}:\n{trace}");
        assert!(found.promises().contains(&promise), "{fault:?} breaks something else:\n{trace}");
    }
    let is_shown = |fault: &&Fault| fault.is_harmless() || faults.iter().any(|(shown, ..)| shown == *fault);
    assert!(Fault::all().iter().all(|fault| is_shown(&fault)), "each fault must be shown here");
}

#[test]
fn each_protection_of_the_temporary_manager_alone_stops_a_late_replica_count() {
    for (fault, name) in [
        (Fault::ForceTemporary, "crashes and late writes"),
        (Fault::ForceTemporary, "a rogue"),
        (Fault::UnguardedTemporary, "crashes and late writes"),
    ] {
        let found = with_fault(fault, name);
        assert!(found.broken.is_none(), "{fault:?} in {name:?}:\n{}", found.broken.unwrap());
        let stopped_by = match fault {
            Fault::ForceTemporary => Occurrence::RefusedByGuard,
            _ => Occurrence::Conflict,
        };
        assert!(found.occurrences.of(stopped_by) > 0, "{fault:?} in {name:?} meets no {stopped_by:?}");
    }
}
