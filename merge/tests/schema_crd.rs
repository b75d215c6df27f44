//! Whole CRDs, compared with the Go libraries.
#![allow(missing_docs, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use baton_merge::schema::crd::{self, CustomResource, VersionSchema};
use serde_json::Value;

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

fn markers() -> CustomResource {
    let definition: Value = serde_json::from_str(&read("tests/data/schema/markers.crd.json")).unwrap();
    crd::parse(&definition).unwrap()
}

/// The types by name.
fn by_name(definition: &Value) -> BTreeMap<&str, &Value> {
    let types = definition["types"].as_array().unwrap();
    types.iter().map(|each| (each["name"].as_str().unwrap(), each)).collect()
}

#[test]
fn every_marker_converts_as_in_go() {
    let expected: Value = serde_json::from_str(&read("tests/data/schema/markers.expected.json")).unwrap();
    let actual = markers().api.definition.to_json();
    let (actual, expected) = (by_name(&actual), by_name(&expected));
    assert_eq!(actual.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (name, expected) in expected {
        assert_eq!(actual[name], expected, "{name}");
    }
}

#[test]
fn a_version_shows_whether_its_schema_counts() {
    let resource = markers();
    let schemas: Vec<_> = resource.versions.iter().map(|version| (&version.name, &version.schema)).collect();
    assert!(matches!(
        schemas.as_slice(),
        [
            (_, VersionSchema::Structural),
            (_, VersionSchema::Structural),
            (_, VersionSchema::NotStructural(_))
        ]
    ));
}

#[test]
fn the_workload_has_a_structural_schema() {
    let definition: Value =
        baton_merge::yaml::from_str(&read("../manifests/crd/workloads.baton.rs.yaml")).unwrap();
    let workload = crd::parse(&definition).unwrap();
    let [version] = workload.versions.as_slice() else { panic!("{:?}", workload.versions) };
    assert_eq!((&version.schema, version.status), (&VersionSchema::Structural, true));
    let scale = version.scale.as_ref().unwrap();
    assert_eq!(scale.spec_replicas_fields().collect::<Vec<_>>(), ["spec", "replicas"]);
}
