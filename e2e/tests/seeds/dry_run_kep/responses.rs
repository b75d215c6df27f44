//! The response to a dry run shows what a write would do.

use baton_e2e::{
    scenario::{
        Subject,
        builtin::{DEPLOYMENT, POD, SERVICE_ACCOUNT},
    },
    scenario_list,
};

scenario_list! {
    a_dry_run_of_a_creation_gets_the_real_response, a_dry_run_of_a_change_gets_the_real_response,
    a_dry_run_of_a_deployment_gets_the_real_response, a_dry_run_of_a_deletion_gets_the_real_response,
    a_dry_run_gets_the_real_warnings, a_dry_run_reports_a_conflict, a_dry_run_reports_an_invalid_object,
    a_dry_run_reports_what_admission_forbids, a_dry_run_shows_the_result,
}

async fn a_dry_run_of_a_creation_gets_the_real_response(s: &mut Subject) {
    s.rehearse(|s| s.create_as("kubectl-create", "data: {key: some value}").creates()).await;
    s.expect_owner(".data.key", "kubectl-create (Update)");
    s.named("other").await;
    s.rehearse(|s| s.apply_as("kubectl", "data: {key: some value}").creates()).await;
    s.expect_owner(".data.key", "kubectl (Apply)");
}

async fn a_dry_run_of_a_change_gets_the_real_response(s: &mut Subject) {
    s.apply_as("kubectl", "data: {key: some value, other: x}").await;
    s.rehearse(|s| s.update_as("controller", "data: {key: new value}")).await;
    s.rehearse(|s| s.merge_patch_as("patcher", "data: {patched: a}")).await;
    s.rehearse(|s| s.strategic_patch_as("patcher", "data: {patched: b}")).await;
    s.rehearse(|s| s.json_patch_as("patcher", "[{op: add, path: /data/more, value: c}]")).await;
    s.rehearse(|s| s.replace_as("replacer", "data: {key: last value}")).await;
    s.rehearse(|s| s.apply_as("kubectl", "data: {key: last value}")).await;
    s.expect_owners(".data.key", &["kubectl (Apply)", "replacer (Update)"]);
    s.expect_absent(".data.patched");
}

async fn a_dry_run_of_a_deployment_gets_the_real_response(s: &mut Subject) {
    s.of(DEPLOYMENT).await;
    s.rehearse(|s| s.create_as("kubectl-create", super::DEPLOYMENT).creates()).await;
    s.rehearse(|s| {
        s.apply_as("kubectl", "spec: {template: {spec: {containers: [{name: app, image: httpd}]}}}")
            .by_force()
    })
    .await;
    s.rehearse(|s| s.merge_patch_as("kubectl-edit", "spec: {paused: true}")).await;
    s.expect(".metadata.generation", "3");
}

async fn a_dry_run_of_a_deletion_gets_the_real_response(s: &mut Subject) {
    s.create_as("kubectl-create", "data: {key: some value}").await;
    let deleted = s.rehearse(Subject::delete).await.dry_run;
    deleted.expect(".status", "Success");
    deleted.expect(".details.name", "example");
    s.expect_absent("");
}

async fn a_dry_run_gets_the_real_warnings(s: &mut Subject) {
    let responses = s
        .rehearse(|s| s.create_as("me", "{data: {key: a}, date: {key: b}}").with("fieldValidation", "Warn"))
        .await;
    assert!(responses.dry_run.warnings[0].contains("unknown field"), "{:?}", responses.dry_run.warnings);
}

async fn a_dry_run_reports_a_conflict(s: &mut Subject) {
    s.apply_as("one", "data: {key: a}").await;
    s.update_as("two", "data: {other: a}").await;
    let conflicting = "data: {key: b, other: b}";
    s.rehearse(|s| {
        s.apply_as("three", conflicting)
            .conflicts_with("one", ".data.key")
            .conflicts_with("two", ".data.other")
    })
    .await;
    s.apply_as("three", conflicting).by_force().dry_run().await;
    s.expect_owner(".data.key", "one (Apply)");
    s.rehearse(|s| s.apply_as("three", conflicting).by_force()).await;
    s.expect_owner(".data.key", "three (Apply)");
}

async fn a_dry_run_reports_an_invalid_object(s: &mut Subject) {
    s.rehearse(|s| {
        s.create_as("me", "data: {no key: a}").is_refused(422, "a valid config key must consist of")
    })
    .await;
    s.rehearse(|s| s.create_as("me", "data: {key: [no string]}").is_refused(400, "cannot unmarshal")).await;
    s.rehearse(|s| s.apply_as("me", "date: {key: a}").is_refused(500, ".date: field not declared in schema"))
        .await;
    s.create_as("me", "data: {key: a}").await;
    s.rehearse(|s| {
        s.merge_patch_as("me", "data: {no key: a}").is_refused(422, "a valid config key must consist of")
    })
    .await;
    s.rehearse(|s| {
        s.merge_patch_as("me", "metadata: {resourceVersion: '1'}").is_refused(409, "has been modified")
    })
    .await;
    s.of(DEPLOYMENT).await;
    let other = "spec: {selector: {matchLabels: {app: other}}}";
    s.rehearse(|s| s.create_as("me", other).is_refused(422, "`selector` does not match template `labels`"))
        .await;
}

async fn a_dry_run_reports_what_admission_forbids(s: &mut Subject) {
    s.of(SERVICE_ACCOUNT).await;
    s.create_as("me", "automountServiceAccountToken: false").await;
    s.of(POD).await;
    let pod = "spec: {serviceAccountName: example, priorityClassName: highest, containers: [{name: app, image: nginx}]}";
    s.rehearse(|s| s.create_as("me", pod).is_refused(403, "no PriorityClass with name highest was found"))
        .await;
}

async fn a_dry_run_shows_the_result(s: &mut Subject) {
    s.create_as("controller", "data: {key: a}").await;
    let response = s.apply_as("kubectl", "data: {key: b, other: c}").by_force().dry_run().await;
    response.expect(".data", "{key: b, other: c}");
    assert_eq!(response.managers(), ["kubectl (Apply)", "controller (Update)"]);
    s.expect(".data", "{key: a}");
    s.expect_managers(&["controller (Update)"]);
}
