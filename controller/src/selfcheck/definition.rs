//! Whether the cluster's definition of a Workload has the fields that this version knows.
//!
//! A field that it lacks is dropped by the API server without a word, so a Workload would ask for something and Baton would
//! never hear of it. Fields that it has besides are a newer version's, and do no harm.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Verdict;

/// What to do where there is no definition.
pub(super) const NOT_SERVED: &str = "the API server serves no Workloads: their CustomResourceDefinition isn't installed, or not \
                                     accepted. Install it: `baton crd | kubectl apply --server-side -f -`, or with all of \
                                     Baton by `kubectl apply --server-side -k manifests`";

/// How many fields are named.
const NAMED: usize = 5;

/// The fields of a Workload that this version knows; a test tells how to write them anew.
const OWN: &str = include_str!("fields.json");

/// The fields of a schema, with those below them. All else that a schema says is left out.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Fields {
    #[cfg_attr(test, serde(skip_serializing_if = "BTreeMap::is_empty"))]
    properties: BTreeMap<String, Fields>,
    #[cfg_attr(test, serde(skip_serializing_if = "Option::is_none"))]
    items: Option<Box<Fields>>,
    #[cfg_attr(test, serde(skip_serializing_if = "Option::is_none"))]
    additional_properties: Option<Additional>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(untagged)]
enum Additional {
    Schema(Box<Fields>),
    Flag(bool),
}

/// An OpenAPI v3 document, as far as it matters here.
#[derive(Deserialize)]
struct Document {
    components: Components,
}

#[derive(Deserialize)]
struct Components {
    schemas: BTreeMap<String, Model>,
}

#[derive(Deserialize)]
struct Model {
    #[serde(rename = "x-kubernetes-group-version-kind", default)]
    kinds: Vec<GroupVersionKind>,
    #[serde(default)]
    properties: BTreeMap<String, Fields>,
}

#[derive(Deserialize)]
struct GroupVersionKind {
    group: String,
    version: String,
    kind: String,
}

impl Fields {
    /// Those that this version knows. They are kept as data, since to make the whole definition takes megabytes.
    pub(super) fn own() -> Self {
        serde_json::from_str(OWN).unwrap_or_default()
    }

    /// Those in the document that the API server publishes; none where no Workload is in it.
    pub(super) fn published(document: &str) -> Result<Option<Self>, serde_json::Error> {
        let document: Document = serde_json::from_str(document)?;
        let is_workload = |kind: &GroupVersionKind| {
            (&*kind.group, &*kind.version, &*kind.kind) == (baton_crd::GROUP, baton_crd::VERSION, "Workload")
        };
        let model =
            document.components.schemas.into_values().find(|model| model.kinds.iter().any(is_workload));
        Ok(model.map(|model| Self { properties: model.properties, ..Self::default() }))
    }

    /// The paths of the fields that are here and not there; of a missing one that has others below it, its own only.
    fn missing_in(&self, other: &Self) -> Vec<String> {
        let mut missing = Vec::new();
        self.compare(other, "", &mut missing);
        missing
    }

    fn compare(&self, other: &Self, path: &str, missing: &mut Vec<String>) {
        for (name, own) in &self.properties {
            let path = format!("{path}.{name}");
            match other.properties.get(name) {
                Some(others) => own.compare(others, &path, missing),
                None => missing.push(path),
            }
        }
        if let (Some(own), Some(others)) = (&self.items, &other.items) {
            own.compare(others, &format!("{path}[]"), missing);
        }
        if let (Some(Additional::Schema(own)), Some(Additional::Schema(others))) =
            (&self.additional_properties, &other.additional_properties)
        {
            own.compare(others, &format!("{path}{{}}"), missing);
        }
    }
}

/// Judges the definition that the API server publishes.
pub(super) fn judge(own: &Fields, published: &Fields) -> Verdict {
    let missing = own.missing_in(published);
    if missing.is_empty() {
        return Verdict::Fine("has every field that this version knows".to_owned());
    }
    let (named, more) = missing.split_at(missing.len().min(NAMED));
    let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
    Verdict::Wrong(format!(
        "the definition of Workloads is older than this operator (version {}): it lacks {}{more}. Install this version's: \
         `baton crd | kubectl apply --server-side -f -`, or with all of Baton by `kubectl apply --server-side -k manifests`",
        env!("CARGO_PKG_VERSION"),
        named.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use std::{env, fs};

    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_fields_that_are_kept_as_data_are_those_of_the_definition() {
        let mut fields = Fields::deserialize(own_schema()).unwrap();
        // What every object has is published differently.
        fields.properties.retain(|name, _| matches!(&**name, "spec" | "status"));
        if env::var_os("BATON_WRITE_DOCS").is_some() {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/selfcheck/fields.json");
            fs::write(path, serde_json::to_string(&fields).unwrap() + "\n").unwrap();
        }
        let hint = "fields.json is stale: BATON_WRITE_DOCS=1 cargo test -p baton-controller fields, and once more without";
        assert!(Fields::own() == fields, "{hint}");
    }

    /// The document that an API server would publish of this schema.
    fn published(schema: &Value) -> Option<Fields> {
        let kind = json!([{"group": "baton.rs", "version": "v1alpha1", "kind": "Workload"}]);
        let mut model = schema.clone();
        model["x-kubernetes-group-version-kind"] = kind;
        let document = json!({"components": {"schemas": {"rs.baton.v1alpha1.Workload": model}}});
        Fields::published(&document.to_string()).unwrap()
    }

    fn own_schema() -> Value {
        let crd = baton_crd::workload_crd();
        serde_json::to_value(&crd.spec.versions[0].schema.as_ref().unwrap().open_api_v3_schema).unwrap()
    }

    #[test]
    fn the_own_definition_has_every_field() {
        let verdict = judge(&Fields::own(), &published(&own_schema()).unwrap());
        assert!(matches!(verdict, Verdict::Fine(_)), "{verdict:?}");
    }

    #[test]
    fn fields_that_the_cluster_lacks_are_named_with_how_to_mend_it() {
        let mut older = own_schema();
        let fields = |schema: &mut Value, path: &[&str]| {
            let at = path.iter().fold(schema, |at, name| &mut at[*name]);
            at.as_object_mut().unwrap().clone()
        };
        assert!(!fields(&mut older, &["properties", "spec", "properties"]).is_empty());
        older["properties"]["spec"]["properties"].as_object_mut().unwrap().remove("adoption");
        let pods =
            &mut older["properties"]["spec"]["properties"]["template"]["properties"]["spec"]["properties"];
        pods["containers"]["items"]["properties"].as_object_mut().unwrap().remove("image");
        let Verdict::Wrong(words) = judge(&Fields::own(), &published(&older).unwrap()) else {
            panic!("it is older")
        };
        assert!(words.contains(".spec.adoption, .spec.template.spec.containers[].image"), "{words}");
        assert!(words.contains("kubectl apply --server-side"), "{words}");
    }

    #[test]
    fn a_newer_definition_does_no_harm() {
        let mut newer = own_schema();
        newer["properties"]["spec"]["properties"]["more"] = json!({"type": "string"});
        let verdict = judge(&Fields::own(), &published(&newer).unwrap());
        assert!(matches!(verdict, Verdict::Fine(_)), "{verdict:?}");
    }

    #[test]
    fn a_document_without_workloads_has_no_fields() {
        let document = json!({"components": {"schemas": {"other": {"type": "object"}}}});
        assert!(Fields::published(&document.to_string()).unwrap().is_none());
    }
}
