//! Custom resources.

use baton_e2e::{
    scenario::{Crd, Subject},
    scenario_list,
};

scenario_list! {
    without_markers_keys_are_fields_and_lists_atomic, without_a_schema_types_are_deduced,
}

const LISTS: &str = "
    spec:
      type: object
      properties:
        hosts: {type: array, items: {type: string}}
        rules: {type: array, items: {type: object, properties: {name: {type: string}, weight: {type: integer}}}}
        labels: {type: object, additionalProperties: {type: string}}";

async fn without_markers_keys_are_fields_and_lists_atomic(s: &mut Subject) {
    s.define(Crd::new("Unmarked", LISTS)).await;
    s.apply_as("alice", "spec: {hosts: [a], rules: [{name: x}], labels: {a: '1'}}").await;
    s.expect_fields("alice (Apply)", &[".spec.hosts", ".spec.rules", ".spec.labels.a"]);
    s.apply_as("bob", "spec: {labels: {b: '1'}}").await;
    s.apply_as("bob", "spec: {hosts: [b], rules: [{name: z}]}")
        .conflicts_with("alice", ".spec.hosts")
        .conflicts_with("alice", ".spec.rules")
        .await;
}

async fn without_a_schema_types_are_deduced(s: &mut Subject) {
    s.define(Crd::schemaless("Schemaless")).await;
    s.apply_as("alice", "spec: {list: [{name: x}], map: {a: {deep: 1}}}").await;
    s.expect_fields("alice (Apply)", &[".spec.list", ".spec.map", ".spec.map.a", ".spec.map.a.deep"]);
    s.apply_as("bob", "spec: {map: {a: {other: 2}, b: two}}").await;
    s.expect(".spec.map", "{a: {deep: 1, other: 2}, b: two}");
    s.apply_as("bob", "spec: {list: [{name: z}]}").conflicts_with("alice", ".spec.list").await;
}
