//! This version doesn't change the children of earlier versions, so an update of Baton, and a rollback, writes no child.
//!
//! `golden/<version>/` has Workloads with the children that this version created, read from a real API server after everything
//! had settled. A version adds its folder when it is released, by `cargo golden-record`, and never changes another version's
//! folder. If a test fails here, an update would write to every such child in every cluster.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::common::cluster::enforced;
use baton_apply::LiveObject;
use baton_controller::decide::{child::ChildKind, replicas::Autoscaler, snapshot::Snapshot};
use baton_crd::Workload;
use serde::Deserialize;
use serde_json::Value;

/// A file: a Workload and its children at one moment.
#[derive(Deserialize)]
struct Golden {
    workload: Workload,
    children: Vec<Value>,
}

impl Golden {
    fn seen(self) -> Snapshot {
        let children = self.children.into_iter().map(|object| {
            let kind = ChildKind::ALL.into_iter().find(|kind| kind.name() == object["kind"]).unwrap();
            (kind, LiveObject::from_json(object).unwrap())
        });
        let mut seen = Snapshot::new(Arc::new(self.workload), children.collect(), Vec::new());
        let autoscaler = seen.child(ChildKind::Autoscaler).and_then(Autoscaler::of);
        seen.autoscalers = autoscaler.into_iter().map(|(_, autoscaler)| autoscaler).collect();
        seen
    }
}

/// The writes and refusals of a pass. The server stores exactly this snapshot.
fn written(seen: Snapshot) -> Vec<String> {
    let (finished, mut writes) = enforced(seen);
    writes.extend(finished.refused.iter().map(|refusal| format!("{refusal:?}")));
    writes
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

#[test]
fn children_of_every_version_are_left_unchanged() {
    let mut count = 0;
    for version in files(&folder()) {
        for file in files(&version) {
            let golden: Golden = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
            assert!(!golden.children.is_empty(), "{}", file.display());
            let written = written(golden.seen());
            assert!(written.is_empty(), "{}: an update would write\n{}", file.display(), written.join("\n"));
            count += 1;
        }
    }
    assert!(count > 0, "no file in {}", folder().display());
}

#[test]
fn a_child_that_differs_would_be_written() {
    let file = folder().join("0.1.0/everything.json");
    let mut golden: Golden = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let deployment = golden.children.iter_mut().find(|child| child["kind"] == "Deployment").unwrap();
    deployment["spec"]["template"]["spec"]["containers"][0]["image"] = "another:1".into();
    assert_eq!(written(golden.seen()).len(), 1);
}
