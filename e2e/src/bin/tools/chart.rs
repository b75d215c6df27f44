//! Copies the files of `manifests/` that the Helm chart uses unchanged into the chart. With `--check`, reports whether the copies
//! are up to date. The chart needs copies because it is packaged without the rest of the repository.
//!
//! Run it as `cargo chart`, after `cargo crdgen`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use baton_testbed::workspace;
use clap::Args;

/// The files below `manifests/` whose copies are in the chart.
const SOURCES: [&str; 15] = [
    "crd/workloads.baton.rs.yaml",
    "crd/clusterrole-view.yaml",
    "crd/clusterrole-edit.yaml",
    "policies/authors.yaml",
    "policies/replicas.yaml",
    "cluster/prioritylevel.yaml",
    "rbac/clusterrole.yaml",
    "flowcontrol/flowschema.yaml",
    "flowcontrol/flowschema-leader-election.yaml",
    "deploy/role.yaml",
    "components/monitoring/prometheusrule.yaml",
    "components/monitoring/dashboard.json",
    "components/secure-metrics/clusterrole-metrics-auth.yaml",
    "components/secure-metrics/clusterrole-metrics-reader.yaml",
    "components/secure-metrics/flowschema-reviews.yaml",
];
/// The folder of the copies.
const COPIES: &str = "charts/baton/files";

/// Copy the manifests that the Helm chart uses into the chart.
#[derive(Args)]
pub(crate) struct Cli {
    /// Write nothing. Fail if a copy is stale, or if the folder has another file.
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(Cli { check }: Cli) -> anyhow::Result<()> {
    let root = workspace();
    let folder = root.join(COPIES);
    let mut copies = Vec::new();
    for source in SOURCES {
        let source = root.join("manifests").join(source);
        let wanted = fs::read(&source).with_context(|| format!("can't read {}", source.display()))?;
        let copy = folder.join(source.file_name().unwrap_or_default());
        if !check {
            fs::write(&copy, wanted).with_context(|| format!("can't write {}", copy.display()))?;
        } else if fs::read(&copy).ok() != Some(wanted) {
            bail!("{} is stale: run `cargo chart` and commit the result", copy.display());
        }
        copies.push(copy);
    }
    for path in files(&folder)? {
        if !copies.contains(&path) {
            bail!("{} is not a copy of a manifest: remove it", path.display());
        }
    }
    println!("{COPIES} is up to date");
    Ok(())
}

fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("can't read {}", folder.display()))?;
    entries.map(|entry| Ok(entry?.path())).collect()
}
