//! The surprises of client-side apply, and that nobody is surprised any more.

use baton_e2e::{
    plays,
    scenario::{Promise, Scene, Section, builtin},
};
use baton_testbed::Json;

use super::WEB;

pub const MOTIVATION: Section = Section {
    document: super::DOCUMENT,
    title: "Motivation",
    promises: &[
        Promise::new(
            "Who creates an object by POST, and then changes something and applies, isn't surprised: what the POST said \
             otherwise is told as a conflict, and what the apply doesn't mention stays.",
            plays![posted_then_changed_and_applied],
        )
        .and_tests(&["e2e/tests/scenarios/surprises.rs::a_workload_that_was_posted_and_is_then_applied"]),
        Promise::new(
            "Who applies, edits with `kubectl edit`, and applies again, isn't surprised: the edit is neither lost without a \
             word nor in the way of what it didn't touch.",
            plays![applied_edited_and_applied],
        )
        .and_tests(&["e2e/tests/scenarios/surprises.rs::a_deployment_that_is_edited_between_two_applies"]),
        Promise::new(
            "Who reads an object, edits what was read, and applies it, isn't surprised: what others own is told as a conflict \
             where it was changed, and nothing changes anywhere else.",
            plays![read_edited_and_applied],
        )
        .and_tests(&["e2e/tests/scenarios/surprises.rs::a_deployment_that_was_read_edited_and_applied"]),
        Promise::new(
            "Who tweaks annotations and then applies isn't surprised: foreign annotations stay, and one that the intent says \
             otherwise is told.",
            plays![annotations_tweaked_then_applied],
        )
        .and_tests(&["e2e/tests/scenarios/surprises.rs::annotations_that_were_tweaked_before_an_apply"]),
        Promise::new(
            "When Alice applies something and then Bob does, neither is surprised: what they say of different fields is \
             kept, of the same field it is a conflict, and of one value they are both owners.",
            plays![alice_applies_then_bob],
        )
        .and_tests(&["e2e/tests/scenarios/surprises.rs::alice_applies_something_and_bob_applies_something"]),
        Promise::new(
            "An apply needs no patch format that misses what is meant: the intent itself is sent, and leaving a list item out \
             removes it.",
            plays![an_intent_says_what_takes_three_directives_in_a_strategic_patch],
        ),
        Promise::new(
            "What a server fills in is nobody's, even where the default is confusing, as the pull policy that depends on the \
             image's tag.",
            plays![a_defaulted_pull_policy_is_nobodys],
        )
        .but(
            "The default is made once: a pull policy that an image with the tag latest got stays when the tag changes, until \
             somebody says another.",
        ),
        Promise::new(
            "Who turns to another member of a union isn't hindered by what the former one has left.",
            plays![the_rest_of_a_union_is_in_the_way],
        )
        .but(
            "The server knows no unions: a default that belongs to the former member is nobody's, so that no apply removes \
             it, and the object is refused until another kind of patch does.",
        ),
        Promise::new(
            "An API that isn't friendly to declarations says so: a selector that is changed is refused, and not half applied.",
            plays![a_selector_cannot_be_changed],
        ),
    ],
};

async fn posted_then_changed_and_applied(s: &mut Scene) {
    s.create_as("kubectl-create", "data: {greeting: hello, colour: red}").creates().await;
    s.apply_as("kubectl", "data: {greeting: good morning}")
        .conflicts_with("kubectl-create", ".data.greeting")
        .await;
    s.apply_as("kubectl", "data: {greeting: good morning}").by_force().await;
    s.expect_owner(".data.greeting", "kubectl (Apply)");
    s.expect(".data.colour", "red");
    s.expect_owner(".data.colour", "kubectl-create (Update)");
}

async fn applied_edited_and_applied(s: &mut Scene) {
    s.apply_as("kubectl", "data: {greeting: hello, size: large}").await;
    s.update_as("kubectl-edit", "data: {greeting: hi, colour: red}").await;
    s.expect_owner(".data.greeting", "kubectl-edit (Update)");
    s.apply_as("kubectl", "data: {greeting: hello, size: large}")
        .conflicts_with("kubectl-edit", ".data.greeting")
        .await;
    // What was edited can be taken over into the intent; what the intent drops goes, and the edit's own field stays.
    s.apply_as("kubectl", "data: {greeting: hi}").await;
    s.expect_owners(".data.greeting", &["kubectl (Apply)", "kubectl-edit (Update)"]);
    s.expect_absent(".data.size");
    s.expect(".data.colour", "red");
}

/// The subject as a reader gets it, without what says who owns it.
fn as_read(s: &Scene) -> Json {
    let mut read = s.at("").unwrap().clone();
    read.entry("metadata").take("managedFields");
    read
}

async fn read_edited_and_applied(s: &mut Scene) {
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

    // What was read has become old: its version is told.
    edited.entry("data").set("size", "small");
    s.apply_as("carol", &edited.to_string()).is_refused(409, "the object has been modified").await;
}

async fn annotations_tweaked_then_applied(s: &mut Scene) {
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

async fn alice_applies_then_bob(s: &mut Scene) {
    s.apply_as("alice", "data: {greeting: hello, colour: red}").await;
    s.apply_as("bob", "data: {size: large}").await;
    s.expect(".data", "{greeting: hello, colour: red, size: large}");
    s.apply_as("bob", "data: {size: large, colour: blue}").conflicts_with("alice", ".data.colour").await;
    s.apply_as("bob", "data: {size: large, colour: red}").await;
    s.expect_owners(".data.colour", &["alice (Apply)", "bob (Apply)"]);
    // Now it takes both to give it up.
    s.apply_as("alice", "data: {greeting: hello}").await;
    s.expect_owner(".data.colour", "bob (Apply)");
    s.apply_as("bob", "data: {size: large}").await;
    s.expect_absent(".data.colour");
}

async fn an_intent_says_what_takes_three_directives_in_a_strategic_patch(s: &mut Scene) {
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

async fn a_defaulted_pull_policy_is_nobodys(s: &mut Scene) {
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

async fn the_rest_of_a_union_is_in_the_way(s: &mut Scene) {
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
    // What somebody has applied goes by itself.
    s.named("said").await;
    let said = "spec: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}, sel";
    s.apply_as("alice", &WEB.replace("spec: {sel", said)).await;
    s.apply_as("alice", &WEB.replace("spec: {sel", "spec: {strategy: {type: Recreate}, sel")).await;
    s.expect(".spec.strategy", "{type: Recreate}");
}

async fn a_selector_cannot_be_changed(s: &mut Scene) {
    s.of(builtin::DEPLOYMENT).await;
    s.apply_as("alice", WEB).await;
    s.apply_as("alice", &WEB.replace("app: web", "app: shop").replace("nginx:1", "nginx:2"))
        .is_refused(422, "spec.selector: Invalid value")
        .await;
    s.expect(r#".spec.template.spec.containers[name="app"].image"#, "nginx:1");
}
