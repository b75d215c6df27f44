//! kubectl's flag for a dry run.

use baton_e2e::{scenario::Subject, scenario_list};
use baton_testbed::{Mark, PATIENCE, poll};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;

scenario_list! {
    only real, because "of kubectl":
    without_the_flag_everything_is_real, none_sends_the_real_request, client_sends_nothing,
    server_sends_a_dry_run, server_side_apply_can_be_tried, the_old_flag_is_gone,
    booleans_are_still_understood, the_flag_alone_still_means_client, an_empty_flag_is_refused,
    any_other_value_is_refused, a_diff_is_made_of_a_dry_run,
    a_diff_of_server_side_apply_is_made_of_a_dry_run;
}

/// The input of kubectl.
const OBJECT: &str = "data: {key: some value}";

/// Calls kubectl, expects this in its output, and returns the writes that it sent.
async fn sent(s: &mut Subject, args: &str, prints: &str) -> Vec<String> {
    let mark = s.server().cluster().audit().unwrap().mark().unwrap();
    s.kubectl(args).reading(OBJECT).prints(prints).await;
    writes_since(s, mark).await
}

/// The writes to objects of the subject's kind since a mark: their verbs, and which of them were dry runs.
async fn writes_since(s: &Subject, mark: Mark) -> Vec<String> {
    let audit = s.server().cluster().audit().unwrap();
    // When a later request is in the log, all of them are.
    let objects: Api<ConfigMap> = Api::namespaced(s.server().client().clone(), s.namespace());
    objects.get_opt("the-last").await.unwrap();
    let is_written = async || {
        let found = audit.since(mark).unwrap().namespace(s.namespace());
        if found.iter().any(|request| request.name.as_deref() == Some("the-last")) {
            Ok(found)
        } else {
            Err(())
        }
    };
    let found = poll(PATIENCE, is_written).await.unwrap().resource("configmaps").writes();
    let suffix = |dry_run| if dry_run { " (dry run)" } else { "" };
    found.iter().map(|request| format!("{}{}", request.verb, suffix(request.is_dry_run()))).collect()
}

const NOTHING: [&str; 0] = [];

