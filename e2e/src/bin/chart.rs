//! Copies into the Helm chart what it takes from `manifests/` as it stands there, or with `--check` says whether the copies
//! are up to date. A chart has to hold all that it installs: it is packed and sent around without the repository.
//!
//! Run it as `cargo chart`, after `cargo crdgen`. What the chart's templates make of the files is not its business.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use baton_testbed::workspace;
use clap::Parser;

/// The files below `manifests/` whose copies are in the chart.
const SOURCES: [&str; 14] = [
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
];
/// Where they are copied to.
const COPIES: &str = "charts/baton/files";

/// Copies what the Helm chart takes from the manifests.
#[derive(Parser)]
struct Cli {
    /// Compare only, and fail when a copy is stale, or when there is one of a file that isn't copied.
    #[arg(long)]
    check: bool,
}

fn main() -> anyhow::Result<()> {
    let Cli { check } = Cli::parse();
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
            bail!("{} is a copy of nothing: remove it", path.display());
        }
    }
    println!("{COPIES} is up to date");
    Ok(())
}

fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("can't read {}", folder.display()))?;
    entries.map(|entry| Ok(entry?.path())).collect()
}
