//! The tests of the merge in the plan.

use baton_e2e::{
    scenario::{Crd, Subject, builtin},
    scenario_list,
};
use baton_testbed::{PATIENCE, poll};

use super::wire;

scenario_list! {
    objects_are_merged_by_their_schema, an_applied_value_turns_into_its_fields,
    an_update_owns_the_difference, what_does_not_fit_the_schema_is_refused,
    all_conflicts_are_reported_at_once, what_is_no_conflict, apply_works_without_a_schema,
    apply_works_for_leaves, apply_works_for_items_of_sets, numbers_and_booleans_are_in_sets,
    apply_works_for_items_of_lists_with_keys, apply_works_for_nested_schemas,
    apply_works_for_recursive_schemas, a_recursive_type_is_followed_all_the_way,
    apply_works_for_several_appliers, a_shared_item_is_removed_with_its_last_owner,
    a_field_that_is_elsewhere_in_another_version, a_key_that_only_one_version_has, a_version_that_was_removed,
    a_version_that_never_existed,
}

const SHAPE: &str = "spec:
  type: object
  properties:
    name: {type: string}
    count: {type: integer}
    ratio: {type: number}
    open: {type: boolean}
    tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
    names: {type: array, items: {type: string}}
    parts:
      type: array
      x-kubernetes-list-type: map
      x-kubernetes-list-map-keys: [name]
      items:
        type: object
        required: [name]
        properties: {name: {type: string}, size: {type: integer}, tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}}
    limits: {type: object, additionalProperties: {type: integer}}
    whole: {type: object, x-kubernetes-map-type: atomic, additionalProperties: {type: integer}}
    deep: {type: object, properties: {deeper: {type: object, properties: {a: {type: integer}, b: {type: integer}}}}}";

async fn objects_are_merged_by_their_schema(s: &mut Subject) {
    s.define(Crd::new("KepTyped", SHAPE)).await;
    s.apply_as(
        "alice",
        "spec: {name: x, tags: [a], names: [a], parts: [{name: one, size: 1}], limits: {cpu: 1}}",
    )
    .await;
    s.apply_as(
        "bob",
        "spec: {count: 2, tags: [b], parts: [{name: two}, {name: one, tags: [t]}], limits: {memory: 2}}",
    )
    .await;
    s.expect(
        ".spec",
        "{name: x, count: 2, tags: [a, b], names: [a], limits: {cpu: 1, memory: 2}, \
         parts: [{name: two}, {name: one, size: 1, tags: [t]}]}",
    );
    s.apply_as("bob", "spec: {names: [b]}").conflicts_with("alice", ".spec.names").await;
}

async fn an_applied_value_turns_into_its_fields(s: &mut Subject) {
    s.define(Crd::new("KepFields", SHAPE)).await;
    s.apply_as(
        "alice",
        "spec: {name: x, count: 0, ratio: 0.5, open: false, tags: [a, b], names: [p, p], parts: [{name: one, size: 1}], \
         limits: {}, whole: {a: 1}, deep: {deeper: {a: 1}}}",
    )
    .await;
    s.expect_fields(
        "alice (Apply)",
        &[
            ".spec.name",
            ".spec.count",
            ".spec.ratio",
            ".spec.open",
            r#".spec.tags[="a"]"#,
            r#".spec.tags[="b"]"#,
            ".spec.names",
            r#".spec.parts[name="one"]"#,
            r#".spec.parts[name="one"].name"#,
            r#".spec.parts[name="one"].size"#,
            ".spec.limits",
            ".spec.whole",
            ".spec.deep.deeper.a",
        ],
    );
}

