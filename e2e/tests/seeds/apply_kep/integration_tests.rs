//! The integration tests of the plan: of a whole server, and of kubectl.

use baton_e2e::{
    scenario::{BuiltIn, Crd, Subject, builtin},
    scenario_list,
};

use super::WEB;

scenario_list! {
    apply_creates_in_any_storage, an_apply_with_a_uid_creates_nothing, managed_fields_stay_as_they_are,
    a_manager_without_fields_has_no_entry, apply_works_with_custom_resources;
    only real, because "of the order of members on the wire":
    managed_fields_have_one_form;
    only real, because "of kubectl":
    kubectl_applies_server_side, kubectl_takes_over_by_force, the_same_manifests_give_the_same_object;
}

async fn apply_creates_in_any_storage(s: &mut Subject) {
    for (kind, spec) in [
        (
            builtin::POD,
            "spec: {automountServiceAccountToken: false, schedulerName: none, containers: [{name: app, image: nginx:1}]}",
        ),
        (builtin::SERVICE, "spec: {ports: [{port: 80}]}"),
        (builtin::DEPLOYMENT, WEB),
        (builtin::CONFIG_MAP, "data: {a: b}"),
        (
            BuiltIn::new("", "v1", "ReplicationController", "replicationcontrollers"),
            "metadata: {labels: {app: a}}\nspec: {replicas: 0, selector: {app: a}, \
            template: {metadata: {labels: {app: a}}, spec: {containers: [{name: app, image: nginx:1}]}}}",
        ),
    ] {
        s.of(kind).await;
        s.apply_as("pipeline", spec).creates().await;
        s.expect_managers(&["pipeline (Apply)"]);
        s.apply_as("pipeline", spec).changes_nothing().await;
    }
}

async fn an_apply_with_a_uid_creates_nothing(s: &mut Subject) {
    s.apply_as("pipeline", "metadata: {uid: 6c4ea8ee-0d4b-4d2f-8d3d-e1d3d8e2f5a1}\ndata: {a: b}")
        .is_refused(409, "uid mismatch")
        .await;
    s.expect_absent("");
}

async fn managed_fields_have_one_form(s: &mut Subject) {
    s.apply_as("pipeline", "metadata: {labels: {a: b}}\ndata: {c: d}").await;
    s.update_as("console", "data: {c: e}").await;
    let entries = s.at(".metadata.managedFields").unwrap().items();
    let members: Vec<Vec<_>> =
        entries.iter().map(|entry| entry.members().iter().map(|(name, _)| name.as_str()).collect()).collect();
    let form = ["manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1"];
    assert_eq!(members, [form, form]);
    s.expect(".metadata.managedFields[0].fieldsV1", "{'f:metadata': {'f:labels': {'f:a': {}}}}");
    s.expect(".metadata.managedFields[1].fieldsV1", "{'f:data': {'f:c': {}}}");
    s.expect(".metadata.managedFields[1].fieldsType", "FieldsV1");
    s.expect(".metadata.managedFields[1].apiVersion", "v1");
}

async fn managed_fields_stay_as_they_are(s: &mut Subject) {
    s.of(builtin::DEPLOYMENT).await;
    s.apply_as("pipeline", WEB).await;
    s.update_as("console", "spec: {paused: true}").await;
    let before = s.at(".metadata.managedFields").unwrap().clone();
    s.next_second().await;
    s.apply_as("pipeline", WEB).changes_nothing().await;
    s.update_as("console", "spec: {paused: true}").changes_nothing().await;
    s.merge_patch_as("other", "{}").changes_nothing().await;
    s.apply_as("other", "spec: {minReadySeconds: 3}").dry_run().await;
    s.apply_as("other", "spec: {paused: false}").conflicts_with("console", ".spec.paused").await;
    s.status_as("controller", "status: {replicas: 1}").await;
    // Only the new entry is new.
    let after = s.at(".metadata.managedFields").unwrap();
    assert_eq!(after.items()[..2], before.items()[..]);
    s.expect_managers(&["pipeline (Apply)", "console (Update)", "controller (Update status)"]);
}

async fn a_manager_without_fields_has_no_entry(s: &mut Subject) {
    s.apply_as("alice", "{}").creates().await;
    s.expect_absent(".metadata.managedFields");
    s.apply_as("alice", "data: {a: '1'}").await;
    s.update_as("console", "data: {a: '2'}").await;
    s.apply_as("bob", "data: {a: '3'}").by_force().await;
    s.expect_owner(".data.a", "bob (Apply)");
    s.apply_as("alice", "{}").await;
    s.expect_managers(&["bob (Apply)"]);
}

