//! How objects are merged, and the markers that decide it.

use baton_e2e::{
    scenario::{
        Crd, Subject,
        builtin::{DEPLOYMENT, SERVICE},
    },
    scenario_list,
};

use super::NGINX;

scenario_list! {
    several_actors_update_one_object, a_missing_field_is_removed_unless_another_manager_owns_it,
    an_atomic_list_has_one_manager, items_of_a_set_have_managers, several_keys_identify_an_item,
    several_keys_of_a_service, maps_are_granular_or_atomic, structs_are_granular_or_atomic,
    the_selector_of_a_deployment_is_atomic, atomic_is_recursive,
}

async fn several_actors_update_one_object(s: &mut Subject) {
    s.of(DEPLOYMENT).await;
    s.apply_as("kubectl", NGINX).await;
    s.scale_as("autoscaler", 7).await;
    let injected = "{spec: {template: {spec: {containers: [{name: proxy, image: envoy}]}}}}";
    s.apply_as("mesh", injected).await;
    s.apply_as("kubectl", &super::NGINX_WITHOUT_REPLICAS.replace("1.14.2", "1.15")).await;
    s.expect(".spec.replicas", "7");
    s.expect(r#".spec.template.spec.containers[name="nginx"].image"#, "nginx:1.15");
    s.expect(r#".spec.template.spec.containers[name="proxy"].image"#, "envoy");
}

async fn a_missing_field_is_removed_unless_another_manager_owns_it(s: &mut Subject) {
    s.apply_as("kubectl", "data: {alone: '1', shared: '1'}").await;
    s.apply_as("other", "data: {shared: '1'}").await;
    s.apply_as("kubectl", "data: {new: '1'}").await;
    s.expect(".data", "{shared: '1', new: '1'}");
}

async fn an_atomic_list_has_one_manager(s: &mut Subject) {
    s.define(Crd::new(
        "AtomicList",
        "spec: {type: object, properties: {hosts: {type: array, x-kubernetes-list-type: atomic, items: {type: string}}}}",
    ))
    .await;
    s.apply_as("alice", "spec: {hosts: [a, b]}").await;
    s.expect_fields("alice (Apply)", &[".spec.hosts"]);
    s.apply_as("bob", "spec: {hosts: [b, c]}").conflicts_with("alice", ".spec.hosts").await;
    s.apply_as("bob", "spec: {hosts: [b, c]}").by_force().await;
    s.expect(".spec.hosts", "[b, c]");
    s.expect_owner(".spec.hosts", "bob (Apply)");
}

async fn items_of_a_set_have_managers(s: &mut Subject) {
    s.define(Crd::new(
        "SetList",
        "spec: {type: object, properties: {hosts: {type: array, x-kubernetes-list-type: set, items: {type: string}}}}",
    ))
    .await;
    s.apply_as("alice", "spec: {hosts: [a, b]}").await;
    s.apply_as("bob", "spec: {hosts: [b, c]}").await;
    s.expect(".spec.hosts", "[a, b, c]");
    s.expect_owner(r#".spec.hosts[="a"]"#, "alice (Apply)");
    s.expect_owners(r#".spec.hosts[="b"]"#, &["alice (Apply)", "bob (Apply)"]);
    s.apply_as("alice", "spec: {hosts: []}").await;
    s.expect(".spec.hosts", "[b, c]");
    s.expect_owner(r#".spec.hosts[="b"]"#, "bob (Apply)");
    s.apply_as("alice", "spec: {hosts: [d, d]}").is_refused(500, "duplicate entries").await;
}

async fn several_keys_identify_an_item(s: &mut Subject) {
    s.define(Crd::new(
        "KeyedList",
        "spec:
          type: object
          properties:
            ports:
              type: array
              x-kubernetes-list-type: map
              x-kubernetes-list-map-keys: [port, protocol]
              items:
                type: object
                required: [port]
                properties: {port: {type: integer}, protocol: {type: string, default: TCP}, name: {type: string}}",
    ))
    .await;
    s.apply_as("alice", "spec: {ports: [{port: 53, protocol: UDP, name: dns}]}").await;
    s.apply_as("bob", "spec: {ports: [{port: 53, name: dns-tcp}]}").await;
    s.expect_owner(r#".spec.ports[port=53,protocol="UDP"].name"#, "alice (Apply)");
    s.expect_owner(r#".spec.ports[port=53,protocol="TCP"].name"#, "bob (Apply)");
}

async fn several_keys_of_a_service(s: &mut Subject) {
    s.of(SERVICE).await;
    s.apply_as("alice", "spec: {selector: {app: dns}, ports: [{name: udp, port: 53, protocol: UDP}]}").await;
    s.apply_as("bob", "spec: {ports: [{name: tcp, port: 53, protocol: TCP}]}").await;
    s.expect_owner(r#".spec.ports[port=53,protocol="UDP"].name"#, "alice (Apply)");
    s.expect_owner(r#".spec.ports[port=53,protocol="TCP"].name"#, "bob (Apply)");
    s.expect(".spec.ports[1].name", "tcp");
}

async fn maps_are_granular_or_atomic(s: &mut Subject) {
    s.define(Crd::new(
        "TwoMaps",
        "spec:
          type: object
          properties:
            granular: {type: object, x-kubernetes-map-type: granular, additionalProperties: {type: string}}
            atomic: {type: object, x-kubernetes-map-type: atomic, additionalProperties: {type: string}}",
    ))
    .await;
    s.apply_as("alice", "spec: {granular: {a: '1'}, atomic: {a: '1'}}").await;
    s.apply_as("bob", "spec: {granular: {b: '1'}}").await;
    s.expect(".spec.granular", "{a: '1', b: '1'}");
    s.expect_fields("alice (Apply)", &[".spec.granular.a", ".spec.atomic"]);
    s.apply_as("bob", "spec: {atomic: {a: '1', b: '1'}}").conflicts_with("alice", ".spec.atomic").await;
    s.apply_as("bob", "spec: {atomic: {b: '1'}}").by_force().await;
    s.expect(".spec.atomic", "{b: '1'}");
}

async fn structs_are_granular_or_atomic(s: &mut Subject) {
    s.define(Crd::new(
        "TwoStructs",
        "spec:
          type: object
          properties:
            granular: {type: object, x-kubernetes-map-type: granular, properties: {host: {type: string}, port: {type: integer}}}
            atomic:
              type: object
              x-kubernetes-map-type: atomic
              properties: {host: {type: string}, port: {type: integer}}",
    ))
    .await;
    s.apply_as("alice", "spec: {granular: {host: a}, atomic: {host: a}}").await;
    s.apply_as("bob", "spec: {granular: {port: 1}}").await;
    s.expect(".spec.granular", "{host: a, port: 1}");
    s.expect_owner(".spec.granular.port", "bob (Apply)");
    s.apply_as("bob", "spec: {atomic: {port: 1}}").conflicts_with("alice", ".spec.atomic").await;
    s.expect_fields("alice (Apply)", &[".spec.granular.host", ".spec.atomic"]);
}

async fn the_selector_of_a_deployment_is_atomic(s: &mut Subject) {
    s.of(DEPLOYMENT).await;
    s.apply_as("kubectl", NGINX).await;
    s.expect_owner(".spec.selector", "kubectl (Apply)");
    s.apply_as("other", "spec: {selector: {matchLabels: {tier: web}}}")
        .conflicts_with("kubectl", ".spec.selector")
        .await;
}

async fn atomic_is_recursive(s: &mut Subject) {
    s.define(Crd::new(
        "AtomicWithin",
        "spec:
          type: object
          properties:
            outer:
              type: array
              x-kubernetes-list-type: atomic
              items:
                type: object
                properties:
                  name: {type: string}
                  inner: {type: array, x-kubernetes-list-type: set, items: {type: string}}",
    ))
    .await;
    s.apply_as("alice", "spec: {outer: [{name: x, inner: [a]}]}").await;
    s.expect_fields("alice (Apply)", &[".spec.outer"]);
    s.apply_as("bob", "spec: {outer: [{name: x, inner: [b]}]}").conflicts_with("alice", ".spec.outer").await;
}
