use baton_apply::LiveObject;
use serde_json::{Value, json};

use super::*;

const OWN: Wanted = Wanted::Autoscaler { start: 2, whose: Whose::Own { min_replicas: 2 } };
const EXTERNAL: Wanted = Wanted::Autoscaler { start: 1, whose: Whose::External };
const ALL: [Wanted; 5] = [Wanted::Fixed(3), Wanted::HandsOff, Wanted::Suspended, OWN, EXTERNAL];

/// A replica count that these managers own, each named by one letter: Baton, the temporary manager, an autoscaler by its scale
/// subresource, another manager.
fn owned_by(managers: &str, replicas: i32) -> Replicas {
    let entry = |letter| {
        let (manager, operation, subresource) = match letter {
            'b' => ("baton", "Apply", None),
            't' => ("handover-to-hpa", "Apply", None),
            's' => ("whoever", "Update", Some("scale")),
            _ => ("kubectl", "Apply", None),
        };
        let mut entry = json!({
            "manager": manager, "operation": operation, "apiVersion": "apps/v1",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:replicas": {}}},
        });
        if let Some(subresource) = subresource {
            entry["subresource"] = json!(subresource);
        }
        entry
    };
    let entries: Vec<Value> = managers.chars().map(entry).collect();
    let object = json!({
        "metadata": {"name": "web", "managedFields": entries},
        "spec": {"replicas": replicas},
    });
    Replicas::of(&LiveObject::from_json(object).unwrap())
}

fn autoscaler(name: &str, controller: Option<&str>) -> Autoscaler {
    let controller = controller.map(|kind| (kind.to_owned(), "uid".to_owned()));
    Autoscaler {
        name: name.to_owned(),
        min_replicas: 2,
        controller,
        scales: Scales::Deployment,
        is_ambiguous: false,
    }
}

/// The decision for this replica count, with or without an autoscaler of Baton's and with these of others.
fn decision(wanted: Wanted, live: &Replicas, own_autoscaler: bool, others: &[Autoscaler]) -> Decision {
    super::decision(wanted, &Observed { deployment: Some(live), own_autoscaler, others, before: None })
}

fn next(wanted: Wanted, managers: &str, own_autoscaler: bool) -> Move {
    decision(wanted, &owned_by(managers, 5), own_autoscaler, &[]).next
}

fn phase(wanted: Wanted, managers: &str, own_autoscaler: bool) -> HandoverPhase {
    decision(wanted, &owned_by(managers, 5), own_autoscaler, &[]).phase
}

#[test]
fn the_first_matching_owner_decides_the_state() {
    let state = |managers: &str| State::of(&owned_by(managers, 5));
    assert_eq!(state("b"), State::Baton);
    assert_eq!(state("bt"), State::HandingOver { baton: true });
    assert_eq!(state("t"), State::HandingOver { baton: false });
    assert_eq!(state("s"), State::Scaled { baton: false });
    assert_eq!(state("bts"), State::Scaled { baton: true });
    assert_eq!(state("to"), State::Other);
    assert_eq!(state(""), State::Unowned);
    assert_eq!(State::of(&owned_by("", 0)), State::Scaled { baton: false }, "a scale to zero has no owner");
}

#[test]
fn a_new_deployment_has_the_replica_count_its_owner_starts_from() {
    let created = |wanted, before| {
        super::decision(wanted, &Observed { deployment: None, own_autoscaler: false, others: &[], before })
            .next
    };
    assert_eq!(created(Wanted::Fixed(3), None), Move::Create(Some(3)));
    assert_eq!(created(Wanted::HandsOff, None), Move::Create(None));
    assert_eq!(created(Wanted::Suspended, None), Move::Create(Some(0)));
    assert_eq!(created(OWN, None), Move::Create(Some(2)));
    let had_nine = Some(9);
    assert_eq!(created(Wanted::Fixed(3), had_nine), Move::Create(Some(3)));
    assert_eq!(created(Wanted::HandsOff, had_nine), Move::Create(Some(9)));
    assert_eq!(created(Wanted::Suspended, had_nine), Move::Create(Some(0)));
    assert_eq!(created(OWN, had_nine), Move::Create(Some(9)));
}