async fn without_the_flag_everything_is_real(s: &mut Subject) {
    assert_eq!(sent(s, "create -f -", "configmap/example created\n").await, ["create"]);
    s.expect(".data.key", "some value");
    assert_eq!(sent(s, "delete configmap example", r#"configmap "example" deleted"#).await, ["delete"]);
    s.expect_absent("");
    s.kubectl("apply --help").prints("--dry-run='none'").await;
}

async fn none_sends_the_real_request(s: &mut Subject) {
    assert_eq!(sent(s, "create -f - --dry-run=none", "configmap/example created\n").await, ["create"]);
    assert_eq!(sent(s, "apply --server-side -f - --dry-run=none", "serverside-applied\n").await, ["patch"]);
    s.expect_owners(".data.key", &["kubectl (Apply)", "kubectl-create (Update)"]);
    assert_eq!(sent(s, "delete -f - --dry-run=none", "deleted").await, ["delete"]);
    s.expect_absent("");
}

async fn client_sends_nothing(s: &mut Subject) {
    assert_eq!(sent(s, "create -f - --dry-run=client", "configmap/example created (dry run)").await, NOTHING);
    assert_eq!(sent(s, "create -f - --dry-run=client -o yaml", "key: some value").await, NOTHING);
    assert_eq!(sent(s, "apply -f - --dry-run=client", "configmap/example created (dry run)").await, NOTHING);
    s.expect_absent("");
    s.create_as("me", "data: {key: a}").await;
    assert_eq!(
        sent(s, "apply -f - --dry-run=client", "configmap/example configured (dry run)").await,
        NOTHING
    );
    assert_eq!(sent(s, "label configmap example a=b --dry-run=client", "labeled (dry run)").await, NOTHING);
    assert_eq!(sent(s, "delete configmap example --dry-run=client", "(dry run)").await, NOTHING);
    s.expect(".data", "{key: a}");
    s.kubectl("apply --server-side -f - --dry-run=client")
        .reading(OBJECT)
        .fails("--dry-run=client doesn't work with --server-side (did you mean --dry-run=server instead?)")
        .await;
}

async fn server_sends_a_dry_run(s: &mut Subject) {
    let created = "configmap/example created (server dry run)";
    assert_eq!(sent(s, "create -f - --dry-run=server", created).await, ["create (dry run)"]);
    assert_eq!(sent(s, "apply -f - --dry-run=server", created).await, ["create (dry run)"]);
    s.expect_absent("");
    s.create_as("me", "data: {key: a}").await;
    let configured = "configmap/example configured (server dry run)";
    assert_eq!(sent(s, "apply -f - --dry-run=server", configured).await.last().unwrap(), "patch (dry run)");
    assert_eq!(
        sent(s, "label configmap example a=b --dry-run=server", "(server dry run)").await,
        ["patch (dry run)"]
    );
    assert_eq!(sent(s, "replace -f - --dry-run=server", "(server dry run)").await, ["update (dry run)"]);
    assert_eq!(
        sent(s, "delete configmap example --dry-run=server", "(server dry run)").await,
        ["delete (dry run)"]
    );
    s.expect(".data", "{key: a}");
    s.expect_managers(&["me (Update)"]);
}

async fn server_side_apply_can_be_tried(s: &mut Subject) {
    let applied = "configmap/example serverside-applied (server dry run)";
    assert_eq!(sent(s, "apply --server-side -f - --dry-run=server", applied).await, ["patch (dry run)"]);
    s.expect_absent("");
    s.create_as("me", "data: {key: a}").await;
    s.kubectl("apply --server-side -f - --dry-run=server")
        .reading(OBJECT)
        .fails(r#"conflict with "me" using v1: .data.key"#)
        .await;
    let merged =
        sent(s, "apply --server-side --force-conflicts -f - --dry-run=server -o yaml", "key: some value");
    assert_eq!(merged.await, ["patch (dry run)"]);
    s.expect(".data.key", "a");
}

async fn the_old_flag_is_gone(s: &mut Subject) {
    s.kubectl("apply -f - --server-dry-run").reading(OBJECT).fails("unknown flag: --server-dry-run").await;
    s.expect_absent("");
}

async fn booleans_are_still_understood(s: &mut Subject) {
    for value in ["true", "1"] {
        let warning = format!(
            "--dry-run={value} is deprecated (boolean value) and can be replaced with --dry-run=client"
        );
        assert_eq!(sent(s, &format!("create -f - --dry-run={value}"), &warning).await, NOTHING);
    }
    s.expect_absent("");
    let warning = "--dry-run=false is deprecated (boolean value) and can be replaced with --dry-run=none";
    assert_eq!(sent(s, "create -f - --dry-run=false", warning).await, ["create"]);
    s.expect(".data.key", "some value");
}

async fn the_flag_alone_still_means_client(s: &mut Subject) {
    let warning = "--dry-run is deprecated and can be replaced with --dry-run=client";
    assert_eq!(sent(s, "create -f - --dry-run", warning).await, NOTHING);
    assert_eq!(sent(s, "create -f - --dry-run", "configmap/example created (dry run)").await, NOTHING);
    s.expect_absent("");
}

async fn an_empty_flag_is_refused(s: &mut Subject) {
    s.kubectl("create -f - --dry-run=").reading(OBJECT).fails("Invalid dry-run value ()").await;
    s.expect_absent("");
}

async fn any_other_value_is_refused(s: &mut Subject) {
    for command in ["create -f -", "apply -f -", "apply --server-side -f -", "delete -f -"] {
        let message = r#"Invalid dry-run value (Server). Must be "none", "server", or "client"."#;
        s.kubectl(&format!("{command} --dry-run=Server")).reading(OBJECT).fails(message).await;
    }
    s.expect_absent("");
}

/// Expects a diff from `a` to the object that kubectl reads, made by a dry run.
async fn expect_diff(s: &mut Subject, args: &str) {
    let audit = s.server().cluster().audit().unwrap();
    let mark = audit.mark().unwrap();
    let diff = s.kubectl(args).reading(OBJECT).fails("").prints("\n-  key: a\n+  key: some value\n").await;
    // 1 means that there is a difference; a higher code is an error.
    assert_eq!(diff.status.code(), Some(1), "{diff}");
    assert_eq!(writes_since(s, mark).await, ["patch (dry run)"]);
    s.expect(".data.key", "a");
    let same = s.kubectl(args).reading("data: {key: a}").await;
    assert_eq!(same.stdout, "");
}

async fn a_diff_is_made_of_a_dry_run(s: &mut Subject) {
    s.kubectl("apply -f -").reading("data: {key: a}").await;
    expect_diff(s, "diff -f -").await;
}

async fn a_diff_of_server_side_apply_is_made_of_a_dry_run(s: &mut Subject) {
    s.kubectl("apply --server-side -f -").reading("data: {key: a}").await;
    expect_diff(s, "diff --server-side -f -").await;
}
