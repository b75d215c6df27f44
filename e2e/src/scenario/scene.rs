//! The scene of one scenario: a namespace, an object that it is about, and what is seen of it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use super::{
    Definition, Kind, Manager, Recorded, Stage, Step, body,
    kinds::builtin,
    owners,
    owners::Owner,
    path, show,
    stage::{PATIENCE, PAUSE},
    step::KindOfWrite,
};
use crate::{
    Error, Mark,
    merge_diff::Json,
    poll,
    raw::Request,
    transcripts::{Method, Resource},
};

/// The name of an object that isn't given another.
const NAME: &str = "example";

/// Longer than a second: entries of `managedFields` that are written after it have another time.
const NEXT_SECOND: Duration = Duration::from_millis(1050);

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
    definitions: Vec<(Definition, Json)>,
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
    ///
    /// # Errors
    /// When there is no namespace to be had.
    pub async fn open(stage: &Arc<Stage>, title: &str) -> Result<Self, Error> {
        let opened = stage.control_plane().audit()?.mark()?;
        let namespace = stage.control_plane().namespace("scene").await?;
        let name = namespace.name().to_owned();
        // It goes with the control plane.
        namespace.keep();
        Ok(Self {
            stage: stage.clone(),
            title: title.to_owned(),
            namespace: name,
            resource: stage.resource(builtin::CONFIG_MAP).await?,
            name: NAME.to_owned(),
            live: None,
            record: Vec::new(),
            definitions: Vec::new(),
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

    // ---- what the scenario is about

    /// Turns to an object of this kind, in its version: a [built-in](builtin) one, or a custom one by its kind, or by kind and
    /// version. The name stays.
    pub async fn of(&mut self, kind: impl Into<Kind>) {
        let resource = match kind.into() {
            Kind::BuiltIn(kind) => self.stage.resource(kind).await.unwrap_or_else(failed),
            Kind::Custom(kind, version) => {
                let found = self.definitions.iter().find(|(definition, _)| definition.kind() == kind);
                let Some((definition, object)) = found else { panic!("{kind} isn't defined in this scene") };
                definition.resource(version, object.clone())
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

    /// Defines a custom resource, or changes its definition, and turns to its stored version. It is in use afterwards.
    pub async fn define(&mut self, definition: Definition) {
        let object = self.stage.define(&definition, &self.namespace).await.unwrap_or_else(failed);
        let (kind, version) = (definition.kind(), definition.stored());
        self.definitions.retain(|(known, _)| known.kind() != kind);
        self.definitions.push((definition, object));
        self.of((kind, version)).await;
    }

    // ---- writes

    /// Server-side apply.
    pub fn apply_as(&mut self, manager: impl Into<Manager>, intent: &str) -> Step<'_> {
        self.whole(Method::Apply { force: false }, manager, intent)
    }

    /// A creation: POST.
    pub fn create_as(&mut self, manager: impl Into<Manager>, object: &str) -> Step<'_> {
        self.whole(Method::Create, manager, object)
    }

    /// A replacement by this object: PUT, without having read it.
    pub fn replace_as(&mut self, manager: impl Into<Manager>, object: &str) -> Step<'_> {
        self.whole(Method::Replace, manager, object)
    }

    /// Read, change, write: PUT of the live object with this laid over it. Maps are merged, lists are replaced, and null
    /// removes.
    pub fn update_as(&mut self, manager: impl Into<Manager>, changes: &str) -> Step<'_> {
        let told = body::parse(changes);
        let live = self.live.clone().unwrap_or_else(Json::object);
        let whole = crate::transcripts::overlaid(&live, &told);
        let mut step = self.step(Method::Replace, manager, whole);
        step.told = Some(told);
        step
    }

    /// An RFC 7396 merge patch.
    pub fn merge_patch_as(&mut self, manager: impl Into<Manager>, patch: &str) -> Step<'_> {
        self.step(Method::MergePatch, manager, body::parse(patch))
    }

    /// A strategic merge patch.
    pub fn strategic_patch_as(&mut self, manager: impl Into<Manager>, patch: &str) -> Step<'_> {
        self.step(Method::StrategicPatch, manager, body::parse(patch))
    }

    /// An RFC 6902 patch: a list of operations.
    pub fn json_patch_as(&mut self, manager: impl Into<Manager>, operations: &str) -> Step<'_> {
        self.step(Method::JsonPatch, manager, body::parse(operations))
    }

    /// A new number of replicas by the scale subresource, as an autoscaler or `kubectl scale` writes it.
    pub fn scale_as(&mut self, manager: impl Into<Manager>, replicas: i64) -> Step<'_> {
        let spec = Json::object().with("replicas", replicas);
        self.step(Method::MergePatch, manager, Json::object().with("spec", spec)).to("scale")
    }

    /// A new status by the status subresource.
    pub fn status_as(&mut self, manager: impl Into<Manager>, patch: &str) -> Step<'_> {
        self.merge_patch_as(manager, patch).to("status")
    }

    /// A deletion.
    pub fn delete(&mut self) -> Step<'_> {
        let mut step = Step::new(self, KindOfWrite::Delete, super::nobody(), Json::object());
        step.told = None;
        step
    }

    fn whole(&mut self, method: Method, manager: impl Into<Manager>, text: &str) -> Step<'_> {
        let told = body::parse(text);
        let whole = body::completed(told.clone(), &self.resource, &self.name);
        let mut step = self.step(method, manager, whole);
        step.told = Some(told);
        step
    }

    fn step(&mut self, method: Method, manager: impl Into<Manager>, body: Json) -> Step<'_> {
        Step::new(self, KindOfWrite::Merge(method), manager.into(), body)
    }

    // ---- what is seen

    /// The object as it is in the API server.
    pub(super) async fn read(&self, resource: &Resource, name: &str) -> Option<Json> {
        let path = format!("{}/{name}", resource.path(&self.namespace));
        let reply = match Request::get(&path).send(self.stage.client()).await {
            Ok(reply) => reply,
            Err(error) => panic!("{}: {}", self.title, error.report()),
        };
        match reply.code {
            404 => None,
            200 => match reply.text.parse() {
                Ok(object) => Some(object),
                Err(error) => panic!("{}: GET {path} answers no JSON: {error}", self.title),
            },
            _ => panic!("{}: GET {path} answers {}: {}", self.title, reply.code, reply.text),
        }
    }

    /// Looks at the subject again, and takes note of what others have done to it.
    pub async fn look(&mut self) {
        self.take_note_of_others(None).await;
    }

    pub(super) fn end_of_audit_log(&self) -> Mark {
        self.stage.control_plane().audit().and_then(|audit| audit.mark()).unwrap_or_else(failed)
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
        tokio::time::sleep(NEXT_SECOND).await;
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
        let probe = async || match self.read(&self.resource, &self.name).await {
            Some(live) if is_so(&live) => Ok(()),
            other => Err(other),
        };
        if let Err(live) = poll(PATIENCE, PAUSE, probe).await {
            panic!(
                "{}: it never comes that {what}:\n{}",
                self.title,
                show::yaml(&live.unwrap_or(Json::Null))
            );
        }
        self.look().await;
    }

    // ---- what is expected

    /// The value at a path of the subject, spelled as in conflicts.
    pub fn at(&self, path: &str) -> Option<&Json> {
        self.live.as_ref().and_then(|live| path::at(live, path))
    }

    /// Expects this value, written in YAML, at a path.
    #[track_caller]
    pub fn expect(&self, path: &str, value: &str) {
        let wanted = body::parse_value(value);
        let found = self.at(path);
        assert!(
            found.is_some_and(|found| found.same_value(&wanted)),
            "{}: expected is {wanted} at {path}, and there is {}\n{}",
            self.title,
            found.map_or("nothing".to_owned(), Json::to_string),
            self.shown()
        );
    }

    /// Expects nothing at a path; at the empty path, no object.
    #[track_caller]
    pub fn expect_absent(&self, path: &str) {
        let found = self.at(path);
        assert!(
            found.is_none(),
            "{}: expected is nothing at {path}, and there is {}\n{}",
            self.title,
            found.map_or(String::new(), Json::to_string),
            self.shown()
        );
    }

    /// Expects that this manager, and nobody else, owns a path: `kubectl (Apply)`, `hpa (Update scale)`.
    #[track_caller]
    pub fn expect_owner(&self, path: &str, manager: &str) {
        self.expect_owners(path, &[manager]);
    }

    /// Expects that nobody owns a path.
    #[track_caller]
    pub fn expect_no_owner(&self, path: &str) {
        self.expect_owners(path, &[]);
    }

    /// Expects that exactly these managers own a path, in any order: that of `managedFields` depends on the second.
    #[track_caller]
    pub fn expect_owners(&self, path: &str, managers: &[&str]) {
        let owners = owners::owners(self.live.as_ref());
        let owning = owners.iter().filter(|owner| owner.owns(path));
        let found = sorted(owning.map(|owner| owner.name.as_str()));
        let wanted = sorted(managers.iter().copied());
        assert!(
            found == wanted,
            "{}: expected is that {path} is owned by {wanted:?}, and it is by {found:?}\n{}",
            self.title,
            self.shown()
        );
    }

    /// Expects exactly these field managers, in any order.
    #[track_caller]
    pub fn expect_managers(&self, managers: &[&str]) {
        let owners = self.managers();
        let (found, wanted) = (sorted(owners.iter().map(String::as_str)), sorted(managers.iter().copied()));
        assert!(
            found == wanted,
            "{}: expected are the field managers {wanted:?}, and there are {found:?}\n{}",
            self.title,
            self.shown()
        );
    }

    /// Expects exactly these field managers, in the order of `managedFields`.
    #[track_caller]
    pub fn expect_managers_in_order(&self, managers: &[&str]) {
        let found = self.managers();
        assert!(
            found == managers,
            "{}: expected are the field managers {managers:?}, and there are {found:?}\n{}",
            self.title,
            self.shown()
        );
    }

    /// Expects that a manager owns exactly these paths, in any order.
    #[track_caller]
    pub fn expect_fields(&self, manager: &str, paths: &[&str]) {
        let owners = owners::owners(self.live.as_ref());
        let mut found =
            owners.iter().find(|owner| owner.name == manager).map_or(Vec::new(), |owner| owner.paths.clone());
        let mut wanted: Vec<_> = paths.iter().map(|path| (*path).to_owned()).collect();
        found.sort();
        wanted.sort();
        assert!(
            found == wanted,
            "{}: expected is that {manager} owns {wanted:?}, and it owns {found:?}\n{}",
            self.title,
            self.shown()
        );
    }

    /// The field managers of the subject, in the order of its `managedFields`.
    pub fn managers(&self) -> Vec<String> {
        owners::owners(self.live.as_ref()).into_iter().map(|owner| owner.name).collect()
    }

    /// The subject and who owns what of it.
    fn shown(&self) -> String {
        let owners: Vec<_> = owners::owners(self.live.as_ref()).iter().map(Owner::to_string).collect();
        let mut object = self.live.clone().unwrap_or(Json::Null);
        if let Some(metadata) = object.get_mut("metadata") {
            metadata.take("managedFields");
        }
        format!("{}\n{}", show::yaml(&object), owners.concat())
    }
}

fn sorted<'t>(texts: impl Iterator<Item = &'t str>) -> Vec<&'t str> {
    let mut texts: Vec<_> = texts.collect();
    texts.sort_unstable();
    texts
}

/// A scenario can't go on without its stage.
#[expect(clippy::needless_pass_by_value, reason = "it is for unwrap_or_else")]
pub(super) fn failed<T>(error: Error) -> T {
    panic!("{}", error.report())
}