#[test]
fn a_suspended_count_is_taken_over_as_it_is_before_it_becomes_zero() {
    assert_eq!(next(Wanted::Suspended, "s", true), Move::LeaveOut, "its autoscaler goes first");
    assert_eq!(next(Wanted::Suspended, "s", false), Move::Claim(5));
    assert_eq!(next(Wanted::Suspended, "b", false), Move::Set(0));
    assert_eq!(phase(Wanted::Suspended, "b", false), HandoverPhase::Suspended);
    let (hpa, keda) = (autoscaler("a", None), autoscaler("keda-hpa-web", Some("ScaledObject")));
    let under = |other: &Autoscaler| {
        decision(Wanted::Suspended, &owned_by("s", 5), false, std::slice::from_ref(other))
    };
    assert_eq!(under(&hpa).next, Move::Claim(5), "at zero it does nothing");
    assert_eq!((under(&keda).next, under(&keda).phase), (Move::LeaveOut, HandoverPhase::AutoscalerConflict));
}

#[test]
fn after_a_suspension_the_next_owner_finds_the_count_from_before() {
    let resumed = |wanted, before| {
        let zero = owned_by("b", 0);
        let observed = Observed { deployment: Some(&zero), own_autoscaler: false, others: &[], before };
        super::decision(wanted, &observed).next
    };
    for wanted in [OWN, EXTERNAL, Wanted::HandsOff] {
        assert_eq!(resumed(wanted, Some(9)), Move::Claim(9), "{wanted:?}");
    }
    assert_eq!(resumed(Wanted::Fixed(3), Some(9)), Move::Set(3));
}

#[test]
fn baton_hands_the_live_count_over_before_it_releases_it() {
    assert_eq!(next(OWN, "b", false), Move::HandOver(5));
    assert_eq!(next(OWN, "bt", false), Move::LeaveOut);
    assert_eq!(next(OWN, "t", false), Move::LeaveOut);
}

#[test]
fn baton_releases_the_count_at_once_if_another_manager_owns_it_too() {
    assert_eq!(next(OWN, "bs", true), Move::LeaveOut);
    assert_eq!(next(OWN, "bo", true), Move::LeaveOut);
}

#[test]
fn a_count_without_an_owner_gets_the_temporary_manager_so_that_its_next_owner_is_recorded() {
    assert_eq!(next(OWN, "", true), Move::HandOver(5));
    assert_eq!(next(EXTERNAL, "", false), Move::HandOver(5));
    assert_eq!(
        decision(EXTERNAL, &owned_by("", 0), false, &[]).next,
        Move::HandOver(0),
        "it was scaled to zero"
    );
    assert_eq!(decision(Wanted::HandsOff, &owned_by("", 0), false, &[]).next, Move::LeaveOut);
    let kedas = [autoscaler("keda-hpa-web", Some("ScaledObject"))];
    let next = decision(Wanted::Fixed(3), &owned_by("", 0), false, &kedas).next;
    assert_eq!(next, Move::LeaveOut, "another manager's zero isn't contested");
}

#[test]
fn batons_zero_is_handed_over_only_if_the_spec_says_zero() {
    let zero = owned_by("b", 0);
    assert_eq!(decision(OWN, &zero, false, &[]).next, Move::Claim(2));
    let wanted = Wanted::Autoscaler { start: 0, whose: Whose::Own { min_replicas: 2 } };
    assert_eq!(decision(wanted, &zero, false, &[]).next, Move::HandOver(0));
    assert_eq!(decision(Wanted::HandsOff, &zero, false, &[]).next, Move::HandOver(0));
}

#[test]
fn the_phase_shows_what_the_handover_waits_for() {
    assert_eq!(phase(OWN, "t", true), HandoverPhase::HandoverPending);
    assert_eq!(phase(OWN, "s", true), HandoverPhase::HandedOver);
    assert_eq!(phase(OWN, "s", false), HandoverPhase::AutoscalerMissing);
    assert_eq!(phase(OWN, "o", true), HandoverPhase::OwnedByOther);
    assert_eq!(phase(EXTERNAL, "s", false), HandoverPhase::HandedOver, "a user may scale");
    assert_eq!(phase(Wanted::Fixed(5), "b", false), HandoverPhase::Fixed);
    assert_eq!(phase(Wanted::Fixed(5), "s", false), HandoverPhase::TakingBack);
    assert_eq!(phase(Wanted::HandsOff, "s", false), HandoverPhase::Unmanaged);
}

#[test]
fn every_phase_reports_what_it_waits_for_except_those_at_rest() {
    use HandoverPhase::{Fixed, HandedOver, Unmanaged};
    for wanted in ALL {
        for managers in ["", "b", "t", "bt", "s", "bs", "bts", "o", "bo"] {
            for (own, others) in [(false, 0), (true, 0), (false, 1), (false, 2)] {
                let others = &[autoscaler("a", None), autoscaler("b", None)][..others];
                let decided = decision(wanted, &owned_by(managers, 5), own, others);
                let at_rest = matches!(decided.phase, Fixed | HandedOver | Unmanaged);
                assert!(
                    decided.waiting_for.is_some() || at_rest,
                    "{wanted:?}, owned by {managers:?}: {decided:?}"
                );
            }
        }
    }
}

