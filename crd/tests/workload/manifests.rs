//! The files in `manifests/` match this crate.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use baton_crd::{Workload, workload_crd, workload_crd_yaml};
use serde_json::Value;

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

#[test]
fn the_generated_files_are_up_to_date() {
    let check = Command::new(env!("CARGO_BIN_EXE_crdgen")).arg("--check").output().unwrap();
    assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stderr));
}

#[test]
fn the_yaml_reads_back_as_the_crd() {
    let read: Value = serde_norway::from_str(&workload_crd_yaml().unwrap()).unwrap();
    assert!(read == serde_json::to_value(workload_crd()).unwrap());
}

#[test]
fn the_crd_has_its_short_names_and_categories() {
    let crd = workload_crd();
    assert_eq!(crd.metadata.name.as_deref(), Some("workloads.baton.rs"));
    assert_eq!(crd.spec.group, baton_crd::GROUP);
    assert_eq!(crd.spec.versions[0].name, baton_crd::VERSION);
    assert_eq!(crd.spec.names.short_names.as_deref(), Some(["bwl".to_owned()].as_slice()));
    assert_eq!(crd.spec.names.categories.as_deref(), Some(["baton".to_owned()].as_slice()));
    let subresources = crd.spec.versions[0].subresources.as_ref().unwrap();
    let scale = subresources.scale.as_ref().unwrap();
    assert!(subresources.status.is_some());
    assert_eq!(scale.spec_replicas_path, ".spec.replicas");
    assert_eq!(scale.status_replicas_path, ".status.replicas");
    assert_eq!(scale.label_selector_path.as_deref(), Some(".status.selector"));
}

#[test]
fn the_crd_is_far_smaller_than_a_request_may_be() {
    let size = serde_json::to_vec(&workload_crd()).unwrap().len();
    assert!(size < 512 * 1024, "{size} bytes; etcd accepts 1.5 MiB, and a list of CRDs contains all of them");
}

#[test]
fn the_samples_are_workloads() {
    let mut samples = 0;
    for entry in fs::read_dir(repository("manifests/samples")).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with('#'), "{} doesn't say what it shows", path.display());
        let sample: Value = serde_norway::from_str(&text).unwrap();
        let workload: Workload = serde_json::from_value(sample).unwrap();
        let written = serde_json::to_value(&workload).unwrap();
        let read: Workload = serde_json::from_value(written).unwrap();
        assert_eq!(read, workload, "{}", path.display());
        samples += 1;
    }
    assert!(samples >= 6, "only {samples} samples");
}