async fn an_update_owns_the_difference(s: &mut Subject) {
    s.define(Crd::new("KepDifference", SHAPE)).await;
    s.apply_as(
        "alice",
        "spec: {name: x, count: 1, tags: [a, b], parts: [{name: one, size: 1}, {name: two}]}",
    )
    .await;
    // Added: open, c, three. Changed: count, the size of one. Removed: name, a, two.
    s.update_as(
        "bob",
        "spec: {name: null, count: 2, open: true, tags: [b, c], parts: [{name: one, size: 2}, {name: three}]}",
    )
    .await;
    s.expect_fields(
        "bob (Update)",
        &[
            ".spec.count",
            ".spec.open",
            r#".spec.tags[="c"]"#,
            r#".spec.parts[name="one"].size"#,
            r#".spec.parts[name="three"]"#,
            r#".spec.parts[name="three"].name"#,
        ],
    );
    s.expect_fields(
        "alice (Apply)",
        &[r#".spec.tags[="b"]"#, r#".spec.parts[name="one"]"#, r#".spec.parts[name="one"].name"#],
    );
}

async fn what_does_not_fit_the_schema_is_refused(s: &mut Subject) {
    s.define(Crd::new("KepValid", SHAPE)).await;
    for (spec, message) in [
        ("{nothing: 1}", ".spec.nothing: field not declared in schema"),
        ("{name: 1}", ".spec.name: expected string"),
        ("{count: x}", ".spec.count: expected numeric"),
        ("{open: x}", ".spec.open: expected boolean"),
        ("{deep: [a]}", ".spec.deep: expected map"),
        ("{tags: {a: b}}", ".spec.tags: expected list"),
        ("{tags: [a, a]}", ".spec.tags: duplicate entries"),
        ("{parts: [{name: one}, {name: one}]}", ".spec.parts: duplicate entries"),
        ("{parts: [{size: 1}]}", ".spec.parts: element 0"),
        ("{parts: [null]}", ".spec.parts"),
        ("{parts: [{name: one, size: x}]}", ".spec.parts[name=\"one\"].size: expected numeric"),
    ] {
        s.apply_as("alice", &format!("spec: {spec}")).is_refused(500, message).await;
    }
    s.expect_absent("");
}

async fn all_conflicts_are_reported_at_once(s: &mut Subject) {
    s.define(Crd::new("KepConflicts", SHAPE)).await;
    s.apply_as("alice", "spec: {name: x, limits: {cpu: 1}}").await;
    s.apply_as("bob", "spec: {parts: [{name: one, size: 1}], limits: {memory: 2}}").await;
    s.update_as("console", "spec: {whole: {a: 1}}").await;
    s.apply_as(
        "carol",
        "spec: {name: z, parts: [{name: one, size: 2}], limits: {cpu: 2, memory: 2}, whole: {a: 2}, count: 1}",
    )
    .conflicts_with("alice", ".spec.name")
    .conflicts_with("alice", ".spec.limits.cpu")
    .conflicts_with("bob", r#".spec.parts[name="one"].size"#)
    .conflicts_with("console", ".spec.whole")
    .await;
}

async fn what_is_no_conflict(s: &mut Subject) {
    s.define(Crd::new("KepNoConflict", SHAPE)).await;
    s.apply_as("alice", "spec: {name: x, count: 1, ratio: 1, tags: [a], limits: {cpu: 1}}").await;
    // No conflict: the same value, another spelling of it, a field of one's own, a field without an owner.
    s.apply_as("bob", "spec: {name: x, ratio: 1.0, tags: [b], limits: {memory: 1}}").await;
    s.expect_owners(".spec.ratio", &["alice (Apply)", "bob (Apply)"]);
    s.apply_as("alice", "spec: {name: x, count: 2, tags: [a], limits: {cpu: 2}}").await;
    s.apply_as("bob", "spec: {name: x, tags: [a, b], open: true, limits: {memory: 2}}").await;
    // An update by the same name is another manager.
    s.update_as("bob", "spec: {open: false}").await;
    s.apply_as("bob", "spec: {name: x, tags: [a, b], open: true}").conflicts_with("bob", ".spec.open").await;
}

async fn apply_works_without_a_schema(s: &mut Subject) {
    s.define(Crd::schemaless("KepDeducedApply")).await;
    s.apply_as("alice", "spec: {a: {b: 1, c: [1, 2]}, gone: true}").await;
    s.apply_as("alice", "spec: {a: {b: 1, c: [2]}}").await;
    s.expect(".spec", "{a: {b: 1, c: [2]}}");
    s.apply_as("bob", "spec: {a: {b: 2}}").conflicts_with("alice", ".spec.a.b").await;
    s.apply_as("bob", "spec: {a: {b: {now: a map}}}").by_force().await;
    s.expect(".spec", "{a: {b: {now: a map}, c: [2]}}");
    s.expect_fields("alice (Apply)", &[".spec.a", ".spec.a.c"]);
    s.expect_fields("bob (Apply)", &[".spec.a", ".spec.a.b", ".spec.a.b.now"]);
}

async fn apply_works_for_leaves(s: &mut Subject) {
    s.define(Crd::new("KepLeaves", SHAPE)).await;
    s.apply_as("alice", "spec: {name: x, count: 1, ratio: 1.5, open: true}").await;
    s.apply_as("bob", "spec: {name: x, count: 1, ratio: 1.5, open: true}").await;
    s.apply_as("alice", "spec: {name: z, count: 2, ratio: 2.5, open: false}")
        .conflicts_with("bob", ".spec.name")
        .conflicts_with("bob", ".spec.count")
        .conflicts_with("bob", ".spec.ratio")
        .conflicts_with("bob", ".spec.open")
        .await;
    s.apply_as("bob", "spec: {name: x}").await;
    s.expect_owner(".spec.count", "alice (Apply)");
    s.apply_as("alice", "spec: {count: 2}").await;
    s.expect(".spec", "{name: x, count: 2}");
}

async fn apply_works_for_items_of_sets(s: &mut Subject) {
    s.define(Crd::new("KepTags", SHAPE)).await;
    s.apply_as("alice", "spec: {tags: [a, c]}").await;
    s.apply_as("bob", "spec: {tags: [b, c]}").await;
    s.expect_owners(r#".spec.tags[="c"]"#, &["alice (Apply)", "bob (Apply)"]);
    // The applier decides the order of its own items.
    s.apply_as("alice", "spec: {tags: [c, a]}").await;
    s.expect(".spec.tags", "[b, c, a]");
    s.apply_as("alice", "spec: {tags: [d]}").await;
    s.expect_absent(r#".spec.tags[="a"]"#);
    s.expect_owner(r#".spec.tags[="c"]"#, "bob (Apply)");
    s.update_as("console", "spec: {tags: [d, e]}").await;
    s.expect_owner(r#".spec.tags[="e"]"#, "console (Update)");
    s.expect_fields("bob (Apply)", &[]);
}

async fn numbers_and_booleans_are_in_sets(s: &mut Subject) {
    let set = |of: &str| format!("{{type: array, x-kubernetes-list-type: set, items: {{type: {of}}}}}");
    let properties = format!("{{numbers: {}, booleans: {}}}", set("integer"), set("boolean"));
    s.define(Crd::new("KepNumbers", &format!("spec: {{type: object, properties: {properties}}}"))).await;
    s.apply_as("alice", "spec: {numbers: [1, 3], booleans: [true]}").await;
    s.apply_as("bob", "spec: {numbers: [2], booleans: [false]}").await;
    s.expect_fields("alice (Apply)", &[".spec.numbers[=1]", ".spec.numbers[=3]", ".spec.booleans[=true]"]);
    s.expect_fields("bob (Apply)", &[".spec.numbers[=2]", ".spec.booleans[=false]"]);
    s.apply_as("alice", "spec: {}").await;
    s.expect(".spec", "{numbers: [2], booleans: [false]}");
}

async fn apply_works_for_items_of_lists_with_keys(s: &mut Subject) {
    s.define(Crd::new("KepParts", SHAPE)).await;
    s.apply_as("alice", "spec: {parts: [{name: one, size: 1}, {name: two, size: 2}]}").await;
    s.apply_as("bob", "spec: {parts: [{name: two, tags: [t]}, {name: three, size: 3}]}").await;
    s.apply_as("bob", "spec: {parts: [{name: two, size: 3, tags: [t]}]}")
        .conflicts_with("alice", r#".spec.parts[name="two"].size"#)
        .await;
    // An item is removed with its last owner. A shared item loses the fields of the owner that dropped it.
    s.apply_as("alice", "spec: {parts: [{name: one, size: 1}]}").await;
    s.expect(".spec.parts[name=\"two\"]", "{name: two, tags: [t]}");
    s.apply_as("bob", "spec: {}").await;
    s.expect(".spec.parts", "[{name: one, size: 1}]");
}

async fn apply_works_for_nested_schemas(s: &mut Subject) {
    s.define(Crd::new("KepNested", SHAPE)).await;
    s.apply_as("alice", "spec: {deep: {deeper: {a: 1}}, parts: [{name: one, tags: [x]}]}").await;
    s.apply_as("bob", "spec: {deep: {deeper: {b: 1}}, parts: [{name: one, tags: [z]}]}").await;
    s.expect_owner(".spec.deep.deeper.a", "alice (Apply)");
    s.expect_owner(r#".spec.parts[name="one"].tags[="z"]"#, "bob (Apply)");
    s.apply_as("alice", "spec: {deep: {}}").await;
    s.expect(".spec", "{deep: {deeper: {b: 1}}, parts: [{name: one, tags: [z]}]}");
    s.apply_as("alice", "spec: {}").await;
    s.expect(".spec.deep", "{deeper: {b: 1}}");
}

async fn apply_works_for_recursive_schemas(s: &mut Subject) {
    s.define(Crd::schemaless("KepTree")).await;
    s.apply_as("alice", "spec: {value: 1, left: {value: 2, left: {value: 3}}}").await;
    s.apply_as("bob", "spec: {left: {right: {value: 4, right: {value: 5}}}}").await;
    s.expect_owner(".spec.left.left.value", "alice (Apply)");
    s.expect_owner(".spec.left.right.right.value", "bob (Apply)");
    s.apply_as("bob", "spec: {left: {left: {value: 9}}}")
        .conflicts_with("alice", ".spec.left.left.value")
        .await;
    s.apply_as("alice", "spec: {value: 1}").await;
    s.expect(".spec", "{value: 1, left: {right: {value: 4, right: {value: 5}}}}");
}

async fn a_recursive_type_is_followed_all_the_way(s: &mut Subject) {
    s.of(builtin::CUSTOM_RESOURCE_DEFINITION).await;
    s.named("keptrees2.example.com").await;
    let of = |leaf: &str| {
        format!(
            "spec: {{group: example.com, scope: Namespaced, \
             names: {{kind: KepTree2, plural: keptrees2, singular: keptree2, listKind: KepTree2List}}, \
             versions: [{{name: v1, served: false, storage: true, schema: {{openAPIV3Schema: {{type: object, properties: \
             {{a: {{type: object, properties: {{b: {{type: object, properties: {{c: {{{leaf}}}}}}}}}}}}}}}}}}}]}}"
        )
    };
    s.apply_as("alice", &of("typ: integer")).is_refused(500, ".typ: field not declared in schema").await;
    s.apply_as("alice", &of("type: 1")).is_refused(500, ".type: expected string").await;
    s.apply_as("alice", &of("type: integer")).dry_run().creates().await;
    let uri = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/keptrees2.example.com";
    let body = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: keptrees2.example.com}}\n{}",
        of("type: integer")
    );
    wire::send(s, "PATCH", &format!("{uri}?fieldManager=alice"), wire::APPLY, &body).await.unwrap();
    // The server writes to its status several times.
    let is_established = async || {
        let text = wire::send(s, "GET", uri, "application/json", "").await.unwrap();
        let is_so = "\"reason\":\"InitialNamesAccepted\"";
        if text.contains(is_so) && text.contains("\"type\":\"Established\"") { Ok(()) } else { Err(text) }
    };
    poll(PATIENCE, is_established).await.unwrap();
    s.refresh().await;
    s.expect_owner(".spec.versions", "alice (Apply)");
    s.apply_as("bob", &of("type: string")).conflicts_with("alice", ".spec.versions").await;
}

async fn apply_works_for_several_appliers(s: &mut Subject) {
    s.define(Crd::new("KepAppliers", SHAPE)).await;
    s.apply_as("alice", "spec: {limits: {a: 1, b: 1}, whole: {x: 1}}").await;
    s.apply_as("bob", "spec: {limits: {b: 1, c: 1}, whole: {x: 1}}").await;
    s.apply_as("carol", "spec: {limits: {c: 1, d: 1}}").await;
    s.expect_owners(".spec.limits.b", &["alice (Apply)", "bob (Apply)"]);
    s.expect_owners(".spec.limits.c", &["bob (Apply)", "carol (Apply)"]);
    // A forced apply takes a field over from all its owners.
    s.apply_as("carol", "spec: {limits: {b: 2, c: 1, d: 1}, whole: {x: 2}}").by_force().await;
    s.expect_owner(".spec.limits.b", "carol (Apply)");
    s.expect_owner(".spec.whole", "carol (Apply)");
    s.expect_fields("alice (Apply)", &[".spec.limits.a"]);
    s.apply_as("alice", "spec: {limits: {e: 1}}").await;
    s.expect(".spec.limits", "{b: 2, c: 1, d: 1, e: 1}");
}

async fn a_shared_item_is_removed_with_its_last_owner(s: &mut Subject) {
    s.define(Crd::new("KepShared", SHAPE)).await;
    s.apply_as("alice", "spec: {parts: [{name: one, size: 1}], tags: [a]}").await;
    s.apply_as("bob", "spec: {parts: [{name: one, size: 1}], tags: [a]}").await;
    s.apply_as("alice", "{}").await;
    s.expect(".spec", "{parts: [{name: one, size: 1}], tags: [a]}");
    s.expect_managers(&["bob (Apply)"]);
    s.apply_as("bob", "{}").await;
    s.expect_absent(".spec.parts[0]");
    s.expect_absent(".spec.tags[0]");
}

const TARGET: &str = "scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: nothing}";

fn cpu(percent: u8) -> String {
    format!(
        "[{{type: Resource, resource: {{name: cpu, target: {{type: Utilization, averageUtilization: {percent}}}}}}}]"
    )
}

async fn a_field_that_is_elsewhere_in_another_version(s: &mut Subject) {
    s.of(builtin::AUTOSCALER).await;
    s.apply_as("alice", &format!("spec: {{maxReplicas: 3, {TARGET}, metrics: {}}}", cpu(60))).await;
    // In v1 the field has another name.
    s.of(builtin::AUTOSCALER_V1).await;
    s.expect(".spec.targetCPUUtilizationPercentage", "60");
    s.apply_as("bob", "spec: {targetCPUUtilizationPercentage: 50}")
        .conflicts_with("alice", ".spec.metrics")
        .await;
    s.apply_as("bob", "spec: {targetCPUUtilizationPercentage: 50}").by_force().await;
    s.expect_owner(".spec.targetCPUUtilizationPercentage", "bob (Apply)");
    s.expect_no_owner(".spec.metrics");
    s.of(builtin::AUTOSCALER).await;
    s.expect(".spec.metrics[0].resource.target.averageUtilization", "50");
    s.apply_as("alice", &format!("spec: {{maxReplicas: 3, {TARGET}, metrics: {}}}", cpu(60)))
        .conflicts_with("bob", ".spec.targetCPUUtilizationPercentage")
        .await;
    // A manager may change its version: it keeps or releases the fields that it owned in the other one.
    s.apply_as("bob", &format!("spec: {{metrics: {}}}", cpu(70))).await;
    s.expect_owner(".spec.metrics", "bob (Apply)");
    s.expect_no_owner(".spec.targetCPUUtilizationPercentage");
    s.apply_as("bob", "spec: {}").await;
    s.expect_no_owner(".spec.metrics");
}

async fn a_key_that_only_one_version_has(s: &mut Subject) {
    let memory =
        "{type: Resource, resource: {name: memory, target: {type: Utilization, averageUtilization: 60}}}";
    let annotation = ".metadata.annotations.autoscaling.alpha.kubernetes.io/metrics";
    s.of(builtin::AUTOSCALER).await;
    s.apply_as("alice", &format!("spec: {{maxReplicas: 3, {TARGET}, metrics: [{memory}]}}")).await;
    s.expect_absent(annotation);
    // v1 has no field for this metric: it is in an annotation there.
    s.of(builtin::AUTOSCALER_V1).await;
    assert!(s.at(annotation).is_some());
    s.apply_as("bob", "metadata: {annotations: {team: blue}}").await;
    s.of(builtin::AUTOSCALER).await;
    s.expect(".spec.metrics[0].resource.name", "memory");
    s.expect_owner(".spec.metrics", "alice (Apply)");
    s.expect_owner(".metadata.annotations.team", "bob (Apply)");
    s.apply_as("alice", &format!("spec: {{maxReplicas: 4, {TARGET}, metrics: [{memory}]}}")).await;
    s.expect(".spec.maxReplicas", "4");
}

const OLD: &str = "spec: {type: object, properties: {a: {type: integer}, b: {type: integer}}}";

async fn a_version_that_was_removed(s: &mut Subject) {
    s.define(Crd::new("KepVersions", OLD).version("v2", OLD)).await;
    for name in ["repaired", "written"] {
        s.of("KepVersions").await;
        s.named(name).await;
        s.apply_as("bob", "spec: {b: 1}").await;
        s.of(("KepVersions", "v2")).await;
        s.apply_as("alice", "spec: {a: 1}").await;
        s.expect_owner(".spec.a", "alice (Apply)");
    }

    s.define(Crd::new("KepVersions", OLD)).await;
    let fails = "request to convert CR to an invalid group/version: example.com/v2";
    s.apply_as("bob", "spec: {a: 2, b: 1}").is_refused(500, fails).await;
    s.apply_as("alice", "spec: {a: 1}").is_refused(500, fails).await;
    // Other writes succeed, and remove all owners of the object.
    s.merge_patch_as("console", "spec: {b: 2}").await;
    s.expect_absent(".metadata.managedFields");
    s.apply_as("bob", "spec: {b: 3}").conflicts_with("before-first-apply", ".spec.b").await;
    // A client that removes only the broken entry keeps the others.
    s.named("repaired").await;
    let broken = s.managers().iter().position(|manager| manager == "alice (Apply)").unwrap();
    s.json_patch_as("console", &format!("[{{op: remove, path: /metadata/managedFields/{broken}}}]")).await;
    s.expect_managers(&["bob (Apply)"]);
    s.apply_as("bob", "spec: {a: 2, b: 1}").await;
    s.expect(".spec", "{a: 2, b: 1}");
}

async fn a_version_that_never_existed(s: &mut Subject) {
    s.apply_as("alice", "data: {a: '1'}").await;
    s.json_patch_as(
        "console",
        "[{op: add, path: /metadata/managedFields/-, value: {manager: ghost, operation: Update, apiVersion: example.com/v9, \
         fieldsType: FieldsV1, fieldsV1: {'f:data': {'f:a': {}}}}}]",
    )
    .await;
    s.expect_managers(&["alice (Apply)"]);
    s.apply_as("alice", "data: {a: '2'}").await;
    s.expect(".data.a", "'2'");
    s.expect_owner(".data.a", "alice (Apply)");
}
