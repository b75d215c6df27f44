//! The objects, from a small Deployment to a CustomResourceDefinition.
//!
//! Each is the end of a story in `objects.yaml`: a client applied an intent, the server filled in what it fills in, controllers
//! wrote the status and others a field here and there. So `managedFields` are what such a story leaves, not made up.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};
use baton_merge::{schema::kinds::GroupVersionKind, server::Resources, yaml};
use baton_merge_driver::{Session, corpus::RECORDED};
use baton_testbed::workspace;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// An object and what is written to it.
#[derive(Debug)]
pub struct Subject {
    /// The name in the table and on the command line.
    pub name: String,
    /// The source of its kind.
    pub types: Types,
    /// Its kind.
    pub gvk: GroupVersionKind,
    /// The object with its `managedFields`.
    pub live: Value,
    /// The same without.
    pub bare_live: Value,
    /// The applier.
    pub applier: String,
    /// The intent that it applied last.
    pub intent: Value,
    /// The next intent, with one field changed.
    pub next: Value,
    /// The updater.
    pub updater: String,
    /// The object of the update, with its `managedFields`.
    pub updated: Value,
    /// The same without.
    pub bare_updated: Value,
}

/// The source of a kind: a file, relative to the workspace.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Types {
    /// An OpenAPI document.
    OpenApi(PathBuf),
    /// A CustomResourceDefinition.
    Crd(PathBuf),
}

impl Types {
    /// The type of the source in the driver protocol, and its path.
    pub fn source(&self) -> (&'static str, PathBuf) {
        match self {
            Self::OpenApi(path) => ("openapi", workspace().join(path)),
            Self::Crd(path) => ("crd", workspace().join(path)),
        }
    }

    /// Compiles it.
    pub fn resources(&self) -> Result<Resources> {
        let (_, path) = self.source();
        let document = document(&path)?;
        match self {
            Self::OpenApi(_) => Resources::from_openapi(&document),
            Self::Crd(_) => Resources::from_crd(&document),
        }
        .with_context(|| path.display().to_string())
    }
}

/// All objects, in the order of the table.
pub fn all() -> Result<Vec<Subject>> {
    let stories: Value = yaml::from_str(include_str!("objects.yaml"))?;
    let stories: Vec<Story> = serde_json::from_value(expanded(&stories)?)?;
    stories.into_iter().map(Story::played).collect()
}

/// The history of an object; see `objects.yaml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Story {
    name: String,
    types: Types,
    intent: Value,
    applier: String,
    #[serde(default)]
    defaults: Change,
    others: Vec<Other>,
    next: Change,
    updater: String,
    update: Change,
}

/// A write by another manager.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
enum Other {
    Apply {
        manager: String,
        intent: Value,
    },
    Update {
        manager: String,
        #[serde(default)]
        subresource: String,
        change: Change,
    },
}

impl Story {
    /// Runs it on the merge core.
    fn played(self) -> Result<Subject> {
        let gvk = GroupVersionKind::of(&self.intent).unwrap_or_default();
        let (source, path) = self.types.source();
        let (mut session, mut now) = (Session::new(), BEGIN);
        // The next write, a minute after the last.
        let mut write = |verb: &str, live: &Value, object: &Value, manager: &str, subresource: &str| {
            now += SignedDuration::from_mins(1);
            let request = json!({
                "do": verb, "gvk": {"group": gvk.group, "version": gvk.version, "kind": gvk.kind},
                "subresource": subresource, "live": live, "object": object, "manager": manager, "force": true,
                "now": now, "profile": RECORDED, source: {"file": path},
            });
            let mut response: Value = serde_json::from_str(&session.respond(&request.to_string()))?;
            ensure!(response["object"].is_object(), "{}: {response}", self.name);
            Ok(response["object"].take())
        };
        let mut live = write("apply", &Value::Null, &self.intent, &self.applier, "")?;
        identify(&mut live);
        live = self.defaults.of(&live);
        for other in &self.others {
            live = match other {
                Other::Apply { manager, intent } => write("apply", &live, intent, manager, "")?,
                Other::Update { manager, subresource, change } => {
                    write("update", &live, &change.of(&live), manager, subresource)?
                }
            };
        }
        let (next, updated) = (self.next.of(&self.intent), self.update.of(&live));
        Ok(Subject {
            name: self.name,
            types: self.types,
            gvk,
            bare_live: bare(&live),
            live,
            applier: self.applier,
            intent: self.intent,
            next,
            updater: self.updater,
            bare_updated: bare(&updated),
            updated,
        })
    }
}

/// Sets the metadata that a server sets in a new object.
fn identify(object: &mut Value) {
    let metadata = &mut object["metadata"];
    metadata["uid"] = json!("7c9e6679-7425-40de-944b-e07fc1f90ae7");
    metadata["resourceVersion"] = json!("48151623");
    metadata["generation"] = json!(1);
    metadata["creationTimestamp"] = json!(BEGIN);
}

fn bare(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    object
}

/// 2026-01-05, a Monday morning.
const BEGIN: Timestamp = Timestamp::constant(1_767_600_000, 0);

/// Values by their paths.
#[derive(Default, Deserialize)]
struct Change(Map<String, Value>);

impl Change {
    /// An object with the change.
    fn of(&self, object: &Value) -> Value {
        let mut object = object.clone();
        self.0.iter().for_each(|(place, value)| put(&mut object, place, value));
        object
    }
}

fn put(object: &mut Value, place: &str, value: &Value) {
    let Some(place) = place.strip_prefix('/') else {
        *object = value.clone();
        return;
    };
    let (name, below) = place.split_at(place.find('/').unwrap_or(place.len()));
    match (object, name) {
        (Value::Array(items), "*") => items.iter_mut().for_each(|item| put(item, below, value)),
        (Value::Array(items), "-") => items.push(value.clone()),
        (Value::Array(items), at) => {
            let at: usize = at.parse().expect("an item is named by its number");
            put(&mut items[at], below, value);
        }
        (object, name) => put(&mut object[name.replace("~1", "/")], below, value),
    }
}

/// A value with `$file` and `$times` expanded.
fn expanded(value: &Value) -> Result<Value> {
    let times = |what: &Value| -> Result<Vec<Value>> {
        let each = expanded(what)?.to_string();
        let numbers = 0..value["$times"].as_u64().context("$times is no number")?;
        let numbered = |at: u64| each.replace("\"{at}\"", &at.to_string()).replace("{at}", &at.to_string());
        numbers.map(|at| Ok(serde_json::from_str(&numbered(at))?)).collect()
    };
    match value {
        Value::Object(members) => {
            if let Some(file) = value["$file"].as_str() {
                document(&workspace().join(file))
            } else if let Some(item) = members.get("$item") {
                Ok(times(item)?.into())
            } else if let Some(each) = members.get("$members") {
                let objects = times(each)?;
                let members = objects.iter().filter_map(Value::as_object).flatten();
                Ok(members.map(|(name, member)| (name.clone(), member.clone())).collect())
            } else {
                members.iter().map(|(name, member)| Ok((name.clone(), expanded(member)?))).collect()
            }
        }
        Value::Array(items) => items.iter().map(expanded).collect(),
        single => Ok(single.clone()),
    }
}

/// A JSON or YAML file.
fn document(path: &Path) -> Result<Value> {
    let text = fs::read_to_string(path).with_context(|| format!("can't read {}", path.display()))?;
    yaml::from_str(&text).with_context(|| path.display().to_string())
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
