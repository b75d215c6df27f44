//! How a client requests a dry run, and what the server still does then.

use baton_e2e::{
    scenario::{
        StepResponse, Subject,
        builtin::{DEPLOYMENT, POD, SERVICE_ACCOUNT},
    },
    scenario_list,
};

scenario_list! {
    a_delete_with_a_body_takes_its_options_from_there, a_dry_run_is_defaulted_and_mutated,
    every_kind_of_patch_is_merged, an_empty_value_is_refused, no_other_value_is_supported,
}

async fn a_delete_with_a_body_takes_its_options_from_there(s: &mut Subject) {
    s.create_as("me", "data: {key: a}").await;
    s.delete().dry_run().spelled(r#"{"dryRun": ["All"]}"#).await;
    s.expect(".data.key", "a");
    s.delete().with("dryRun", "All").spelled("{}").await;
    s.expect_absent("");
}

async fn a_dry_run_is_defaulted_and_mutated(s: &mut Subject) {
    s.of(SERVICE_ACCOUNT).await;
    s.create_as("me", "automountServiceAccountToken: false").await;
    s.of(POD).await;
    let pod =
        "spec: {serviceAccountName: example, schedulerName: nobody, containers: [{name: app, image: nginx}]}";
    let tried = s.rehearse(|s| s.create_as("me", pod)).await.dry_run;
    // The first is a default; admission sets the others.
    tried.expect(".spec.restartPolicy", "Always");
    tried.expect(".spec.priority", "0");
    tried.expect(r#".spec.tolerations[key="node.kubernetes.io/not-ready"].tolerationSeconds"#, "300");
}

async fn every_kind_of_patch_is_merged(s: &mut Subject) {
    s.of(DEPLOYMENT).await;
    s.create_as("me", super::DEPLOYMENT).await;
    let containers = "spec: {template: {spec: {containers: [{name: sidecar, image: httpd}]}}}";
    let names = |response: &StepResponse| {
        let items = response.at(".spec.template.spec.containers").unwrap().items();
        items.iter().map(|item| item.get("name").unwrap().to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(&s.apply_as("you", containers).dry_run().await), r#""app" "sidecar""#);
    assert_eq!(names(&s.strategic_patch_as("you", containers).dry_run().await), r#""sidecar" "app""#);
    assert_eq!(names(&s.merge_patch_as("you", containers).dry_run().await), r#""sidecar""#);
    let operations = "[{op: replace, path: /spec/template/spec/containers/0/name, value: web}]";
    assert_eq!(names(&s.json_patch_as("you", operations).dry_run().await), r#""web""#);
    s.expect_managers(&["me (Update)"]);
}

async fn an_empty_value_is_refused(s: &mut Subject) {
    let message = r#"dryRun: Unsupported value: [""]: supported values: "All""#;
    s.create_as("me", "data: {key: a}").with("dryRun", "").is_refused(422, message).await;
    s.create_as("me", "data: {key: a}").await;
    s.update_as("me", "data: {key: b}").with("dryRun", "").is_refused(422, message).await;
    s.merge_patch_as("me", "data: {key: b}").with("dryRun", "").is_refused(422, message).await;
    s.apply_as("me", "data: {key: b}").with("dryRun", "").is_refused(422, message).await;
    s.delete().with("dryRun", "").is_refused(422, message).await;
    s.delete().spelled(r#"{"dryRun": []}"#).await;
    s.expect_absent("");
}

async fn no_other_value_is_supported(s: &mut Subject) {
    let message = r#"is invalid: dryRun: Unsupported value: ["Some"]: supported values: "All""#;
    s.create_as("me", "data: {key: a}").with("dryRun", "Some").is_refused(422, message).await;
    s.create_as("me", "data: {key: a}").await;
    s.update_as("me", "data: {key: b}").with("dryRun", "Some").is_refused(422, message).await;
    s.merge_patch_as("me", "data: {key: b}").with("dryRun", "Some").is_refused(422, message).await;
    s.apply_as("me", "data: {key: b}").with("dryRun", "Some").is_refused(422, message).await;
    s.delete().with("dryRun", "Some").is_refused(422, message).await;
    s.delete().spelled(r#"{"dryRun": ["Some"]}"#).is_refused(422, message).await;
    let message = r#"["All","Some"]"#;
    s.merge_patch_as("me", "data: {key: b}")
        .with("dryRun", "All")
        .with("dryRun", "Some")
        .is_refused(422, message)
        .await;
}
