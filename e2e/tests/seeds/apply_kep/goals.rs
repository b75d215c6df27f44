//! The goals and non-goals of apply.

use baton_e2e::{
    scenario::{Crd, Subject, builtin},
    scenario_list,
};
use baton_testbed::AdmissionWebhook;

use super::{WEB, wire};
use crate::dry_run_kep::webhooks::{MUTATING, install};

scenario_list! {
    people_and_systems_each_own_their_fields, what_an_autoscaler_sets_survives_an_apply,
    defaults_have_no_owner, a_schema_gains_a_field, the_steps_before_do_not_matter,
    the_change_of_an_intent_is_the_change_of_the_object, what_cannot_be_changed_is_refused,
    the_type_of_a_service_is_changed;
    only real, because "of a webhook":
    what_a_mutating_webhook_adds_survives;
    only real, because "of kubectl":
    kubectl_and_a_plain_request_give_the_same_object, several_objects_are_several_requests,
    another_name_is_another_object;
}

async fn people_and_systems_each_own_their_fields(s: &mut Subject) {
    s.of(builtin::DEPLOYMENT).await;
    s.apply_as("team", &WEB.replace("spec: {sel", "spec: {replicas: 1, sel")).await;
    s.apply_as("platform", "metadata: {labels: {cost-center: shop}}").await;
    s.scale_as("autoscaler", 3).await;
    s.status_as("controller", "status: {observedGeneration: 1}").await;
    s.expect_owner(".metadata.labels.cost-center", "platform (Apply)");
    s.expect_owner(".spec.replicas", "autoscaler (Update scale)");
    s.expect_owner(".status.observedGeneration", "controller (Update status)");
    s.expect_owner(".spec.selector", "team (Apply)");
}

async fn what_an_autoscaler_sets_survives_an_apply(s: &mut Subject) {
    s.of(builtin::DEPLOYMENT).await;
    s.apply_as("team", WEB).await;
    s.scale_as("autoscaler", 5).await;
    s.apply_as("team", WEB).changes_nothing().await;
    s.apply_as("team", &WEB.replace("nginx:1", "nginx:2")).await;
    s.expect(".spec.replicas", "5");
}

async fn defaults_have_no_owner(s: &mut Subject) {
    s.of(builtin::DEPLOYMENT).await;
    s.apply_as("team", WEB).creates().await;
    s.expect(".spec.replicas", "1");
    s.expect(".spec.strategy.type", "RollingUpdate");
    s.expect_no_owner(".spec.replicas");
    s.expect_no_owner(".spec.strategy.type");
    s.apply_as("team", WEB).changes_nothing().await;
    // A manager that applies another value than the default conflicts with none.
    s.apply_as("other", "spec: {replicas: 3}").await;
    s.expect_owner(".spec.replicas", "other (Apply)");
    s.apply_as("team", WEB).changes_nothing().await;
}

async fn what_a_mutating_webhook_adds_survives(s: &mut Subject) {
    let touched = ".metadata.annotations.webhook.test/touched";
    let webhook = AdmissionWebhook::start().await.unwrap();
    install(s, &webhook, MUTATING, "/mutate", "None").await;

    s.apply_as("team", "data: {greeting: hello}").admission_adds(".metadata.annotations").await;
    s.expect(touched, "'true'");
    s.expect_no_owner(touched);
    s.apply_as("team", "data: {greeting: hello}").changes_nothing().await;
    s.apply_as("team", "data: {greeting: hi}").await;
    s.expect(touched, "'true'");
}

async fn a_schema_gains_a_field(s: &mut Subject) {
    s.define(Crd::new("KepShape", "spec: {type: object, properties: {size: {type: integer}}}")).await;
    s.apply_as("alice", "spec: {size: 1}").await;
    s.apply_as("bob", "spec: {colour: red}")
        .is_refused(500, ".spec.colour: field not declared in schema")
        .await;

    let grown = "spec: {type: object, properties: {size: {type: integer}, colour: {type: string}}}";
    s.define(Crd::new("KepShape", grown)).await;
    s.apply_as("bob", "spec: {colour: red}").await;
    s.expect_owner(".spec.colour", "bob (Apply)");
    s.expect_owner(".spec.size", "alice (Apply)");
    s.apply_as("alice", "spec: {size: 1}").changes_nothing().await;
    s.apply_as("alice", "spec: {size: 1, colour: blue}").conflicts_with("bob", ".spec.colour").await;
}

async fn the_steps_before_do_not_matter(s: &mut Subject) {
    let intent = "data: {greeting: hello, colour: red}";
    let fields = [".data.greeting", ".data.colour"];
    s.named("new").await;
    s.apply_as("pipeline", intent).creates().await;
    s.expect_fields("pipeline (Apply)", &fields);

    s.named("applied").await;
    s.apply_as("pipeline", "data: {greeting: hello, size: large}").await;
    s.apply_as("pipeline", intent).await;
    s.expect_fields("pipeline (Apply)", &fields);
    s.expect(".data", "{greeting: hello, colour: red}");

    s.named("posted").await;
    s.create_as("console", "data: {greeting: hello}").await;
    s.apply_as("pipeline", intent).await;
    s.expect_fields("pipeline (Apply)", &fields);
    s.expect(".data", "{greeting: hello, colour: red}");

    s.named("patched").await;
    s.create_as("console", "{}").await;
    s.json_patch_as("console", "[{op: add, path: /data, value: {colour: red}}]").await;
    s.apply_as("pipeline", intent).await;
    s.expect_fields("pipeline (Apply)", &fields);
    s.expect(".data", "{greeting: hello, colour: red}");
}

