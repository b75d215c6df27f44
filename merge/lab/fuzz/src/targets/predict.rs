//! Predictions of several writes in a row to one object, against what holds of every apply.
//!
//! An input is a case as JSON (it begins with `{`), or bytes that choose one. Which promises a step is held to depends
//! on whether the history is clean: see `checks`.

mod again;
mod case;
mod checks;
mod owners;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::LazyLock,
};

use baton_merge::{Release, schema::kinds::GroupVersionKind, server::Resources};
use serde_json::{Value, json};

use self::{case::Case, checks::History};
use super::{
    choices::Choices,
    documents::GADGET,
    objects::{Shape, loose},
};

/// Releases on each side of every difference between them.
pub(super) const RELEASES: &[Release] =
    &[Release::LATEST, Release::new(36, 3), Release::new(36, 1), Release::new(33, 0)];

/// Writes to an object, one after the other, and checks what is predicted of each.
pub fn predict(data: &[u8]) {
    let Some(case) = Case::of_input(data) else { return };
    let _told = Told(&case);
    let mut history = History::new(&case);
    for write in &case.writes {
        history.write(write);
    }
}

/// The writes of an input as requests of the driver protocol, by the rules of the release that the oracle is built from.
pub fn predict_requests(data: &[u8]) -> Vec<Value> {
    let Some(mut case) = Case::of_input(data) else { return Vec::new() };
    case.release = Release::new(36, 3);
    let mut history = History::new(&case);
    let mut requests = Vec::new();
    for write in &case.writes {
        requests.push(history.request(write));
        // A write that breaks a law is the last one to ask about.
        if catch_unwind(AssertUnwindSafe(|| history.write(write))).is_err() {
            break;
        }
    }
    requests
}

/// Prints a case that fails, as JSON, which is an input too. Where a panic ends the process nothing is printed; the
/// `replay` program tells then.
struct Told<'c>(&'c Case);

impl Drop for Told<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the case: {}", self.0.to_json());
        }
    }
}

/// The kinds that are written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A custom resource with every marker, in three versions.
    Gadget,
    /// A built-in kind.
    Deployment,
    /// A custom resource of which the schema says nothing.
    Blob,
}

static BLOB: LazyLock<Value> = LazyLock::new(|| {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "spec": {
            "group": "corpus.baton.rs", "scope": "Namespaced", "names": {"kind": "Blob", "plural": "blobs"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            }}}],
        },
    })
});

static APPS: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../../tests/data/openapi/apps__v1.json")).expect("it is JSON")
});

static GADGETS: LazyLock<Resources> =
    LazyLock::new(|| Resources::from_crd(&GADGET).expect("the definition is good"));
static BLOBS: LazyLock<Resources> =
    LazyLock::new(|| Resources::from_crd(&BLOB).expect("the definition is good"));
static DEPLOYMENTS: LazyLock<Resources> =
    LazyLock::new(|| Resources::from_openapi(&APPS).expect("the document is good"));

/// How deep made objects go.
const DEPTH: usize = 10;

impl Kind {
    pub(super) const ALL: &[Self] = &[Self::Gadget, Self::Deployment, Self::Blob];

    pub(super) fn resources(self) -> &'static Resources {
        match self {
            Self::Gadget => &GADGETS,
            Self::Deployment => &DEPLOYMENTS,
            Self::Blob => &BLOBS,
        }
    }

    /// What tells of the kind in a request of the driver protocol: the member's name, and the member.
    fn document(self) -> (&'static str, Value) {
        match self {
            Self::Gadget => ("crd", json!({"file": "merge/tests/corpus/data/gadget.crd.json"})),
            Self::Deployment => ("openapi", json!({"file": "merge/tests/data/openapi/apps__v1.json"})),
            Self::Blob => ("crd", BLOB.clone()),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Gadget => "Gadget",
            Self::Deployment => "Deployment",
            Self::Blob => "Blob",
        }
    }

    fn is_custom(self) -> bool {
        self != Self::Deployment
    }

    fn versions(self) -> &'static [&'static str] {
        match self {
            Self::Gadget => &["v1", "v1beta1", "v1alpha1"],
            Self::Deployment | Self::Blob => &["v1"],
        }
    }

    /// The kind in a version, given by its position.
    pub(super) fn gvk(self, version: usize) -> GroupVersionKind {
        let group = if self.is_custom() { "corpus.baton.rs" } else { "apps" };
        GroupVersionKind::new(group, self.versions()[version], self.name())
    }

    fn shape(self, version: usize) -> Option<Shape<'static>> {
        match self {
            Self::Gadget => {
                Some(Shape::at(&GADGET, &format!("/spec/versions/{version}/schema/openAPIV3Schema")))
            }
            Self::Deployment => Some(Shape::at(&APPS, "/components/schemas/io.k8s.api.apps.v1.Deployment")),
            Self::Blob => None,
        }
    }

    /// A new object, as somebody might apply it.
    pub(super) fn object(self, choices: &mut Choices<'_>, version: usize) -> Value {
        let mut object = json!({
            "apiVersion": self.gvk(version).api_version(), "kind": self.name(), "metadata": {"name": "n"},
        });
        object["spec"] = self.part(choices, version, "spec");
        if choices.once_in(8) {
            object["status"] = self.part(choices, version, "status");
        }
        for name in ["labels", "annotations"] {
            if choices.once_in(4) {
                object["metadata"][name] = labels(choices);
            }
        }
        if choices.once_in(8) {
            object["metadata"]["finalizers"] = json!([choices.one(&["a/b", "c/d"])]);
        }
        object
    }

    fn part(self, choices: &mut Choices<'_>, version: usize, name: &str) -> Value {
        match self.shape(version).and_then(|shape| shape.field(name)) {
            Some(shape) => shape.value(choices, DEPTH),
            None => loose(choices),
        }
    }

    /// Changes an object here and there.
    pub(super) fn vary(self, choices: &mut Choices<'_>, object: &mut Value) {
        let version = self.version_of(object);
        for name in ["spec", "status"] {
            let shape = self.shape(version).and_then(|shape| shape.field(name));
            match (shape, object.get_mut(name)) {
                (Some(shape), Some(part)) => shape.vary(choices, part, DEPTH),
                (None, Some(part)) => super::json_trees::mutate(choices, part, &[]),
                _ => {}
            }
        }
        if choices.once_in(4) && object["metadata"].is_object() {
            object["metadata"]["labels"] = labels(choices);
        }
    }

    fn version_of(self, object: &Value) -> usize {
        let own = &object["apiVersion"];
        (0..self.versions().len())
            .find(|version| *own == *self.gvk(*version).api_version())
            .unwrap_or_default()
    }
}

fn labels(choices: &mut Choices<'_>) -> Value {
    match choices.below(8) {
        0 => json!({"a": "1"}),
        1 => json!({"a": "2", "b": "1"}),
        2 => json!({"b": "1"}),
        3 => json!({}),
        4 => Value::Null,
        5 => json!({"kubectl.kubernetes.io/last-applied-configuration": "{}"}),
        6 => json!({"a": null}),
        _ => json!({"a": "1", "c": "1"}),
    }
}
