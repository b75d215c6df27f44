//! Intents as the API server will spell them.

use baton_apply::spelling;
use baton_crd::builtin::is_quantity;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;
use serde_json::Value;

/// [`spelling::minimal`] with the quantities of the Workload's schema.
pub(super) fn minimal(value: Value, schema: Option<&JSONSchemaProps>) -> Option<Value> {
    spelling::minimal(value, schema, is_quantity)
}

#[cfg(test)]
mod tests {
    use baton_crd::pod_template_schema;
    use serde_json::json;

    use super::*;

    fn minimal_template(template: Value) -> Value {
        minimal(template, Some(pod_template_schema())).unwrap_or_default()
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
    fn what_is_no_quantity_stays_for_the_server_to_refuse() {
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
