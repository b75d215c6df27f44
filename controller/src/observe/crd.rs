//! The fields of a Workload that this version knows, and what to do about a CRD that lacks some.

use std::sync::LazyLock;

use baton_apply::crd::{KnownFields, OlderCrd};
use baton_crd::Workload;
use kube::core::ApiResource;

/// The names of the fields; a test says how to write them again.
const NAMES: &str = include_str!("fields.json");

/// The fields of a Workload that this version knows.
pub(crate) static FIELDS: LazyLock<KnownFields> = LazyLock::new(|| {
    KnownFields::new(ApiResource::erase::<Workload>(&()), serde_json::from_str(NAMES).unwrap_or_default())
});

/// The message about a CRD that lacks some of them.
pub(crate) fn older_crd(older: &OlderCrd) -> String {
    format!(
        "the CRD is older than this operator (version {}): {older}. Install this version's: \
         `baton crd | kubectl apply --server-side -f -`, or with all of Baton by `kubectl apply --server-side -k manifests`",
        env!("CARGO_PKG_VERSION"),
    )
}

#[cfg(test)]
mod tests {
    use std::{env, fs};

    use baton_apply::crd::Judgement;
    use serde_json::{Value, json};

    use super::*;

    fn own_schema() -> Value {
        let crd = baton_crd::workload_crd();
        serde_json::to_value(&crd.spec.versions[0].schema.as_ref().unwrap().open_api_v3_schema).unwrap()
    }

    #[test]
    fn the_fields_in_the_data_file_are_those_of_the_crd() {
        let mut own = KnownFields::names(&own_schema());
        // The metadata of all objects is published differently.
        own["properties"].as_object_mut().unwrap().retain(|name, _| matches!(&**name, "spec" | "status"));
        let own = own.to_string() + "\n";
        if env::var_os("BATON_WRITE_DOCS").is_some() {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/observe/fields.json");
            fs::write(path, &own).unwrap();
        }
        let hint = "fields.json is stale: BATON_WRITE_DOCS=1 cargo test -p baton-controller fields, and once more without";
        assert!(NAMES == own, "{hint}");
    }

    #[test]
    fn this_versions_crd_has_every_field_and_an_older_one_is_reported_with_the_fix() {
        let judged = |schema: &Value| {
            let mut model = schema.clone();
            model["x-kubernetes-group-version-kind"] =
                json!([{"group": "baton.rs", "version": "v1alpha1", "kind": "Workload"}]);
            FIELDS.judge(&json!({"components": {"schemas": {"rs.baton.v1alpha1.Workload": model}}}))
        };
        let mut schema = own_schema();
        assert_eq!(judged(&schema), Judgement::Complete);
        let spec = &mut schema["properties"]["spec"]["properties"];
        spec.as_object_mut().unwrap().remove("adoption").unwrap();
        let pods = &mut spec["template"]["properties"]["spec"]["properties"];
        pods["containers"]["items"]["properties"].as_object_mut().unwrap().remove("image").unwrap();
        let Judgement::Older(older) = judged(&schema) else { panic!("the CRD is older") };
        let message = older_crd(&older);
        assert!(message.contains(".spec.adoption, .spec.template.spec.containers[].image"), "{message}");
        assert!(message.contains("kubectl apply --server-side"), "{message}");
    }
}
