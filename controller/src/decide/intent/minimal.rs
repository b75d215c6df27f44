//! Intents as the API server will spell them.

use std::sync::LazyLock;

use baton_apply::spelling::{self, Types};
use baton_crd::builtin::Document;
use serde_json::Value;

/// [`spelling::minimal`] with the types of which a Workload has values.
pub(super) fn minimal(value: Value, type_name: &str) -> Option<Value> {
    static TYPES: LazyLock<Types> = LazyLock::new(|| Types::from_openapi(&Document::shipped().schemas));
    spelling::minimal(value, &TYPES, type_name)
}

#[cfg(test)]
mod tests {
    use baton_crd::builtin::POD_TEMPLATE;
    use serde_json::json;

    use super::*;

    fn minimal_template(template: Value) -> Value {
        minimal(template, POD_TEMPLATE).unwrap_or_default()
    }

    #[test]
    fn empty_maps_go_and_empty_structs_stay() {
        let template = json!({
            "metadata": {"labels": {}, "annotations": {"note": ""}},
            "spec": {"nodeSelector": {}, "volumes": [{"name": "scratch", "emptyDir": {}}]},
        });
        let expected = json!({
            "metadata": {"annotations": {"note": ""}},
            "spec": {"volumes": [{"name": "scratch", "emptyDir": {}}]},
        });
        assert_eq!(minimal_template(template), expected);
    }

    #[test]
    fn nulls_and_empty_lists_go_at_any_depth() {
        let template = json!({
            "spec": {"containers": [{"name": "web", "args": [], "image": null, "resources": {"limits": {}}}]},
        });
        let expected = json!({"spec": {"containers": [{"name": "web", "resources": {}}]}});
        assert_eq!(minimal_template(template), expected);
    }

    #[test]
    fn zeros_false_and_empty_strings_are_values() {
        let template = json!({"spec": {"hostNetwork": false, "priority": 0, "hostname": ""}});
        assert_eq!(minimal_template(template.clone()), template);
    }

    #[test]
    fn zeros_that_mean_that_nothing_is_set_go_and_the_server_fills_its_default_in() {
        let port = json!({"containerPort": 80, "protocol": "", "name": "http"});
        let probe = json!({"timeoutSeconds": 0, "initialDelaySeconds": 0, "httpGet": {"port": 80, "path": "", "scheme": ""}});
        let app = json!({"name": "app", "imagePullPolicy": "", "ports": [port], "livenessProbe": probe});
        let expected = json!({
            "name": "app",
            "ports": [{"containerPort": 80, "name": "http"}],
            "livenessProbe": {"initialDelaySeconds": 0, "httpGet": {"port": 80}},
        });
        let spec = |app: &Value, class: &str| json!({"spec": {"containers": [app], "nodeSelector": {"protocol": class}}});
        assert_eq!(minimal_template(spec(&app, "")), spec(&expected, ""), "a label of that name stays");
    }

    #[test]
    fn what_is_merged_as_a_whole_has_the_servers_defaults_in_it() {
        let template = |field: Value, resource: Value, token: Value| {
            let env = json!([
                {"name": "POD", "valueFrom": {"fieldRef": field}},
                {"name": "CPU", "valueFrom": {"resourceFieldRef": resource}},
            ]);
            let volume = json!({"name": "token", "projected": {"sources": [{"serviceAccountToken": token}]}});
            json!({
                "metadata": {"annotations": {"fieldRef": ""}},
                "spec": {"containers": [{"name": "app", "env": env}], "volumes": [volume]},
            })
        };
        let (field, resource, token) = (
            json!({"fieldPath": "metadata.name"}),
            json!({"resource": "limits.cpu"}),
            json!({"path": "token"}),
        );
        let expected = template(
            json!({"fieldPath": "metadata.name", "apiVersion": "v1"}),
            json!({"resource": "limits.cpu", "divisor": "0"}),
            json!({"path": "token", "expirationSeconds": 3600}),
        );
        assert_eq!(minimal_template(template(field, resource, token)), expected);
        assert_eq!(minimal_template(expected.clone()), expected);
    }

