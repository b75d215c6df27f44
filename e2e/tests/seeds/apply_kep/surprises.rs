//! The surprises of client-side apply, and how server-side apply avoids them.

use baton_e2e::{
    scenario::{Subject, builtin},
    scenario_list,
};
use baton_testbed::Json;

use super::WEB;

scenario_list! {
    posted_then_changed_and_applied, applied_edited_and_applied, read_edited_and_applied,
    an_intent_replaces_three_directives_of_a_strategic_patch, a_defaulted_pull_policy_has_no_owner,
    a_leftover_of_a_union_blocks_a_change;
    only real, because "of kubectl":
    annotations_tweaked_then_applied;
}

async fn posted_then_changed_and_applied(s: &mut Subject) {
    s.create_as("kubectl-create", "data: {greeting: hello, colour: red}").creates().await;
    s.apply_as("kubectl", "data: {greeting: good morning}")
        .conflicts_with("kubectl-create", ".data.greeting")
        .await;
    s.apply_as("kubectl", "data: {greeting: good morning}").by_force().await;
    s.expect_owner(".data.greeting", "kubectl (Apply)");
    s.expect(".data.colour", "red");
    s.expect_owner(".data.colour", "kubectl-create (Update)");
}

async fn applied_edited_and_applied(s: &mut Subject) {
    s.apply_as("kubectl", "data: {greeting: hello, size: large}").await;
    s.update_as("kubectl-edit", "data: {greeting: hi, colour: red}").await;
    s.expect_owner(".data.greeting", "kubectl-edit (Update)");
    s.apply_as("kubectl", "data: {greeting: hello, size: large}")
        .conflicts_with("kubectl-edit", ".data.greeting")
        .await;
    // The intent takes the edited value. A field that the intent drops is removed, and the edit's own field stays.
    s.apply_as("kubectl", "data: {greeting: hi}").await;
    s.expect_owners(".data.greeting", &["kubectl (Apply)", "kubectl-edit (Update)"]);
    s.expect_absent(".data.size");
    s.expect(".data.colour", "red");
}

/// The subject as a client reads it, without its owners.
fn as_read(s: &Subject) -> Json {
    let mut read = s.at("").unwrap().clone();
    read.entry("metadata").take("managedFields");
    read
}

async fn read_edited_and_applied(s: &mut Subject) {
    s.apply_as("alice", "data: {greeting: hello}").await;
    s.update_as("bob", "data: {colour: red}").await;
    let whole = s.at("").unwrap().to_string();
    s.apply_as("carol", &whole).is_refused(400, "metadata.managedFields must be nil").await;

    let mut edited = as_read(s);
    edited.entry("data").set("colour", "blue");
    s.apply_as("carol", &edited.to_string()).conflicts_with("bob", ".data.colour").await;
    let mut edited = as_read(s);
    edited.entry("data").set("size", "large");
    s.apply_as("carol", &edited.to_string()).await;
    s.expect(".data", "{greeting: hello, colour: red, size: large}");
    s.expect_owners(".data.greeting", &["alice (Apply)", "carol (Apply)"]);
    s.expect_owners(".data.colour", &["carol (Apply)", "bob (Update)"]);

    // The object that was read is stale: it has the old version.
    edited.entry("data").set("size", "small");
    s.apply_as("carol", &edited.to_string()).is_refused(409, "the object has been modified").await;
}

async fn annotations_tweaked_then_applied(s: &mut Subject) {
    s.apply_as("kubectl", "metadata: {annotations: {team: blue}}\ndata: {a: b}").await;
    s.kubectl("annotate configmap example team=red note=mine --overwrite").await;
    s.expect_owner(".metadata.annotations.team", "kubectl-annotate (Update)");
    s.apply_as("kubectl", "metadata: {annotations: {team: blue}}\ndata: {a: b}")
        .conflicts_with("kubectl-annotate", ".metadata.annotations.team")
        .await;
    s.apply_as("kubectl", "metadata: {annotations: {team: blue}}\ndata: {a: b}").by_force().await;
    s.expect(".metadata.annotations", "{team: blue, note: mine}");
    s.expect_owner(".metadata.annotations.note", "kubectl-annotate (Update)");
}

async fn an_intent_replaces_three_directives_of_a_strategic_patch(s: &mut Subject) {
    s.of(builtin::SERVICE).await;
    s.apply_as("alice", "spec: {ports: [{name: a, port: 80}, {name: b, port: 443}], selector: {app: web}}")
        .await;
    s.apply_as("alice", "spec: {ports: [{name: b, port: 53}]}").await;
    s.expect_absent(".spec.selector");
    s.expect_absent(".spec.ports[1]");
    s.expect(".spec.ports[0].port", "53");

    s.strategic_patch_as(
        "bob",
        "spec: {$setElementOrder/ports: [{port: 80}], ports: [{port: 53, $patch: delete}, {port: 80, name: c}]}",
    )
    .await;
    s.expect_absent(".spec.ports[1]");
    s.expect(".spec.ports[0].port", "80");
}

async fn a_defaulted_pull_policy_has_no_owner(s: &mut Subject) {
    let policy = r#".spec.template.spec.containers[name="app"].imagePullPolicy"#;
    s.of(builtin::DEPLOYMENT).await;
    s.apply_as("alice", &WEB.replace("nginx:1", "nginx:latest")).await;
    s.expect(policy, "Always");
    s.expect_no_owner(policy);
    s.apply_as("alice", WEB).await;
    s.expect(policy, "Always");
    s.apply_as("alice", &WEB.replace("name: app", "name: app, imagePullPolicy: IfNotPresent")).await;
    s.expect(policy, "IfNotPresent");
    s.expect_owner(policy, "alice (Apply)");
}

async fn a_leftover_of_a_union_blocks_a_change(s: &mut Subject) {
    s.of(builtin::DEPLOYMENT).await;
    s.apply_as("alice", WEB).await;
    s.expect_no_owner(".spec.strategy.rollingUpdate");
    for strategy in ["{type: Recreate}", "{type: Recreate, rollingUpdate: null}"] {
        s.apply_as("alice", &WEB.replace("spec: {sel", &format!("spec: {{strategy: {strategy}, sel")))
            .is_refused(422, "spec.strategy.rollingUpdate: Forbidden")
            .await;
    }
    s.merge_patch_as("console", "spec: {strategy: {type: Recreate, rollingUpdate: null}}").await;
    s.expect(".spec.strategy", "{type: Recreate}");
    // An applied value is removed with the intent.
    s.named("applied").await;
    let applied =
        "spec: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}, sel";
    s.apply_as("alice", &WEB.replace("spec: {sel", applied)).await;
    s.apply_as("alice", &WEB.replace("spec: {sel", "spec: {strategy: {type: Recreate}, sel")).await;
    s.expect(".spec.strategy", "{type: Recreate}");
}
