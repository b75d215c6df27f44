//! A case: who writes what, in which order.

use baton_merge::Release;
use serde_json::{Value, json};

use super::{Kind, RELEASES};
use crate::targets::{choices::Choices, json_trees::mutate};

/// Writes to one object.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) kind: Kind,
    pub(super) release: Release,
    /// What is there before the first write.
    pub(super) live: Option<Value>,
    pub(super) writes: Vec<Write>,
}

#[derive(Debug)]
pub(super) struct Write {
    pub(super) verb: Verb,
    pub(super) manager: String,
    pub(super) subresource: String,
    /// The position of the version it is written in.
    pub(super) version: usize,
    pub(super) object: Content,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Apply { force: bool },
    Update,
}

/// What is written.
#[derive(Debug)]
pub(super) enum Content {
    /// This object.
    Object(Value),
    /// The live object with changes, which the bytes choose when it is known.
    Changed(Vec<u8>),
}

const MANAGERS: &[&str] = &["alice", "bob", "carol", "kubectl", ""];

impl Case {
    /// The case that an input stands for.
    pub(super) fn of_input(data: &[u8]) -> Option<Self> {
        if data.first() == Some(&b'{') {
            Self::of_json(data)
        } else {
            Some(Self::of_choices(&mut Choices::new(data)))
        }
    }

    fn of_choices(choices: &mut Choices<'_>) -> Self {
        let kind = *choices.one(Kind::ALL);
        let release = *choices.one(RELEASES);
        let live = choices.once_in(4).then(|| live(choices, kind));
        let mut case = Self { kind, release, live, writes: Vec::new() };
        while case.writes.len() < 8 && !choices.are_over() {
            let write = case.some_write(choices);
            case.writes.push(write);
        }
        case
    }

    fn some_write(&self, choices: &mut Choices<'_>) -> Write {
        let verb = match choices.below(8) {
            0..=2 => Verb::Apply { force: false },
            3..=5 => Verb::Apply { force: true },
            _ => Verb::Update,
        };
        let manager = (*choices.one(MANAGERS)).to_owned();
        let subresource = match choices.below(16) {
            14 => "status",
            15 => "scale",
            _ => "",
        };
        let version = if choices.once_in(4) { choices.below(self.kind.versions().len()) } else { 0 };
        let last =
            self.writes.iter().rev().find(|write| write.manager == manager && write.version == version);
        let object = match (choices.below(4), verb, last.map(|last| &last.object)) {
            _ if subresource == "scale" => Content::Object(json!({
                "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "n"},
                "spec": {"replicas": choices.below(4)},
            })),
            (0, ..) | (_, Verb::Update, _) => Content::Changed(
                (0..32).map(|_| u8::try_from(choices.below(256)).unwrap_or_default()).collect(),
            ),
            (1 | 2, _, Some(Content::Object(object))) => {
                let mut object = object.clone();
                self.kind.vary(choices, &mut object);
                Content::Object(object)
            }
            _ => Content::Object(self.kind.object(choices, version)),
        };
        Write { verb, manager, subresource: subresource.to_owned(), version, object }
    }

    fn of_json(data: &[u8]) -> Option<Self> {
        let json: Value = serde_json::from_slice(data).ok()?;
        let kind = Kind::ALL.iter().find(|kind| json["kind"] == kind.name())?;
        let writes = json["writes"].as_array()?.iter().map(|write| {
            let force = write["force"].as_bool().unwrap_or_default();
            let version = write["version"].as_str().unwrap_or("v1");
            Some(Write {
                verb: if write["do"] == "update" { Verb::Update } else { Verb::Apply { force } },
                manager: write["manager"].as_str()?.to_owned(),
                subresource: write["subresource"].as_str().unwrap_or_default().to_owned(),
                version: kind.versions().iter().position(|own| *own == version)?,
                object: match (&write["object"], &write["changes"]) {
                    (object @ Value::Object(_), _) => Content::Object(object.clone()),
                    (_, bytes) => Content::Changed(serde_json::from_value(bytes.clone()).ok()?),
                },
            })
        });
        Some(Self {
            kind: *kind,
            release: json["release"].as_str()?.parse().ok()?,
            live: json.get("live").filter(|live| live.is_object()).cloned(),
            writes: writes.collect::<Option<_>>()?,
        })
    }

