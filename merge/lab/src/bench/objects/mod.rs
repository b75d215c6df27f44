//! The objects, from a small Deployment to a CustomResourceDefinition.
//!
//! Each is the end of a story: somebody applied an intent, the server filled in what it fills in, controllers wrote the
//! status and others a field here and there. So `managedFields` are what such a story leaves, not made up.

mod config_map;
mod definition;
mod deployment;
mod endpoint_slice;
mod pod;
mod story;
mod workload;

use std::{fs, path::PathBuf};

use anyhow::{Context as _, Result};
use baton_merge::{schema::kinds::GroupVersionKind, server::Resources};
use baton_testbed::workspace;
use serde_json::{Value, json};

use self::story::Story;

/// An object and what is written to it.
#[derive(Debug)]
pub struct Subject {
    /// What it is called in the table and on the command line.
    pub name: &'static str,
    /// What its kind is read from.
    pub types: Types,
    /// Its kind.
    pub gvk: GroupVersionKind,
    /// The object with its `managedFields`.
    pub live: Value,
    /// The same without.
    pub bare_live: Value,
    /// Who applies.
    pub applier: &'static str,
    /// What it applied to the live object last.
    pub intent: Value,
    /// What it applies next, with a field changed.
    pub next: Value,
    /// Who updates.
    pub updater: &'static str,
    /// The object that it puts in place of the live one, with its `managedFields`.
    pub updated: Value,
    /// The same without.
    pub bare_updated: Value,
}

/// What a kind is read from.
#[derive(Clone, Debug)]
pub enum Types {
    /// An OpenAPI document.
    OpenApi(PathBuf),
    /// A CustomResourceDefinition.
    Crd(PathBuf),
}

impl Types {
    /// A document of built-in kinds.
    fn builtin(document: &str) -> Self {
        Self::OpenApi(workspace().join(format!("merge/tests/data/openapi/{document}.json")))
    }

    /// Which kind of source it is, in the words of the driver protocol, and where.
    pub fn source(&self) -> (&'static str, &PathBuf) {
        match self {
            Self::OpenApi(path) => ("openapi", path),
            Self::Crd(path) => ("crd", path),
        }
    }

    /// Compiles it.
    pub fn resources(&self) -> Result<Resources> {
        let (_, path) = self.source();
        let document = document(path)?;
        match self {
            Self::OpenApi(_) => Resources::from_openapi(&document),
            Self::Crd(_) => Resources::from_crd(&document),
        }
        .with_context(|| path.display().to_string())
    }
}

/// All objects, in the order of the table.
pub fn all() -> Result<Vec<Subject>> {
    let stories = [
        deployment::story(),
        pod::story(),
        endpoint_slice::story(),
        config_map::story(),
        workload::story(),
        definition::story()?,
    ];
    stories.into_iter().map(Story::played).collect()
}

/// The CustomResourceDefinition of a Workload, as it is installed.
fn workload_definition() -> PathBuf {
    workspace().join("manifests/crd/workloads.baton.rs.yaml")
}

/// A JSON or YAML file.
fn document(path: &PathBuf) -> Result<Value> {
    let text = fs::read_to_string(path).with_context(|| format!("can't read {}", path.display()))?;
    serde_norway::from_str(&text).with_context(|| path.display().to_string())
}

/// A condition in a status.
fn condition(kind: &str, reason: &str, message: &str) -> Value {
    json!({
        "type": kind, "status": "True", "reason": reason, "message": message,
        "lastTransitionTime": "2026-01-05T08:01:06Z",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_object_has_several_managers_and_a_change_of_each_sort() {
        for subject in all().unwrap() {
            let entries = subject.live["metadata"]["managedFields"].as_array().unwrap();
            assert!((2..=4).contains(&entries.len()), "{}: {} managers", subject.name, entries.len());
            assert_ne!(subject.intent, subject.next, "{}", subject.name);
            assert_ne!(subject.live, subject.updated, "{}", subject.name);
        }
    }
}
