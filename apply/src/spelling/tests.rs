//! Pod templates in many spellings, each with the one that the API server stores.

use std::sync::LazyLock;

use serde_json::{Value, json};

use super::*;

fn spelled(template: Value) -> Value {
    static TYPES: LazyLock<Types> = LazyLock::new(|| {
        let document = baton_openapi::document("apis/apps/v1").unwrap().text();
        Types::from_document(&serde_json::from_str(&document).unwrap())
    });
    minimal(template, &TYPES, "io.k8s.api.core.v1.PodTemplateSpec").unwrap_or_default()
}

/// A template with one container that has these fields.
fn with_container(fields: &Value) -> Value {
    json!({"spec": {"containers": [fields]}})
}

#[test]
fn a_template_is_spelled_as_the_server_stores_it() {
    for (why, template, expected) in [
        (
            "empty maps go and empty structs stay",
            json!({
                "metadata": {"labels": {}, "annotations": {"note": ""}},
                "spec": {"nodeSelector": {}, "volumes": [{"name": "scratch", "emptyDir": {}}]},
            }),
            json!({
                "metadata": {"annotations": {"note": ""}},
                "spec": {"volumes": [{"name": "scratch", "emptyDir": {}}]},
            }),
        ),
        (
            "nulls and empty lists go at any depth, and items stay",
            with_container(
                &json!({"name": "web", "args": [], "image": null, "command": ["a", null, ""], "resources": {"limits": {}}}),
            ),
            with_container(&json!({"name": "web", "command": ["a", "", ""], "resources": {}})),
        ),
        (
            "a null in a map is an empty value",
            json!({"metadata": {"annotations": {"note": null}}, "spec": {"overhead": {"cpu": null}}}),
            json!({"metadata": {"annotations": {"note": ""}}, "spec": {"overhead": {"cpu": "0"}}}),
        ),
        (
            "zeros go where the server fills its default in, but not a label of such a name",
            json!({"spec": {
                "containers": [{
                    "name": "app", "imagePullPolicy": "",
                    "ports": [{"containerPort": 80, "protocol": "", "name": "http"}],
                    "livenessProbe": {"timeoutSeconds": 0, "initialDelaySeconds": 0, "httpGet": {"port": 80, "path": "", "scheme": ""}},
                }],
                "nodeSelector": {"protocol": ""},
            }}),
            json!({"spec": {
                "containers": [{
                    "name": "app",
                    "ports": [{"containerPort": 80, "name": "http"}],
                    "livenessProbe": {"initialDelaySeconds": 0, "httpGet": {"port": 80}},
                }],
                "nodeSelector": {"protocol": ""},
            }}),
        ),
        (
            "zeros go with the field in what is merged as a whole, and other zeros stay",
            json!({"spec": {
                "hostNetwork": false,
                "containers": [{"name": "app", "envFrom": [{"prefix": "", "configMapRef": {"name": "a", "optional": false}}]}],
                "tolerations": [{"key": "a", "operator": "Exists", "value": "", "effect": "", "tolerationSeconds": 0}],
                "imagePullSecrets": [{"name": ""}],
            }}),
            json!({"spec": {
                "hostNetwork": false,
                "containers": [{"name": "app", "envFrom": [{"configMapRef": {"name": "a", "optional": false}}]}],
                "tolerations": [{"key": "a", "operator": "Exists", "tolerationSeconds": 0}],
                "imagePullSecrets": [{}],
            }}),
        ),
        (
            "what is merged as a whole has the server's defaults in it, but not an annotation of such a name",
            json!({
                "metadata": {"annotations": {"fieldRef": ""}},
                "spec": {
                    "containers": [{"name": "app", "env": [
                        {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                        {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
                    ]}],
                    "volumes": [{"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}],
                },
            }),
            json!({
                "metadata": {"annotations": {"fieldRef": ""}},
                "spec": {
                    "containers": [{"name": "app", "env": [
                        {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name", "apiVersion": "v1"}}},
                        {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "0"}}},
                    ]}],
                    "volumes": [{"name": "token", "projected": {"sources": [
                        {"serviceAccountToken": {"path": "token", "expirationSeconds": 3600}},
                    ]}}],
                },
            }),
        ),
        (
            "an old name of a field has the value of the new one",
            json!({"spec": {"serviceAccount": "default", "serviceAccountName": "builder"}}),
            json!({"spec": {"serviceAccount": "builder", "serviceAccountName": "builder"}}),
        ),
        (
            "an empty new name is none",
            json!({"spec": {"serviceAccount": "default", "serviceAccountName": ""}}),
            json!({"spec": {"serviceAccount": "default"}}),
        ),
    ] {
        assert_eq!(spelled(template), expected, "{why}");
        assert_eq!(spelled(expected.clone()), expected, "{why}: and stays");
    }
}

#[test]
fn quantities_are_spelled_as_the_server_stores_them() {
    let template = |[cpu, memory, size, divisor]: [&str; 4]| {
        let fraction = json!({"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": divisor}}});
        let limits = json!({"cpu": cpu, "memory": memory});
        json!({"spec": {
            "containers": [{"name": "app", "env": [fraction], "resources": {"limits": limits}}],
            "overhead": limits,
            "volumes": [{"name": "scratch", "emptyDir": {"sizeLimit": size}}],
        }})
    };
    let canonical = template(["500m", "1536Mi", "2Gi", "1m"]);
    assert_eq!(spelled(template(["0.5", "1.5Gi", "2048Mi", "0.001"])), canonical);
    let rounded = template(["2m", "1", "1500u", "0"]);
    assert_eq!(
        spelled(template(["1500u", "1", "1500u", "0"])),
        rounded,
        "amounts of resources, to thousandths"
    );
    let number = |cpu: Value| json!({"spec": {"overhead": {"cpu": cpu}}});
    assert_eq!(spelled(number(json!(0.5))), number(json!("500m")));
    assert_eq!(spelled(number(json!(2))), number(json!("2")));
}

#[test]
fn what_has_one_spelling_stays_as_it_is() {
    for (why, template) in [
        ("values", json!({"spec": {"hostNetwork": false, "priority": 0, "hostname": ""}})),
        (
            "no quantity: the server rejects it",
            with_container(&json!({"name": "app", "resources": {"limits": {"cpu": "lots"}}})),
        ),
        (
            "known to a newer release alone",
            json!({"spec": {"newer": {"a": {}, "b": "", "c": 0, "d": [[], null], "e": []}, "containers": [{"name": "app", "newer": "1000m"}]}}),
        ),
        (
            "texts that look like quantities",
            json!({
                "metadata": {"labels": {"release": "1000"}},
                "spec": {"containers": [{"name": "app", "image": "1000", "args": ["0.5"], "env": [{"name": "A", "value": "1000"}]}]},
            }),
        ),
    ] {
        assert_eq!(spelled(template.clone()), template, "{why}");
    }
}

#[test]
fn of_an_unknown_kind_only_fields_without_a_value_go() {
    let kind = ApiResource::erase::<k8s_openapi::api::apps::v1::Deployment>(&());
    let intent = json!({"spec": {"unset": null, "tags": [], "rows": [[], [1.0, 1.5, -0.0, 1e300], null], "by": {"a": [], "b": null}, "any": {}}});
    let expected =
        json!({"spec": {"tags": [], "rows": [[], [1, 1.5, 0, 1e300], null], "by": {"a": []}, "any": {}}});
    assert_eq!(Schemas::default().minimal(&kind, intent), expected);
}