async fn apply_works_with_custom_resources(s: &mut Subject) {
    let parts = "{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, \
        required: [name], properties: {name: {type: string}, size: {type: integer}}}}";
    let shape =
        format!("spec: {{type: object, properties: {{replicas: {{type: integer}}, parts: {parts}}}}}");
    s.define(Crd::new("KepCustom", &shape).with_scale()).await;
    s.apply_as("pipeline", "spec: {replicas: 1, parts: [{name: one, size: 1}]}").creates().await;
    s.merge_patch_as("console", "spec: {replicas: 5}").await;
    s.apply_as("pipeline", "spec: {replicas: 1, parts: [{name: one, size: 2}]}")
        .conflicts_with("console", ".spec.replicas")
        .await;
    s.apply_as("pipeline", "spec: {replicas: 1, parts: [{name: one, size: 2}]}").by_force().await;
    s.expect_owner(".spec.replicas", "pipeline (Apply)");
    s.apply_as("pipeline", "spec: {parts: []}").await;
    s.expect_absent(".spec.replicas");
    s.expect_absent(".spec.parts[0]");
}

async fn kubectl_applies_server_side(s: &mut Subject) {
    s.of(builtin::DEPLOYMENT).await;
    s.kubectl("apply --server-side -f -")
        .reading(WEB)
        .prints("deployment.apps/example serverside-applied")
        .await;
    let changed = WEB.replace("nginx:1", "nginx:2").replace("spec: {sel", "spec: {minReadySeconds: 3, sel");
    s.kubectl("apply --server-side -f -").reading(&changed).await;
    s.expect(r#".spec.template.spec.containers[name="app"].image"#, "nginx:2");
    s.expect(".spec.minReadySeconds", "3");
    s.kubectl("apply --server-side -f -").reading(WEB).await;
    s.expect_absent(".spec.minReadySeconds");

    s.define(Crd::new(
        "KepByKubectl",
        "spec: {type: object, properties: {a: {type: string}, b: {type: string}}}",
    ))
    .await;
    s.kubectl("apply --server-side -f -").reading("spec: {a: '1', b: '2'}").await;
    s.kubectl("apply --server-side -f -").reading("spec: {a: '3'}").await;
    s.expect(".spec", "{a: '3'}");
    s.expect_managers(&["kubectl (Apply)"]);
}

async fn kubectl_takes_over_by_force(s: &mut Subject) {
    s.apply_as("pipeline", "data: {a: '1'}").await;
    s.kubectl("apply --server-side -f -")
        .reading("data: {a: '2'}")
        .fails("Apply failed with 1 conflict: conflict with \"pipeline\": .data.a")
        .await;
    s.kubectl("apply --server-side --force-conflicts -f -").reading("data: {a: '2'}").await;
    s.expect_owner(".data.a", "kubectl (Apply)");
    s.kubectl("apply --server-side --field-manager=pipeline -f -").reading("data: {a: '2'}").await;
    s.expect_owners(".data.a", &["pipeline (Apply)", "kubectl (Apply)"]);
}

/// Manifests in the order of their commits in a repository.
const MANIFESTS: [&str; 4] = [
    "metadata: {labels: {team: blue}}\nspec: {selector: {app: web}, ports: [{name: a, port: 80}, {name: b, port: 443}]}",
    "metadata: {labels: {team: red, tier: front}}\nspec: {selector: {app: web}, ports: [{name: a, port: 80, targetPort: http}]}",
    "metadata: {labels: {team: red}}\nspec: {selector: {app: web, tier: front}, ports: [{name: c, port: 53}, {name: a, port: 80}]}",
    "spec: {selector: {app: web}, ports: [{name: a, port: 80}], sessionAffinity: ClientIP}",
];

async fn the_same_manifests_give_the_same_object(s: &mut Subject) {
    s.of(builtin::SERVICE).await;
    for manifest in MANIFESTS {
        let mut seen = Vec::new();
        for (name, command) in [("by-client", "apply -f -"), ("by-server", "apply --server-side -f -")] {
            s.named(name).await;
            s.kubectl(command).reading(manifest).await;
            let mut spec = s.at(".spec").unwrap().clone();
            // Each has its own address.
            spec.take("clusterIP");
            spec.take("clusterIPs");
            seen.push((spec, s.at(".metadata.labels").cloned()));
        }
        assert!(seen[0].0.same_value(&seen[1].0), "{seen:?}");
        assert_eq!(seen[0].1, seen[1].1);
    }
}
