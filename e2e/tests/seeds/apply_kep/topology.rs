//! Lists, maps and structs: which are one value, and which merge by their items.

use baton_e2e::{
    scenario::{Crd, Subject, builtin},
    scenario_list,
};
use baton_testbed::{PATIENCE, poll};
use serde_json::{Value, json};

use super::{WEB, wire};

scenario_list! {
    openapi_shows_how_fields_merge, a_built_in_list_without_a_marker_is_atomic,
    an_atomic_list_has_one_owner, a_set_of_maps_is_refused, a_set_holds_an_item_once, finalizers_are_a_set,
    ports_have_two_keys, no_list_relies_on_older_markers, the_keys_of_the_list_win_over_the_key_of_the_patch,
}

/// A CRD whose spec has one field, `it`.
fn with_it(kind: &'static str, it: &str) -> Crd {
    Crd::new(kind, &format!("spec: {{type: object, properties: {{it: {it}}}}}"))
}

const KEYED: &str = "{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, \
    required: [name], properties: {name: {type: string}, a: {type: integer}, b: {type: integer}}}}";

async fn openapi_shows_how_fields_merge(s: &mut Subject) {
    let document: Value = read(s, "/openapi/v3/api/v1").await;
    let schemas = &document["components"]["schemas"];
    let of = |schema: &str, field: &str| schemas[schema]["properties"][field].clone();
    let containers = of("io.k8s.api.core.v1.PodSpec", "containers");
    assert_eq!(containers["x-kubernetes-list-type"], "map");
    assert_eq!(containers["x-kubernetes-list-map-keys"], json!(["name"]));
    let ports = of("io.k8s.api.core.v1.ServiceSpec", "ports");
    assert_eq!(ports["x-kubernetes-list-map-keys"], json!(["port", "protocol"]));
    let finalizers = of("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "finalizers");
    assert_eq!(finalizers["x-kubernetes-list-type"], "set");
    let tolerations = of("io.k8s.api.core.v1.PodSpec", "tolerations");
    assert_eq!(tolerations["x-kubernetes-list-type"], "atomic");
    assert_eq!(of("io.k8s.api.core.v1.PodSpec", "nodeSelector")["x-kubernetes-map-type"], "atomic");
    assert_eq!(schemas["io.k8s.api.core.v1.ObjectReference"]["x-kubernetes-map-type"], "atomic");

    // The schema of a custom resource has the markers of its CRD.
    s.define(with_it("KepShown", KEYED)).await;
    let published = async || {
        let document: Value = read(s, "/openapi/v3/apis/example.com/v1").await;
        let it =
            document["components"]["schemas"]["com.example.v1.KepShown"]["properties"]["spec"]["properties"]
                ["it"]
                .clone();
        if it.is_null() { Err(()) } else { Ok(it) }
    };
    let it = poll(PATIENCE, published).await.unwrap();
    assert_eq!(it["x-kubernetes-list-map-keys"], json!(["name"]));
}

async fn a_built_in_list_without_a_marker_is_atomic(s: &mut Subject) {
    s.of(builtin::DEPLOYMENT).await;
    s.apply_as("alice", &WEB.replace("name: app", "name: app, command: [run, fast]")).await;
    let command = r#".spec.template.spec.containers[name="app"].command"#;
    s.expect_owner(command, "alice (Apply)");
    s.apply_as("bob", "spec: {template: {spec: {containers: [{name: app, command: [run]}]}}}")
        .conflicts_with("alice", command)
        .await;
}

async fn an_atomic_list_has_one_owner(s: &mut Subject) {
    s.define(with_it("KepOneOwner", "{type: array, items: {type: string}}")).await;
    s.apply_as("alice", "spec: {it: [a, b]}").await;
    s.apply_as("bob", "spec: {it: [a]}").by_force().await;
    s.expect_owner(".spec.it", "bob (Apply)");
    s.apply_as("alice", "spec: {it: [a]}").await;
    s.expect_owners(".spec.it", &["alice (Apply)", "bob (Apply)"]);
    s.apply_as("alice", "spec: {it: [b, a]}").conflicts_with("bob", ".spec.it").await;
}

async fn a_set_of_maps_is_refused(s: &mut Subject) {
    let crd = |list: &Value| {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "kepmapsets.example.com"},
            "spec": {
                "group": "example.com", "scope": "Namespaced",
                "names": {"kind": "KepMapSet", "plural": "kepmapsets", "singular": "kepmapset"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "properties": {"it": list},
                }}}],
            },
        })
        .to_string()
    };
    let uri = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All";
    let post = async |list: Value| wire::send(s, "POST", uri, "application/json", &crd(&list)).await;
    let set = |items: Value| json!({"type": "array", "x-kubernetes-list-type": "set", "items": items});
    let keyed = json!({
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
        "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "object"}}},
    });
    for (list, refusal) in [
        (set(json!({"type": "object"})), "must be atomic as item of a list with x-kubernetes-list-type=set"),
        (keyed, "must be a scalar type"),
    ] {
        let (code, message) = post(list).await.unwrap_err();
        assert!(code == 422 && message.contains(refusal), "{code}: {message}");
    }
    post(set(json!({"type": "string"}))).await.unwrap();
    post(set(json!({"type": "object", "x-kubernetes-map-type": "atomic"}))).await.unwrap();
}

