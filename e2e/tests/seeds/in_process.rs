//! The scenarios that aren't played on the API server inside this process, and why.

use baton_e2e::{apiserver_diff::CHARGED_FOR_REFUSED, scenario::Play};
use libtest_mimic::Trial;

/// What that server doesn't have, and the scenarios that need it, by their names without the name of this program.
const NOT_IN_PROCESS: &[(&str, &[&str])] = &[
    (
        "kubectl, or the audit log of its requests",
        &[
            "alpha_article::apply::a_replacement_loses_what_others_manage",
            "alpha_article::apply::apply_declares_the_wanted_object",
            "alpha_article::apply::client_side_apply_reads_and_sends_a_difference",
            "alpha_article::apply::commands_create_replace_and_delete",
            "alpha_article::apply::the_annotation_holds_what_was_applied",
            "alpha_article::apply::the_server_has_no_feature_gate",
            "alpha_article::apply::what_was_applied_before_decides_what_is_removed",
            "alpha_article::clients::http_and_a_token_are_enough",
            "alpha_article::clients::kubectl_sends_only_a_patch",
            "alpha_article::comparison::a_conflict_is_resolved_in_the_manifest",
            "alpha_article::comparison::server_side_apply_conflicts_with_an_edit",
            "alpha_article::comparison::the_flags_of_the_alpha_are_gone",
            "alpha_article::state::an_existing_annotation_stays_up_to_date",
            "alpha_article::state::kubectl_applies_as_another_manager",
            "apply_kep::goals::another_name_is_another_object",
            "apply_kep::goals::kubectl_and_a_plain_request_give_the_same_object",
            "apply_kep::goals::several_objects_are_several_requests",
            "apply_kep::integration_tests::kubectl_applies_server_side",
            "apply_kep::integration_tests::kubectl_takes_over_by_force",
            "apply_kep::integration_tests::the_same_manifests_give_the_same_object",
            "apply_kep::kubectl::kubectl_does_not_fall_back",
            "apply_kep::kubectl::the_flag_is_server_side",
            "apply_kep::surprises::annotations_tweaked_then_applied",
            "conflict_article::apply::kubectl_hides_managed_fields",
            "conflict_article::apply::the_example_of_the_labels",
            "conflict_article::versions::kubectl_leaves_out_a_resource_version_that_it_has_just_read",
            "conflict_article::versions::late_applies_with_a_resource_version_are_refused",
            "conflict_article::versions::one_of_many_updates_with_a_resource_version_wins",
            "conflict_article::writes::one_of_many_creations_wins",
            "conflict_article::writes::the_last_of_many_client_side_applies_wins",
            "dry_run_kep::kubectl::a_diff_is_made_of_a_dry_run",
            "dry_run_kep::kubectl::a_diff_of_server_side_apply_is_made_of_a_dry_run",
            "dry_run_kep::kubectl::an_empty_flag_is_refused",
            "dry_run_kep::kubectl::any_other_value_is_refused",
            "dry_run_kep::kubectl::booleans_are_still_understood",
            "dry_run_kep::kubectl::client_sends_nothing",
            "dry_run_kep::kubectl::none_sends_the_real_request",
            "dry_run_kep::kubectl::server_sends_a_dry_run",
            "dry_run_kep::kubectl::server_side_apply_can_be_tried",
            "dry_run_kep::kubectl::the_flag_alone_still_means_client",
            "dry_run_kep::kubectl::the_old_flag_is_gone",
            "dry_run_kep::kubectl::without_the_flag_everything_is_real",
            "ssa::client_side::a_field_with_another_name_in_another_version_stays",
            "ssa::client_side::client_side_apply_overwrites_without_a_warning",
            "ssa::client_side::client_side_keeps_an_annotation",
            "ssa::handover::a_conflict_shows_that_the_autoscaler_owns_replicas",
            "ssa::handover::the_advanced_handover",
            "ssa::handover::the_basic_handover",
            "ssa::handover::without_a_handover_replicas_fall_to_one",
            "ssa::migration::a_downgrade",
            "ssa::migration::a_downgrade_from_another_name",
            "ssa::migration::a_field_that_client_side_apply_did_not_know",
            "ssa::migration::an_upgrade_under_another_name",
            "ssa::migration::an_upgrade_without_conflict",
            "ssa::migration::the_annotation_shows_what_was_managed",
        ],
    ),
    (
        "a webhook",
        &[
            "apply_kep::goals::what_a_mutating_webhook_adds_survives",
            "dry_run_kep::webhooks::a_mutating_webhook_changes_a_dry_run",
            "dry_run_kep::webhooks::a_request_that_is_no_dry_run_may_be_refused_later",
            "dry_run_kep::webhooks::a_review_says_whether_the_request_is_a_dry_run",
            "dry_run_kep::webhooks::a_validating_webhook_denies_a_dry_run",
            "dry_run_kep::webhooks::a_webhook_has_to_declare_that_dry_runs_are_safe",
            "dry_run_kep::webhooks::a_webhook_with_side_effects_stops_dry_runs",
            "dry_run_kep::webhooks::both_declarations_allow_dry_runs",
        ],
    ),
    (
        "the operator as a program",
        &[
            "ssa::baton::baton_forces_its_own_fields_and_no_others",
            "ssa::baton::baton_hands_replicas_over_and_takes_them_back",
        ],
    ),
    ("the order of members on the wire", &["apply_kep::integration_tests::managed_fields_have_one_form"]),
    ("another control plane", &["dry_run_kep::admission::dry_runs_count_no_events_and_create_no_namespaces"]),
    (
        "an autoscaler, which would write here before a prediction is compared",
        &["conflict_article::writes::a_control_loop_reports_in_the_status"],
    ),
    (CHARGED_FOR_REFUSED, &["dry_run_kep::admission::a_quota_is_charged_for_what_is_refused_later"]),
];

fn names() -> impl Iterator<Item = &'static str> {
    NOT_IN_PROCESS.iter().flat_map(|(_, names)| *names).copied()
}

pub fn can_be_played(play: &Play) -> bool {
    names().all(|name| name != super::title(play.name))
}

/// Every scenario that is named here exists.
pub fn list_is_current(plays: &[Play]) -> Trial {
    let exists = |name: &&str| plays.iter().any(|play| super::title(play.name) == *name);
    let gone: Vec<_> = names().filter(|name| !exists(name)).collect();
    Trial::test("in_process::list_is_current", move || match gone.as_slice() {
        [] => Ok(()),
        gone => Err(format!("there are no such scenarios: {gone:?}").into()),
    })
}
