//! The scene of one scenario: a namespace, an object that it is about, and what is seen of it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use baton_testbed::{Error, Json, Mark, PATIENCE, prediction::Resource, raw, wait_for};

use super::{Crd, Kind, Recorded, Stage, body, kinds::builtin, owners, path, show};

/// The name of an object that isn't given another.
const NAME: &str = "example";

/// Where a scenario plays.
pub struct Scene {
    stage: Arc<Stage>,
    title: String,
    namespace: String,
    resource: Resource,
    name: String,
    /// The subject, as the last step left it.
    pub(super) live: Option<Json>,
    record: Vec<Recorded>,
    /// Definitions of this scene, with what the server was told.
    crds: Vec<(Crd, Json)>,
    /// Where the audit log ended when the scene was opened.
    opened: Mark,
    /// Where it ended when the subject was last seen.
    pub(super) mark: Mark,
    /// Other objects, by the path of their collection and their name, as they were last seen and when that was.
    known: BTreeMap<(String, String), (Option<Json>, Mark)>,
    /// The requests of which note was taken, by their ids in the audit log.
    pub(super) seen: BTreeSet<String>,
}

impl Scene {
    /// Opens one: a fresh namespace, with a `ConfigMap` for its subject, which isn't there yet.
    pub async fn open(stage: &Arc<Stage>, title: &str) -> Result<Self, Error> {
        let opened = stage.end_of_audit_log()?;
        Ok(Self {
            stage: stage.clone(),
            title: title.to_owned(),
            namespace: stage.namespace().await?,
            resource: stage.resource(builtin::CONFIG_MAP).await?,
            name: NAME.to_owned(),
            live: None,
            record: Vec::new(),
            crds: Vec::new(),
            opened,
            mark: opened,
            known: BTreeMap::new(),
            seen: BTreeSet::new(),
        })
    }

    /// The namespace.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The name of the subject.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The stage.
    pub fn stage(&self) -> &Stage {
        &self.stage
    }

    /// What the scenario is called.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The steps up to now.
    pub fn recorded(&self) -> &[Recorded] {
        &self.record
    }

    pub(super) fn subject(&self) -> (Resource, String) {
        (self.resource.clone(), self.name.clone())
    }

    pub(super) fn resource(&self) -> &Resource {
        &self.resource
    }

    /// Turns to an object of this kind, in its version: a [built-in](builtin) one, or a custom one by its kind, or by kind and
    /// version. The name stays.
    pub async fn of(&mut self, kind: impl Into<Kind>) {
        let resource = match kind.into() {
            Kind::BuiltIn(kind) => self.stage.resource(kind).await.unwrap_or_else(failed),
            Kind::Custom(kind, version) => {
                let found = self.crds.iter().find(|(crd, _)| crd.kind() == kind);
                let Some((crd, object)) = found else { panic!("{kind} isn't defined in this scene") };
                crd.resource(version, object.clone())
            }
        };
        self.turn_to(resource, self.name.clone()).await;
    }

    /// Turns to the object of this name, of the same kind.
    pub async fn named(&mut self, name: &str) {
        self.turn_to(self.resource.clone(), name.to_owned()).await;
    }

    /// Turns to an object, and takes note of all that was written to it since it was last seen, or since the scene was opened,
    /// when it wasn't there yet.
    async fn turn_to(&mut self, resource: Resource, name: String) {
        let place = |resource: &Resource, name: &str| (resource.path(&self.namespace), name.to_owned());
        let (from, to) = (place(&self.resource, &self.name), place(&resource, &name));
        self.known.insert(from, (self.live.take(), self.mark));
        let (live, mark) = self.known.get(&to).cloned().unwrap_or((None, self.opened));
        let of_another_version = |(path, known): &(String, String)| {
            *known == name && *path != to.0 && path.ends_with(&format!("/{}", resource.plural))
        };
        // How the writes to one version look in another is for the server to say.
        let is_known_otherwise = self.known.keys().any(of_another_version);
        (self.resource, self.name, self.live, self.mark) = (resource, name, live, mark);
        if is_known_otherwise {
            self.mark = self.end_of_audit_log();
            self.live = self.read(&self.resource, &self.name).await;
        } else {
            self.look().await;
        }
    }

    /// Defines a custom resource, or changes its crd, and turns to its stored version. It is in use afterwards.
    pub async fn define(&mut self, crd: Crd) {
        let object = self.stage.define(&crd, &self.namespace).await.unwrap_or_else(failed);
        let (kind, version) = (crd.kind(), crd.stored());
        self.crds.retain(|(known, _)| known.kind() != kind);
        self.crds.push((crd, object));
        self.of((kind, version)).await;
    }

    /// The object as it is in the API server.
    pub(super) async fn read(&self, resource: &Resource, name: &str) -> Option<Json> {
        let path = format!("{}/{name}", resource.path(&self.namespace));
        let read = raw::read(self.stage.client(), &path).await;
        read.unwrap_or_else(|error| panic!("{}: {}", self.title, error.report()))
    }

    /// Looks at the subject again, and takes note of what others have done to it.
    pub async fn look(&mut self) {
        self.take_note_of_others(None).await;
    }

    pub(super) fn end_of_audit_log(&self) -> Mark {
        self.stage.end_of_audit_log().unwrap_or_else(failed)
    }

    pub(super) fn take_note_of(&mut self, recorded: Recorded) {
        self.record.push(recorded);
    }

    /// Takes note of a step of the scenario's own.
    pub(super) fn take_note(&mut self, recorded: Recorded, live: Option<Json>, audit_id: String) {
        self.take_note_of(recorded);
        self.live = live;
        self.seen.insert(audit_id);
    }

    /// Lets the clock go on, so that what comes next has another time.
    pub async fn next_second(&mut self) {
        self.stage.next_second().await;
    }

    /// Waits until others have given the subject this value at a path.
    pub async fn eventually(&mut self, path: &str, value: &str) {
        let wanted = body::parse_value(value);
        let is_so = |live: &Json| path::at(live, path).is_some_and(|found| found.same_value(&wanted));
        self.until(&format!("{path} is {wanted}"), is_so).await;
    }

    /// Waits until this manager, and nobody else, owns a path of the subject.
    pub async fn eventually_owned(&mut self, path: &str, manager: &str) {
        let is_so = |live: &Json| {
            let owners = owners::owners(Some(live));
            owners.iter().all(|owner| owner.owns(path) == (owner.name == manager))
                && owners.iter().any(|owner| owner.name == manager)
        };
        self.until(&format!("{path} is owned by {manager}"), is_so).await;
    }

    async fn until(&mut self, what: &str, is_so: impl Fn(&Json) -> bool) {
        let what = format!("{}: {what}", self.title);
        let came = wait_for(&what, PATIENCE, async || {
            Ok(match self.read(&self.resource, &self.name).await {
                Some(live) if is_so(&live) => Ok(()),
                other => Err(show::yaml(&other.unwrap_or(Json::Null))),
            })
        });
        came.await.unwrap_or_else(failed);
        self.look().await;
    }
}

/// A scenario can't go on without its stage.
#[expect(clippy::needless_pass_by_value, reason = "it is for unwrap_or_else")]
pub(super) fn failed<T>(error: Error) -> T {
    panic!("{}", error.report())
}