#[test]
fn a_zero_stops_an_autoscaler_unless_it_may_choose_zero_or_has_a_controller() {
    let zero = owned_by("s", 0);
    let phase = |wanted, own, others: &[Autoscaler]| decision(wanted, &zero, own, others).phase;
    assert_eq!(phase(OWN, true, &[]), HandoverPhase::AutoscalerDisabled);
    let from_zero = Wanted::Autoscaler { start: 0, whose: Whose::Own { min_replicas: 0 } };
    assert_eq!(phase(from_zero, true, &[]), HandoverPhase::HandedOver);
    assert_eq!(phase(EXTERNAL, false, &[autoscaler("a", None)]), HandoverPhase::AutoscalerDisabled);
    let kedas = autoscaler("keda-hpa-web", Some("ScaledObject"));
    assert_eq!(phase(EXTERNAL, false, &[kedas]), HandoverPhase::HandedOver);
    assert_eq!(phase(EXTERNAL, false, &[]), HandoverPhase::HandedOver);
}

#[test]
fn more_autoscalers_than_the_spec_names_are_a_conflict() {
    let two = [autoscaler("a", None), autoscaler("b", None)];
    let phase = |wanted, managers, others| decision(wanted, &owned_by(managers, 5), false, others);
    let own = phase(OWN, "s", &two[..1]);
    assert_eq!(own.phase, HandoverPhase::AutoscalerConflict);
    assert!(own.waiting_for.unwrap().contains("HorizontalPodAutoscaler a"));
    assert_eq!(phase(EXTERNAL, "s", &two[..1]).phase, HandoverPhase::HandedOver);
    assert_eq!(phase(EXTERNAL, "s", &two).phase, HandoverPhase::AutoscalerConflict);
    assert_eq!(phase(Wanted::Fixed(3), "s", &two[..1]).phase, HandoverPhase::AutoscalerConflict);
    assert_eq!(phase(Wanted::HandsOff, "s", &two[..1]).phase, HandoverPhase::Unmanaged);
}

#[test]
fn on_the_way_back_the_autoscaler_is_deleted_first() {
    assert_eq!(next(Wanted::Fixed(3), "s", true), Move::LeaveOut);
    assert_eq!(next(Wanted::Fixed(3), "bs", true), Move::Wait);
}

#[test]
fn on_the_way_back_the_live_count_is_taken_over_before_the_other_owners_release_it() {
    assert_eq!(next(Wanted::Fixed(3), "s", false), Move::Claim(5));
    assert_eq!(next(Wanted::Fixed(3), "t", false), Move::Claim(5));
    assert_eq!(next(Wanted::Fixed(3), "bts", false), Move::ReleaseTemporary);
    assert!(matches!(next(Wanted::Fixed(3), "bs", false), Move::ReleaseScale(_)));
    assert_eq!(next(Wanted::Fixed(3), "b", false), Move::Set(3));
}

#[test]
fn a_count_that_anothers_autoscaler_owns_is_not_contested() {
    let others = [autoscaler("a", None)];
    let next = |managers| decision(Wanted::Fixed(3), &owned_by(managers, 5), false, &others).next;
    for managers in ["s", "bs", "t"] {
        assert_eq!(next(managers), Move::LeaveOut, "owned by {managers}");
    }
    assert_eq!(next("b"), Move::Set(3), "it hasn't written yet");
}

#[test]
fn without_replicas_and_autoscaling_the_live_count_stays() {
    assert_eq!(next(Wanted::HandsOff, "b", false), Move::HandOver(5));
    for managers in ["", "t", "s", "bt", "bs", "o"] {
        assert_eq!(next(Wanted::HandsOff, managers, false), Move::LeaveOut, "owned by {managers:?}");
    }
}

#[test]
fn baton_never_leaves_out_a_count_that_it_alone_owns() {
    let others = [autoscaler("a", None), autoscaler("b", None)];
    for wanted in ALL {
        for own in [false, true] {
            for others in [&others[..0], &others[..1], &others[..]] {
                let next = decision(wanted, &owned_by("b", 5), own, others).next;
                assert_ne!(next, Move::LeaveOut, "{wanted:?}, own: {own}, others: {others:?}");
            }
        }
    }
}