async fn a_set_holds_an_item_once(s: &mut Subject) {
    s.define(with_it("KepUnique", "{type: array, x-kubernetes-list-type: set, items: {type: string}}")).await;
    s.apply_as("alice", "spec: {it: [a, b, a]}").is_refused(500, "duplicate").await;
    s.apply_as("alice", "spec: {it: [a, b]}").await;
    s.update_as("bob", "spec: {it: [a, b, a]}").is_refused(422, "Duplicate value").await;
    s.apply_as("bob", "spec: {it: [a]}").await;
    s.expect(".spec.it", "[a, b]");
}

async fn finalizers_are_a_set(s: &mut Subject) {
    s.apply_as("alice", "metadata: {finalizers: [example.com/alice]}").await;
    s.apply_as("bob", "metadata: {finalizers: [example.com/bob]}").await;
    s.expect(".metadata.finalizers", "[example.com/alice, example.com/bob]");
    s.expect_owner(r#".metadata.finalizers[="example.com/alice"]"#, "alice (Apply)");
    s.apply_as("alice", "{}").await;
    s.expect(".metadata.finalizers", "[example.com/bob]");
}

async fn ports_have_two_keys(s: &mut Subject) {
    s.of(builtin::SERVICE).await;
    s.apply_as("alice", "spec: {ports: [{name: http, port: 80}, {name: dns, port: 53, protocol: UDP}]}")
        .await;
    s.expect_owner(r#".spec.ports[port=80,protocol="TCP"]"#, "alice (Apply)");
    s.expect_owner(r#".spec.ports[port=53,protocol="UDP"]"#, "alice (Apply)");
    s.apply_as("bob", "spec: {ports: [{port: 53, protocol: UDP, targetPort: 5353}]}").await;
    s.expect(".spec.ports[1].targetPort", "5353");
    s.expect_owner(r#".spec.ports[port=53,protocol="UDP"].name"#, "alice (Apply)");
    s.expect_owner(r#".spec.ports[port=53,protocol="UDP"].targetPort"#, "bob (Apply)");
}

async fn no_list_relies_on_older_markers(s: &mut Subject) {
    let (mut marked, mut bare) = (0, Vec::new());
    let index: Value = read(s, "/openapi/v3").await;
    let paths = index["paths"].as_object().unwrap();
    for (path, document) in
        paths.iter().filter(|(path, _)| !path.contains("example.com") && !path.contains("baton.rs"))
    {
        let document: Value = read(s, document["serverRelativeURL"].as_str().unwrap()).await;
        let Some(schemas) = document["components"]["schemas"].as_object() else { continue };
        for (name, schema) in schemas {
            for (field, of) in schema["properties"].as_object().into_iter().flatten() {
                let merges = of["x-kubernetes-patch-strategy"]
                    .as_str()
                    .is_some_and(|strategy| strategy.contains("merge"));
                if of["type"] == "array" && merges {
                    marked += 1;
                    if of["x-kubernetes-list-type"].is_null() {
                        bare.push(format!("{path}: {name}.{field}"));
                    }
                }
            }
        }
    }
    assert!(marked > 50, "{marked} lists have the older markers");
    assert_eq!(bare, [""; 0], "these have only the older markers");
    // A list with both markers: a strategic patch and an apply merge it by the same key.
    s.of(builtin::SERVICE_ACCOUNT).await;
    s.apply_as("alice", "secrets: [{name: one}]").await;
    s.strategic_patch_as("bob", "secrets: [{name: two}]").await;
    s.expect_owner(r#".secrets[name="one"]"#, "alice (Apply)");
    s.expect_owner(r#".secrets[name="two"]"#, "bob (Update)");
}

async fn read(s: &Subject, uri: &str) -> Value {
    serde_json::from_str(&wire::send(s, "GET", uri, "application/json", "").await.unwrap()).unwrap()
}

async fn the_keys_of_the_list_win_over_the_key_of_the_patch(s: &mut Subject) {
    s.of(builtin::DEPLOYMENT).await;
    let spread = |when: &str| {
        format!(
            "{{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: {when}, labelSelector: {{matchLabels: {{app: web}}}}}}"
        )
    };
    let with = |spread: &str| {
        WEB.replace("containers:", &format!("topologySpreadConstraints: [{spread}], containers:"))
    };
    s.apply_as("alice", &with(&spread("DoNotSchedule"))).await;
    let other = format!(
        "spec: {{template: {{spec: {{topologySpreadConstraints: [{}]}}}}}}",
        spread("ScheduleAnyway")
    );
    s.apply_as("bob", &other).await;
    let item = |when: &str| {
        format!(
            ".spec.template.spec.topologySpreadConstraints[topologyKey=\"zone\",whenUnsatisfiable=\"{when}\"]"
        )
    };
    s.expect_owner(&item("DoNotSchedule"), "alice (Apply)");
    s.expect_owner(&item("ScheduleAnyway"), "bob (Apply)");
}