async fn the_change_of_an_intent_is_the_change_of_the_object(s: &mut Subject) {
    s.apply_as("team", "data: {stays: a, changes: b, goes: c}").await;
    s.merge_patch_as("editor", "data: {foreign: d}").await;
    s.apply_as("team", "data: {stays: a, changes: B, comes: e}").await;
    s.expect(".data", "{stays: a, changes: B, comes: e, foreign: d}");
}

async fn kubectl_and_a_plain_request_give_the_same_object(s: &mut Subject) {
    s.of(builtin::SERVICE).await;
    let (first, second) = (
        "spec: {selector: {app: web}, ports: [{name: a, port: 80}, {name: b, port: 443}]}",
        "spec: {selector: {app: web}, ports: [{name: a, port: 80, targetPort: http}]}",
    );
    s.named("by-kubectl").await;
    s.kubectl("apply --server-side -f -").reading(first).await;
    s.kubectl("apply --server-side -f -").reading(second).await;
    let (ports, owners) = (s.at(".spec.ports").cloned(), s.managers());
    s.named("by-request").await;
    s.apply_as("kubectl", first).await;
    s.apply_as("kubectl", second).await;
    assert_eq!((s.at(".spec.ports").cloned(), s.managers()), (ports, owners));
    s.expect_absent(".spec.ports[1]");
}

async fn several_objects_are_several_requests(s: &mut Subject) {
    let list = "apiVersion: v1\nkind: List\nitems: []\nmetadata: {name: example}\n";
    let uri = format!("{}/example?fieldManager=team", wire::config_maps(s));
    let (code, message) = wire::send(s, "PATCH", &uri, wire::APPLY, list).await.unwrap_err();
    assert_eq!(code, 400, "{message}");

    let documents = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: first}\ndata: {a: b}\n---\n\
        apiVersion: v1\nkind: ConfigMap\nmetadata: {name: second}\ndata: {a: [no text]}\n";
    let args = ["apply", "--server-side", "-f", "-", "--namespace", s.namespace()];
    let command = s.server().cluster().real().kubectl_command(args).unwrap().input(documents);
    let output = command.run().await.unwrap();
    assert!(!output.status.success(), "{output}");
    s.named("second").await;
    s.expect_absent("");
    s.named("first").await;
    s.expect_owner(".data.a", "kubectl (Apply)");
}

async fn another_name_is_another_object(s: &mut Subject) {
    s.apply_as("team", "data: {greeting: hello}").await;
    let uri = format!("{}/example?fieldManager=team", wire::config_maps(s));
    let renamed = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\ndata: {greeting: hello}\n";
    let (code, message) = wire::send(s, "PATCH", &uri, wire::APPLY, renamed).await.unwrap_err();
    assert!(code == 400 && message.contains("does not match"), "{code}: {message}");

    s.named("other").await;
    s.kubectl("apply --server-side -f -").reading("data: {greeting: hello}").await;
    s.expect(".data.greeting", "hello");
    s.named("example").await;
    s.expect(".data.greeting", "hello");
}

async fn what_cannot_be_changed_is_refused(s: &mut Subject) {
    s.of(builtin::DEPLOYMENT).await;
    s.apply_as("team", WEB).await;
    let other = WEB.replace("app: web", "app: shop");
    s.apply_as("team", &other).by_force().is_refused(422, "field is immutable").await;
    s.update_as("team", &other).is_refused(422, "field is immutable").await;

    s.of(builtin::CONFIG_MAP).await;
    s.apply_as("team", "immutable: true\ndata: {greeting: hello}").await;
    s.apply_as("team", "immutable: true\ndata: {greeting: hi}")
        .is_refused(422, "field is immutable when `immutable` is set")
        .await;
}

async fn the_type_of_a_service_is_changed(s: &mut Subject) {
    s.of(builtin::SERVICE).await;
    let spec = "spec: {type: ClusterIP, selector: {app: web}, ports: [{port: 80}]}";
    s.apply_as("team", spec).await;
    s.apply_as("team", &spec.replace("ClusterIP", "NodePort")).await;
    s.expect(".spec.type", "NodePort");
    assert!(s.at(".spec.ports[0].nodePort").is_some());
    s.apply_as("team", spec).await;
    s.expect(".spec.type", "ClusterIP");
    s.expect_absent(".spec.ports[0].nodePort");
    // The address can't be changed.
    s.apply_as("team", "spec: {clusterIP: 10.0.0.77, ports: [{port: 80}]}")
        .is_refused(422, "spec.clusterIPs[0]")
        .await;
}