    #[test]
    fn a_null_in_a_map_is_an_empty_value_as_the_server_reads_it() {
        let template = |note: Value, cpu: Value| {
            json!({
                "metadata": {"annotations": {"note": note}},
                "spec": {"containers": [{"name": "app", "resources": {"limits": {"cpu": cpu}}}]},
            })
        };
        assert_eq!(minimal_template(template(json!(null), json!(null))), template(json!(""), json!("0")));
    }

    #[test]
    fn zeros_in_what_is_merged_as_a_whole_go_with_the_field_and_other_zeros_stay() {
        let template = |toleration: Value, prefix: Value| {
            json!({"spec": {
                "hostNetwork": false,
                "containers": [{"name": "app", "envFrom": [prefix]}],
                "tolerations": [toleration],
                "imagePullSecrets": [{}],
            }})
        };
        let mut zeros = template(
            json!({"key": "a", "operator": "Exists", "value": "", "effect": "", "tolerationSeconds": 0}),
            json!({"prefix": "", "configMapRef": {"name": "a", "optional": false}}),
        );
        zeros["spec"]["imagePullSecrets"] = json!([{"name": ""}]);
        let without = template(
            json!({"key": "a", "operator": "Exists", "tolerationSeconds": 0}),
            json!({"configMapRef": {"name": "a", "optional": false}}),
        );
        assert_eq!(minimal_template(zeros), without);
    }

    #[test]
    fn an_old_name_of_a_field_has_the_value_of_the_new_one() {
        let template =
            |old: &str, new: &str| json!({"spec": {"serviceAccount": old, "serviceAccountName": new}});
        assert_eq!(minimal_template(template("default", "builder")), template("builder", "builder"));
        assert_eq!(minimal_template(template("default", "")), json!({"spec": {"serviceAccount": "default"}}));
    }

    #[test]
    fn what_only_a_newer_release_knows_stays() {
        let template = json!({"spec": {"newer": {"a": {}, "b": "", "c": 0}, "containers": [{"name": "app", "newer": "1000m"}]}});
        assert_eq!(minimal_template(template.clone()), template);
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
        let intent = minimal_template(template(["0.5", "1.5Gi", "2048Mi", "0.001"]));
        assert_eq!(intent, template(["500m", "1536Mi", "2Gi", "1m"]));
        let number = |cpu: Value| json!({"spec": {"overhead": {"cpu": cpu}}});
        assert_eq!(minimal_template(number(json!(0.5))), number(json!("500m")));
        assert_eq!(minimal_template(number(json!(2))), number(json!("2")));
    }

    #[test]
    fn amounts_of_resources_are_rounded_up_to_thousandths_and_other_quantities_are_not() {
        let template = |cpu: &str, size: &str| {
            json!({"spec": {
                "containers": [{"name": "app", "resources": {"requests": {"cpu": cpu}}}],
                "volumes": [{"name": "scratch", "emptyDir": {"sizeLimit": size}}],
            }})
        };
        assert_eq!(minimal_template(template("1500u", "1500u")), template("2m", "1500u"));
    }

    #[test]
    fn a_text_that_is_no_quantity_stays_for_the_server_to_reject() {
        let template =
            json!({"spec": {"containers": [{"name": "app", "resources": {"limits": {"cpu": "lots"}}}]}});
        assert_eq!(minimal_template(template.clone()), template);
    }

    #[test]
    fn texts_that_look_like_quantities_are_left_alone_where_the_schema_has_none() {
        let template = json!({
            "metadata": {"labels": {"release": "1000"}},
            "spec": {"containers": [{"name": "app", "image": "1000", "args": ["0.5"], "env": [{"name": "A", "value": "1000"}]}]},
        });
        assert_eq!(minimal_template(template.clone()), template);
    }
}