    pub(super) fn to_json(&self) -> Value {
        let writes = self.writes.iter().map(|write| {
            let mut json = json!({
                "do": if write.verb == Verb::Update { "update" } else { "apply" }, "manager": write.manager,
                "force": write.verb == Verb::Apply { force: true }, "subresource": write.subresource,
                "version": self.kind.versions()[write.version],
            });
            match &write.object {
                Content::Object(object) => json["object"] = object.clone(),
                Content::Changed(bytes) => json["changes"] = json!(bytes),
            }
            json
        });
        json!({
            "kind": self.kind.name(), "release": self.release.to_string(), "live": self.live,
            "writes": writes.collect::<Vec<_>>(),
        })
    }
}

impl Content {
    /// The object that is written.
    pub(super) fn object(&self, kind: Kind, version: usize, live: Option<&Value>, verb: Verb) -> Value {
        match self {
            Self::Object(object) => object.clone(),
            Self::Changed(bytes) => {
                let mut choices = Choices::new(bytes);
                let Some(live) = live else { return kind.object(&mut choices, version) };
                let mut object = live.clone();
                object["apiVersion"] = kind.gvk(version).api_version().into();
                kind.vary(&mut choices, &mut object);
                match (verb, object["metadata"].as_object_mut()) {
                    (Verb::Apply { .. }, Some(metadata)) => {
                        metadata.remove("managedFields");
                    }
                    (Verb::Update, Some(metadata)) if choices.once_in(16) => {
                        metadata.insert("managedFields".to_owned(), json!([{}]));
                    }
                    _ => {}
                }
                object
            }
        }
    }
}

/// An object that is there already: of nobody, or with odd owners.
fn live(choices: &mut Choices<'_>, kind: Kind) -> Value {
    let mut live = kind.object(choices, 0);
    live["metadata"]["uid"] = json!("1");
    if choices.once_in(2) {
        let entry = |choices: &mut Choices<'_>| {
            let version = choices.below(kind.versions().len());
            json!({
                "manager": choices.one(MANAGERS), "operation": choices.one(&["Apply", "Update"]),
                "apiVersion": kind.gvk(version).api_version(), "fieldsType": "FieldsV1",
                "fieldsV1": fields(choices, 5), "time": "2026-01-01T00:00:00Z",
                "subresource": choices.one(&["", "", "status", "scale"]),
            })
        };
        let mut entries: Value = (0..=choices.below(3)).map(|_| entry(choices)).collect();
        if choices.once_in(4) {
            mutate(choices, &mut entries, &[]);
        }
        live["metadata"]["managedFields"] = entries;
    }
    live
}

fn fields(choices: &mut Choices<'_>, depth: usize) -> Value {
    const ELEMENTS: &[&str] = &[
        "f:spec",
        "f:metadata",
        "f:status",
        "f:replicas",
        "f:labels",
        "f:a",
        "f:granular",
        "f:atomic",
        "f:tags",
        "f:byName",
        "f:byNameAndPort",
        "f:template",
        "f:containers",
        "f:ports",
        "f:name",
        "f:nested",
        "f:anything",
        "v:\"a\"",
        "v:1",
        "k:{\"name\":\"a\"}",
        "k:{\"name\":\"a\",\"port\":80}",
        "k:{\"containerPort\":80,\"protocol\":\"TCP\"}",
        "i:0",
        ".",
        "x:odd",
    ];
    let members = 0..choices.below(if depth == 0 { 1 } else { 4 });
    members
        .map(|_| match choices.one(ELEMENTS) {
            &"." => (".".to_owned(), json!({})),
            name => ((*name).to_owned(), fields(choices, depth - 1)),
        })
        .collect()
}
