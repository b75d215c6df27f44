//! Takes out of a value what an intent must not say, and spells the rest as the server stores it.
//!
//! An intent that says the same in other words than the live object would change nothing and yet never be seen to be live:
//! it would be applied again and again.

use baton_crd::builtin::is_quantity;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use serde_json::Value;

use crate::quantity::{self, Precision};

/// Fields of a pod's template that their Go types can't tell from absent ones when they are zero or empty: the server then
/// fills its default in. An intent that holds such a zero would never be live; where the field is the key of a list item,
/// as `protocol` is, each apply would even add the item anew.
const UNSET_WHEN_ZERO: [&str; 12] = [
    "dnsPolicy",
    "failureThreshold",
    "imagePullPolicy",
    "path",
    "periodSeconds",
    "protocol",
    "schedulerName",
    "scheme",
    "successThreshold",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "timeoutSeconds",
];

/// What the server fills into values of a pod's template that it merges as a whole: the name of such a value, a field in it,
/// and the field's default as JSON. An intent without it would never be live.
const FILLED_IN: [(&str, &str, &str); 3] = [
    ("fieldRef", "apiVersion", r#""v1""#),
    ("resourceFieldRef", "divisor", r#""0""#),
    ("serviceAccountToken", "expirationSeconds", "3600"),
];

/// Drops nulls, empty lists and empty maps, at any depth, and zeros that mean that nothing is set; absent where nothing is
/// left. Quantities become canonical, and what is merged as a whole is whole.
///
/// An empty struct stays: `emptyDir: {}` says something, `nodeSelector: {}` doesn't, and only the schema knows which is
/// which, as it knows what is a quantity. Without a schema every empty object and every spelling stays.
pub(super) fn minimal(value: Value, schema: Option<&JSONSchemaProps>) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::Array(items) => {
            let item_schema = schema.and_then(items_of);
            let items: Vec<Value> = items.into_iter().filter_map(|item| minimal(item, item_schema)).collect();
            (!items.is_empty()).then_some(Value::Array(items))
        }
        Value::Object(members) => {
            let members: serde_json::Map<_, _> = members
                .into_iter()
                .filter(|(name, member)| {
                    let is_named = schema.is_some_and(|schema| schema.properties.is_some());
                    !(is_named && UNSET_WHEN_ZERO.contains(&name.as_str()) && is_zero(member))
                })
                .filter_map(|(name, member)| {
                    let member = match schema.and_then(|schema| member_of(schema, &name)) {
                        Some((schema, precision)) if is_quantity(schema) => canonical(member, precision),
                        member_schema => minimal(member, member_schema.map(|(schema, _)| schema))
                            .map(|member| whole(&name, member)),
                    };
                    Some((name, member?))
                })
                .collect();
            let is_map = schema.is_some_and(|schema| schema.additional_properties.is_some());
            (!(members.is_empty() && is_map)).then_some(Value::Object(members))
        }
        scalar => Some(scalar),
    }
}

/// A value with what the server would fill in where that is part of it.
fn whole(name: &str, mut value: Value) -> Value {
    if let Value::Object(members) = &mut value {
        for (_, field, default) in FILLED_IN.iter().filter(|(of, ..)| *of == name) {
            members.entry(*field).or_insert_with(|| serde_json::from_str(default).unwrap_or_default());
        }
    }
    value
}

fn is_zero(value: &Value) -> bool {
    value.as_str() == Some("") || value.as_i64() == Some(0)
}

/// A quantity as the server stores it. What is none is left for the server to refuse in its own words.
fn canonical(value: Value, precision: Precision) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(Value::String(quantity::canonical(&text, precision).unwrap_or(text))),
        other => Some(other),
    }
}

fn items_of(schema: &JSONSchemaProps) -> Option<&JSONSchemaProps> {
    match schema.items.as_ref()? {
        JSONSchemaPropsOrArray::Schema(items) => Some(items),
        JSONSchemaPropsOrArray::Schemas(_) => None,
    }
}

/// The schema of a member; should it be a quantity, how precisely the server keeps it there: a list of resources, which is a
/// map of quantities, has its own precision.
fn member_of<'a>(schema: &'a JSONSchemaProps, name: &str) -> Option<(&'a JSONSchemaProps, Precision)> {
    if let Some(property) = schema.properties.as_ref().and_then(|properties| properties.get(name)) {
        return Some((property, Precision::Nano));
    }
    match schema.additional_properties.as_ref()? {
        JSONSchemaPropsOrBool::Schema(values) => Some((values, Precision::Milli)),
        JSONSchemaPropsOrBool::Bool(_) => None,
    }
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
