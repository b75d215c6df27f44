//! Takes out of a value what an intent must not say.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use serde_json::Value;

/// Drops nulls, empty lists and empty maps, at any depth; absent where nothing is left.
///
/// An empty struct stays: `emptyDir: {}` says something, `nodeSelector: {}` doesn't, and only the schema knows which is
/// which. Without a schema every empty object stays.
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
                .filter_map(|(name, member)| {
                    let member = minimal(member, schema.and_then(|schema| member_of(schema, &name)))?;
                    Some((name, member))
                })
                .collect();
            let is_map = schema.is_some_and(|schema| schema.additional_properties.is_some());
            (!(members.is_empty() && is_map)).then_some(Value::Object(members))
        }
        scalar => Some(scalar),
    }
}

fn items_of(schema: &JSONSchemaProps) -> Option<&JSONSchemaProps> {
    match schema.items.as_ref()? {
        JSONSchemaPropsOrArray::Schema(items) => Some(items),
        JSONSchemaPropsOrArray::Schemas(_) => None,
    }
}

fn member_of<'a>(schema: &'a JSONSchemaProps, name: &str) -> Option<&'a JSONSchemaProps> {
    let property = schema.properties.as_ref().and_then(|properties| properties.get(name));
    property.or_else(|| match schema.additional_properties.as_ref()? {
        JSONSchemaPropsOrBool::Schema(values) => Some(&**values),
        JSONSchemaPropsOrBool::Bool(_) => None,
    })
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
}
