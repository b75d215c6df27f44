//! A schema that changes how a field merges, while objects exist.

use baton_e2e::{
    scenario::{Crd, Subject},
    scenario_list,
};

scenario_list! {
    from_granular_to_atomic, from_set_to_atomic, from_map_list_to_atomic, from_atomic_to_granular,
    from_atomic_to_set,
}

/// A CRD whose `spec.data` has this map type.
fn foo(kind: &'static str, map_type: &str) -> Crd {
    let data = format!(
        "{{type: object, x-kubernetes-map-type: {map_type}, additionalProperties: {{type: string}}}}"
    );
    Crd::new(kind, &format!("spec: {{type: object, properties: {{data: {data}}}}}"))
}

/// A CRD whose `spec.list` has this list type.
fn list(kind: &'static str, list_type: &str, items: &str) -> Crd {
    let list = format!("{{type: array, x-kubernetes-list-type: {list_type}, items: {items}}}");
    Crd::new(kind, &format!("spec: {{type: object, properties: {{list: {list}}}}}"))
}

async fn from_granular_to_atomic(s: &mut Subject) {
    s.define(foo("ToAtomic", "granular")).await;
    s.apply_as("manager-one", "spec: {data: {key1: val1}}").await;
    s.apply_as("manager-two", "spec: {data: {key2: val2}}").await;
    s.define(foo("ToAtomic", "atomic")).await;
    s.apply_as("manager-three", "spec: {data: {key3: val3}}")
        .conflicts_with("manager-one", ".spec.data")
        .conflicts_with("manager-two", ".spec.data")
        .await;
    // Now a repeated apply of either manager conflicts with the other.
    s.apply_as("manager-one", "spec: {data: {key1: val1}}").conflicts_with("manager-two", ".spec.data").await;
}

async fn from_set_to_atomic(s: &mut Subject) {
    s.define(list("SetToAtomic", "set", "{type: string}")).await;
    s.apply_as("manager-one", "spec: {list: [a]}").await;
    s.apply_as("manager-two", "spec: {list: [b]}").await;
    s.define(list("SetToAtomic", "atomic", "{type: string}")).await;
    s.apply_as("manager-one", "spec: {list: [a]}").conflicts_with("manager-two", ".spec.list").await;
    s.apply_as("manager-one", "spec: {list: [a]}").by_force().await;
    s.expect(".spec.list", "[a]");
    s.expect_managers(&["manager-one (Apply)"]);
}

async fn from_map_list_to_atomic(s: &mut Subject) {
    let items = "{type: object, required: [name], properties: {name: {type: string}, value: {type: string}}}";
    s.define(list("MapToAtomic", "map, x-kubernetes-list-map-keys: [name]", items)).await;
    s.apply_as("manager-one", "spec: {list: [{name: a, value: '1'}]}").await;
    s.apply_as("manager-two", "spec: {list: [{name: b}]}").await;
    s.define(list("MapToAtomic", "atomic", items)).await;
    s.apply_as("manager-two", "spec: {list: [{name: b}]}").conflicts_with("manager-one", ".spec.list").await;
}

async fn from_atomic_to_granular(s: &mut Subject) {
    s.define(foo("Foo", "atomic")).await;
    s.named("foo-sample").await;
    s.apply_as("manager-one", "spec: {data: {key1: val1, key2: val2}}").await;
    s.expect_fields("manager-one (Apply)", &[".spec.data"]);
    s.define(foo("Foo", "granular")).await;
    s.apply_as("manager-two", "spec: {data: {key1: changed}}").await;
    s.expect(".spec.data", "{key1: changed, key2: val2}");
    s.expect_owner(".spec.data.key1", "manager-two (Apply)");
    s.expect_owner(".spec.data", "manager-one (Apply)");
    s.apply_as("manager-two", "spec: {}").await;
    s.expect(".spec.data", "{key2: val2}");
    s.merge_patch_as("manager-three", "spec: {data: {key2: null}}").await;
    s.expect(".spec.data", "{}");
    s.expect_owner(".spec.data", "manager-one (Apply)");
    s.merge_patch_as("manager-three", "spec: {data: null}").await;
    s.expect_absent(".spec.data");
}

async fn from_atomic_to_set(s: &mut Subject) {
    s.define(list("AtomicToSet", "atomic", "{type: string}")).await;
    s.apply_as("manager-one", "spec: {list: [a, b]}").await;
    s.define(list("AtomicToSet", "set", "{type: string}")).await;
    s.apply_as("manager-two", "spec: {list: [b, c]}").await;
    s.expect(".spec.list", "[a, b, c]");
    s.expect_owner(r#".spec.list[="b"]"#, "manager-two (Apply)");
    s.expect_owner(".spec.list", "manager-one (Apply)");
    s.expect_no_owner(r#".spec.list[="a"]"#);
}
