//! Schemas of custom resources in the OpenAPI document.

use serde_json::{Map, Value as Json, json};

use super::{DEPLOYMENT, META, REFERENCE, Resource};

const CONVENTIONS: &str =
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md";

impl Resource<'_> {
    pub(super) fn add_schemas(&self, schemas: &mut Map<String, Json>) {
        let own = &self.declared["schema"]["openAPIV3Schema"];
        let mut schema = if own.is_object() { own.clone() } else { json!({"type": "object"}) };
        unfold(&mut schema);
        if own.is_object() {
            self.embed(&mut schema);
            self.add_object_fields(&mut schema, "ObjectMeta", "Standard object's metadata", "metadata");
        }
        schema["x-kubernetes-group-version-kind"] = json!([self.group_version_kind(self.kind)]);
        let item = json!({"$ref": format!("{REFERENCE}{}", self.type_name(self.kind))});
        let description = format!("List of {}. More info: {CONVENTIONS}", self.plural);
        let mut list = json!({
            "description": format!("{} is a list of {}", self.list_kind, self.kind),
            "type": "object",
            "required": ["items"],
            "properties": {"items": {"description": description, "type": "array", "items": item}},
            "x-kubernetes-group-version-kind": [self.group_version_kind(self.list_kind)],
        });
        self.add_object_fields(&mut list, "ListMeta", "Standard list metadata", "types-kinds");
        let selectable = self.declared["selectableFields"].as_array().into_iter().flatten();
        let selectable: Vec<_> = selectable
            .filter_map(|field| field["jsonPath"].as_str())
            .map(|path| json!({"fieldPath": path.strip_prefix('.').unwrap_or(path)}))
            .collect();
        if !selectable.is_empty() {
            schema["x-kubernetes-selectable-fields"] = selectable.clone().into();
            list["x-kubernetes-selectable-fields"] = selectable.into();
        }
        schemas.insert(self.type_name(self.kind), schema);
        schemas.insert(self.type_name(self.list_kind), list);
    }

    /// Adds the fields of every object, which the CRD's schema can't change.
    fn add_object_fields(&self, schema: &mut Json, metadata: &str, what: &str, anchor: &str) {
        let known = &self.apps["components"]["schemas"][DEPLOYMENT]["properties"];
        let Some(schema) = schema.as_object_mut() else { return };
        let properties = schema.entry("properties").or_insert_with(|| json!({}));
        for name in ["apiVersion", "kind"] {
            properties[name] = known[name].clone();
        }
        properties["metadata"] = json!({
            "description": format!("{what}. More info: {CONVENTIONS}#{anchor}"),
            "allOf": [{"$ref": format!("{REFERENCE}{META}.{metadata}")}],
        });
    }

    /// Adds the fields of embedded objects.
    fn embed(&self, schema: &mut Json) {
        let Some(members) = schema.as_object_mut() else { return };
        for name in ["items", "additionalProperties"] {
            members.get_mut(name).into_iter().for_each(|below| self.embed(below));
        }
        let properties = members.get_mut("properties").and_then(Json::as_object_mut);
        properties.into_iter().flatten().for_each(|(_, property)| self.embed(property));
        if members.get("x-kubernetes-embedded-resource") != Some(&Json::Bool(true)) {
            return;
        }
        if let Some(required) = members.entry("required").or_insert_with(|| json!([])).as_array_mut() {
            for name in ["kind", "apiVersion"] {
                if !required.iter().any(|each| each == name) {
                    required.push(name.into());
                }
            }
        }
        self.add_object_fields(schema, "ObjectMeta", "Standard object's metadata", "metadata");
        schema["properties"]["apiVersion"]["description"] = format!(
            "apiVersion defines the versioned schema of this representation of an object. More info: {CONVENTIONS}#resources"
        )
        .into();
        schema["properties"]["kind"]["description"] = format!(
            "kind is a string value representing the type of this object. In CamelCase. More info: {CONVENTIONS}#types-kinds"
        )
        .into();
    }
}

/// Writes int-or-string as upstream publishes it.
fn unfold(schema: &mut Json) {
    let Some(members) = schema.as_object_mut() else { return };
    for name in ["items", "additionalProperties"] {
        members.get_mut(name).into_iter().for_each(unfold);
    }
    let properties = members.get_mut("properties").and_then(Json::as_object_mut);
    properties.into_iter().flatten().for_each(|(_, property)| unfold(property));
    if members.get("x-kubernetes-int-or-string") != Some(&Json::Bool(true)) {
        return;
    }
    let either = json!([{"type": "integer"}, {"type": "string"}]);
    let is_told = members.get("anyOf") == Some(&either)
        || members.get("allOf").is_some_and(|all| all[0]["anyOf"] == either);
    if is_told {
        return;
    }
    if members.get("anyOf").is_none_or(Json::is_null) {
        members.insert("anyOf".to_owned(), either);
    } else if let Some(all) = members.entry("allOf").or_insert_with(|| json!([])).as_array_mut() {
        all.insert(0, json!({"anyOf": either}));
    }
}
