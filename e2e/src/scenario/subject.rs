//! The subject of one scenario: an object in a namespace, and what was read and recorded of it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use baton_testbed::{Error, Json, Mark, PATIENCE, prediction::Resource, raw, wait_for};

use super::{Crd, Kind, Recorded, SeedServer, body, kinds::builtin, owners, path, show};

/// The default name of the object.
const NAME: &str = "example";

/// The object that a scenario writes to, and the steps that were recorded.
pub struct Subject {
    server: Arc<SeedServer>,
    title: String,
    namespace: String,
    resource: Resource,
    name: String,
    /// The subject, as the last step left it.
    pub(super) live: Option<Json>,
    record: Vec<Recorded>,
    /// The CRDs of this scenario, with the objects that were sent.
    crds: Vec<(Crd, Json)>,
    /// The end of the audit log when the scenario began.
    opened: Mark,
    /// The end of the audit log when the subject was last read.
    pub(super) mark: Mark,
    /// Other objects, by the path of their collection and their name, as they were last read, and when that was.
    known: BTreeMap<(String, String), (Option<Json>, Mark)>,
    /// The recorded requests, by their ids in the audit log.
    pub(super) seen: BTreeSet<String>,
}

impl Subject {
    /// The subject of a scenario in a new namespace: a `ConfigMap` that doesn't exist yet.
    pub async fn open(server: &Arc<SeedServer>, title: &str) -> Result<Self, Error> {
        let opened = server.end_of_audit_log()?;
        Ok(Self {
            server: server.clone(),
            title: title.to_owned(),
            namespace: server.namespace().await?,
            resource: server.resource(builtin::CONFIG_MAP).await?,
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

    /// The server.
    pub fn server(&self) -> &SeedServer {
        &self.server
    }

    /// The name of the scenario.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The steps up to now.
    pub fn recorded(&self) -> &[Recorded] {
        &self.record
    }

    pub(super) fn target(&self) -> (Resource, String) {
        (self.resource.clone(), self.name.clone())
    }

    pub(super) fn resource(&self) -> &Resource {
        &self.resource
    }

    /// Makes an object of this kind the subject: of a [built-in](builtin) kind in its version, or of a custom kind, with or without a
    /// version. The name stays.
    pub async fn of(&mut self, kind: impl Into<Kind>) {
        let resource = match kind.into() {
            Kind::BuiltIn(kind) => self.server.resource(kind).await.unwrap_or_else(failed),
            Kind::Custom(kind, version) => {
                let found = self.crds.iter().find(|(crd, _)| crd.kind() == kind);
                let Some((crd, object)) = found else { panic!("{kind} isn't defined in this scenario") };
                crd.resource(version, object.clone())
            }
        };
        self.turn_to(resource, self.name.clone()).await;
    }

    /// Makes the object with this name, of the same kind, the subject.
    pub async fn named(&mut self, name: &str) {
        self.turn_to(self.resource.clone(), name.to_owned()).await;
    }

    /// Makes an object the subject, and records all writes to it since it was last read, or since the scenario began, when it didn't
    /// exist yet.
    async fn turn_to(&mut self, resource: Resource, name: String) {
        let place = |resource: &Resource, name: &str| (resource.path(&self.namespace), name.to_owned());
        let (from, to) = (place(&self.resource, &self.name), place(&resource, &name));
        self.known.insert(from, (self.live.take(), self.mark));
        let (live, mark) = self.known.get(&to).cloned().unwrap_or((None, self.opened));
        let of_another_version = |(path, known): &(String, String)| {
            *known == name && *path != to.0 && path.ends_with(&format!("/{}", resource.plural))
        };
        // Only the server can convert the writes to another version.
        let is_known_otherwise = self.known.keys().any(of_another_version);
        (self.resource, self.name, self.live, self.mark) = (resource, name, live, mark);
        if is_known_otherwise {
            self.mark = self.end_of_audit_log();
            self.live = self.read(&self.resource, &self.name).await;
        } else {
            self.refresh().await;
        }
    }

    /// Creates or changes a CRD, waits until the server uses it, and makes an object of its stored version the subject.
    pub async fn define(&mut self, crd: Crd) {
        let object = self.server.define(&crd, &self.namespace).await.unwrap_or_else(failed);
        let (kind, version) = (crd.kind(), crd.stored());
        self.crds.retain(|(known, _)| known.kind() != kind);
        self.crds.push((crd, object));
        self.of((kind, version)).await;
    }

    /// The live object.
    pub(super) async fn read(&self, resource: &Resource, name: &str) -> Option<Json> {
        let path = format!("{}/{name}", resource.path(&self.namespace));
        let read = raw::read(self.server.client(), &path).await;
        read.unwrap_or_else(|error| panic!("{}: {}", self.title, error.report()))
    }

    /// Reads the subject again, and records the writes of other clients to it.
    pub async fn refresh(&mut self) {
        self.record_others(None).await;
    }

    pub(super) fn end_of_audit_log(&self) -> Mark {
        self.server.end_of_audit_log().unwrap_or_else(failed)
    }

    pub(super) fn keep(&mut self, recorded: Recorded) {
        self.record.push(recorded);
    }

    /// Keeps a step of the scenario's own.
    pub(super) fn keep_own(&mut self, recorded: Recorded, live: Option<Json>, audit_id: String) {
        self.keep(recorded);
        self.live = live;
        self.seen.insert(audit_id);
    }

    /// Advances the clock, so that the next write has another time.
    pub async fn next_second(&mut self) {
        self.server.next_second().await;
    }

    /// Waits until other clients have written this value at a path of the subject.
    pub async fn eventually(&mut self, path: &str, value: &str) {
        let wanted = body::parse_value(value);
        let is_so = |live: &Json| path::at(live, path).is_some_and(|found| found.same_value(&wanted));
        self.until(&format!("{path} is {wanted}"), is_so).await;
    }

    /// Waits until only this manager owns a path of the subject.
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
        let waiting = wait_for(&what, PATIENCE, async || {
            Ok(match self.read(&self.resource, &self.name).await {
                Some(live) if is_so(&live) => Ok(()),
                other => Err(show::yaml(&other.unwrap_or(Json::Null))),
            })
        });
        waiting.await.unwrap_or_else(failed);
        self.refresh().await;
    }
}

/// Ends the scenario with the report of an error.
#[expect(clippy::needless_pass_by_value, reason = "it is for unwrap_or_else")]
pub(super) fn failed<T>(error: Error) -> T {
    panic!("{}", error.report())
}
