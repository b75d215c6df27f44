//! Chooses the writes to one object, one after the other, from a seed and from what the object has become. It asks no
//! server and no merge core.

use std::collections::BTreeMap;

use super::{
    APPLIERS, Kind, LAST_APPLIED, SERVERS_METADATA, UPDATERS,
    edit::{places, pointer, reorder},
};
use crate::{
    Json, Random,
    prediction::{
        Method, Owners, Write,
        edit::{at_mut, overlaid, remove},
    },
};

/// How many writes an object gets, at least and at most.
const LENGTH: (usize, usize) = (10, 30);
/// More updaters than a server keeps apart.
const CROWD: usize = 18;
/// A time that no write of this program happens at.
const LONG_AGO: &str = "2020-01-02T03:04:05Z";

/// An operation of a JSON patch that sets something.
fn operation(op: &str, path: &str, value: Json) -> Json {
    Json::object().with("op", op).with("path", path).with("value", value)
}

/// Writes to one object.
pub struct Sequence {
    random: Random,
    kind: &'static Kind,
    name: String,
    /// The last intent of each applier.
    applied: BTreeMap<&'static str, Json>,
    /// Where there are more updaters than a server keeps apart, how many have written.
    crowd: Option<usize>,
    /// A version of the object that has been replaced since, for writes that come too late.
    stale: Option<Json>,
}

impl Sequence {
    /// The writes that follow from a seed, to an object of that name.
    pub fn new(kind: &'static Kind, name: String, mut random: Random) -> Self {
        let crowd = random.one_in(6).then_some(0);
        Self { random, kind, name, applied: BTreeMap::new(), crowd, stale: None }
    }

    /// The name of the object.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many writes are worth it.
    pub fn length(&mut self) -> usize {
        let (least, most) = LENGTH;
        let more = if self.crowd.is_some() { CROWD } else { 0 };
        least + more + self.random.below(most - least + 1)
    }

    /// Whether to let a second pass before the next write, so that its time stamp differs.
    pub fn pauses(&mut self) -> bool {
        self.random.one_in(25)
    }

    /// The next write to the object as it is, or its creation.
    pub fn next(&mut self, live: Option<&Json>) -> Write {
        let Some(live) = live else { return self.creation() };
        if self.stale.is_none() || self.random.one_in(5) {
            self.stale = Some(live.clone());
        }
        let version = match self.random.choose(&self.kind.others) {
            Some(other) if self.random.one_in(5) => other,
            _ => &self.kind.version,
        };
        let main = *version == self.kind.version;
        let (status, scale) = (u32::from(self.kind.has_status(version)), u32::from(self.kind.scale && main));
        let (apply, patch, meddle) = if self.crowd.is_some() { (12, 50, 1) } else { (50, 10, 4) };
        match self.random.weighted(&[apply, 12, patch, 9, status * 9, scale * 9, meddle, 4, meddle]) {
            0 => self.apply(live, version),
            1 => self.replace(live, version),
            2 => self.merge_patch(version),
            3 => self.json_patch(live, version),
            4 => self.status(live, version),
            5 => self.scale(live, version),
            6 => self.meddle(live, version),
            7 => self.nonsense(live, version),
            _ => self.reset(version),
        }
    }

    /// Takes note of an apply that succeeded.
    pub fn succeeded(&mut self, write: &Write) {
        if write.is_apply()
            && write.subresource.is_empty()
            && let Some(applier) = APPLIERS.iter().find(|applier| **applier == write.manager)
        {
            self.applied.insert(applier, write.body.clone());
        }
    }

    fn updater(&mut self) -> String {
        match &mut self.crowd {
            Some(turn) => {
                *turn += 1;
                format!("updater-{}", *turn % CROWD)
            }
            None => self.random.pick(&UPDATERS).to_owned(),
        }
    }

    /// The body as one of this object, in a version.
    fn named(&self, mut body: Json, version: &str) -> Json {
        body.set("apiVersion", self.kind.api_version(version));
        body.set("kind", self.kind.kind.as_str());
        let metadata = body.entry("metadata");
        metadata.set("name", self.name.as_str());
        body
    }

    fn write(&mut self, method: Method, version: &'static str, body: Json, owners: Owners) -> Write {
        let manager = if let Method::Apply { .. } = method {
            self.random.pick(&APPLIERS).to_owned()
        } else {
            self.updater()
        };
        Write { method, subresource: "", version: version.to_owned(), manager, body, owners }
    }

    fn creation(&mut self) -> Write {
        let version = self.kind.version.as_str();
        let body = self.kind.whole(&mut self.random);
        let body = self.named(body, version);
        match self.random.below(3) {
            0 => self.write(Method::Create, version, body, Owners::Absent),
            1 => {
                // As client-side `kubectl apply` does it.
                let mut annotated = body.clone();
                annotated.entry("metadata").entry("annotations").set(LAST_APPLIED, body.to_string());
                let mut write = self.write(Method::Create, version, annotated, Owners::Absent);
                "kubectl-client-side-apply".clone_into(&mut write.manager);
                write
            }
            _ => self.write(Method::Apply { force: false }, version, body, Owners::Kept),
        }
    }

    fn apply(&mut self, live: &Json, version: &'static str) -> Write {
        let force = self.random.one_in(2);
        let mut write = self.write(Method::Apply { force }, version, Json::Null, Owners::Kept);
        let last = self.applied.get(write.manager.as_str()).cloned();
        let mut intent = match (self.random.weighted(&[5, 6, 5, 2, 3]), last) {
            (0, Some(last)) => last,
            (1, Some(last)) => overlaid(&last, &self.kind.part(&mut self.random)),
            (2, Some(last)) => self.thinned(last, 2),
            (3, _) => {
                let own = Self::own(live);
                self.thinned(own, 6)
            }
            _ if self.random.one_in(3) => self.kind.whole(&mut self.random),
            _ => self.kind.part(&mut self.random),
        };
        match self.random.below(20) {
            0..3 => reorder(&mut self.random, &mut intent),
            3 => self.nullify(&mut intent),
            4 => self.empty(&mut intent),
            5 => {
                if let Some(Json::Object(_)) = intent.get("metadata") {
                    intent.entry("metadata").entry("labels");
                }
            }
            _ => {}
        }
        write.body = self.named(intent, version);
        if self.random.one_in(25) {
            let from = if self.random.one_in(2) { self.stale.as_ref() } else { None };
            if let Some(resource_version) = from.unwrap_or(live).at(&["metadata", "resourceVersion"]).cloned()
            {
                write.body.entry("metadata").set("resourceVersion", resource_version);
            }
        }
        write
    }

    /// The part of an object that people own: all that the server didn't add.
    fn own(live: &Json) -> Json {
        let mut own = live.clone();
        own.take("status");
        if let Some(metadata) = own.get_mut("metadata") {
            for name in SERVERS_METADATA.into_iter().chain(["namespace"]) {
                metadata.take(name);
            }
        }
        own
    }

    /// A value with some members and items less, or none where nothing may be taken.
    fn thinned(&mut self, mut value: Json, times: usize) -> Json {
        for _ in 0..=self.random.below(times) {
            let kind = self.kind;
            let found = places(&value, &|path, _| kind.may_change(path));
            if let Some(place) = self.random.choose(&found) {
                remove(&mut value, place);
            }
        }
        value
    }

    /// One of the paths that may change and that are `wanted`.
    fn place<'j>(&mut self, value: &'j mut Json, wanted: fn(&[&str], &Json) -> bool) -> Option<&'j mut Json> {
        let kind = self.kind;
        let found = places(value, &|path, value| kind.may_change(path) && wanted(path, value));
        at_mut(value, self.random.choose(&found)?)
    }

    /// Puts null in place of a member.
    fn nullify(&mut self, value: &mut Json) {
        let is_member =
            |path: &[&str], _: &Json| path.last().is_some_and(|name| name.parse::<usize>().is_err());
        if let Some(old) = self.place(value, is_member) {
            *old = Json::Null;
        }
    }

    /// Empties an object or a list.
    fn empty(&mut self, value: &mut Json) {
        match self.place(value, |_, value| matches!(value, Json::Object(_) | Json::List(_))) {
            Some(Json::List(items)) => items.clear(),
            Some(Json::Object(members)) => members.clear(),
            _ => {}
        }
    }

    /// The live object with something else, as a client sends it that read and changed it.
    fn changed(&mut self, live: &Json, version: &str) -> Json {
        let mut changed = live.clone();
        let metadata = changed.take("metadata").unwrap_or_else(Json::object);
        match self.random.below(7) {
            0 => {}
            1 => reorder(&mut self.random, &mut changed),
            2 | 3 => changed = self.thinned(changed, 2),
            _ => {
                let part = self.kind.part(&mut self.random);
                return self.named(overlaid(live, &part), version);
            }
        }
        self.named(changed.with("metadata", metadata), version)
    }

    fn replace(&mut self, live: &Json, version: &'static str) -> Write {
        let stale = self.stale.clone().filter(|_| self.random.one_in(12));
        let mut body = self.changed(stale.as_ref().unwrap_or(live), version);
        let owners = self.owners(&mut body, live);
        if self.random.one_in(8) {
            body.entry("metadata").entry("annotations").set(LAST_APPLIED, r#"{"spec":{"replicas":1}}"#);
        }
        self.write(Method::Replace, version, body, owners)
    }

    /// The `managedFields` of a PUT: mostly those that were read.
    fn owners(&mut self, body: &mut Json, live: &Json) -> Owners {
        let metadata = body.entry("metadata");
        match self.random.below(12) {
            0 => drop(metadata.take("managedFields")),
            1 => metadata.set("managedFields", vec![Json::object()]),
            2 => metadata.set("managedFields", Vec::new()),
            3 => metadata.set("managedFields", self.meddled(live)),
            _ => {}
        }
        match body.at(&["metadata", "managedFields"]) {
            None => Owners::Absent,
            Some(list) => Owners::Given(list.clone()),
        }
    }

    fn merge_patch(&mut self, version: &'static str) -> Write {
        let mut body = self.kind.part(&mut self.random);
        if let Some(turn) = self.crowd {
            // Something that no other write removes.
            body.entry("metadata").entry("annotations").set(&format!("turn-{turn}"), "x");
        }
        if self.random.one_in(3) {
            self.nullify(&mut body);
        }
        let strategic = !self.kind.is_custom() && self.random.one_in(2);
        let method = if strategic { Method::StrategicPatch } else { Method::MergePatch };
        self.write(method, version, body, Owners::Kept)
    }

    fn json_patch(&mut self, live: &Json, version: &'static str) -> Write {
        let own = Self::own(live);
        let mut patch = Vec::new();
        if self.random.one_in(2) {
            let kind = self.kind;
            let found = places(&own, &|path, _| kind.may_change(path));
            if let Some(place) = self.random.choose(&found) {
                patch.push(Json::object().with("op", "remove").with("path", pointer(place)));
            }
        } else {
            let target = overlaid(&own, &self.kind.part(&mut self.random));
            for (name, value) in target.members() {
                if own.get(name).is_some_and(|old| old != value) && name != "metadata" {
                    patch.push(operation("replace", &format!("/{name}"), value.clone()));
                }
            }
            let labels = Json::object().with("a", self.random.pick(&["x", "y"]));
            patch.push(operation("add", "/metadata/labels", labels));
        }
        self.write(Method::JsonPatch, version, patch.into(), Owners::Kept)
    }

    fn status(&mut self, live: &Json, version: &'static str) -> Write {
        let mut status = self.kind.status(&mut self.random);
        if self.random.one_in(5) {
            // Metadata can be written there in some kinds, and is dropped in others.
            status.set("metadata", Json::object().with("labels", Json::object().with("a", "z")));
            status.entry("metadata").entry("annotations").set("a", "z");
        }
        let method = match self.random.below(4) {
            0 => Method::Replace,
            1 => Method::MergePatch,
            _ => Method::Apply { force: self.random.one_in(2) },
        };
        let (body, owners) = match method {
            Method::Replace => {
                let body = self.named(overlaid(live, &status), version);
                let owners =
                    body.at(&["metadata", "managedFields"]).cloned().map_or(Owners::Absent, Owners::Given);
                (body, owners)
            }
            Method::MergePatch => (status, Owners::Kept),
            _ => (self.named(status, version), Owners::Kept),
        };
        Write { subresource: "status", ..self.write(method, version, body, owners) }
    }

    fn scale(&mut self, live: &Json, version: &'static str) -> Write {
        let replicas = [0, 1, 2, 3][self.random.below(4)];
        let spec = Json::object().with("replicas", replicas);
        let method = match self.random.below(4) {
            0 | 1 => Method::Replace,
            2 => Method::MergePatch,
            _ => Method::Apply { force: self.random.one_in(2) },
        };
        let body = if method == Method::MergePatch {
            Json::object().with("spec", spec)
        } else {
            let mut metadata = Json::object().with("name", self.name.as_str());
            if method == Method::Replace {
                for name in ["namespace", "uid", "resourceVersion", "creationTimestamp"] {
                    metadata.set(name, live.at(&["metadata", name]).cloned().unwrap_or(Json::Null));
                }
            }
            Json::object()
                .with("apiVersion", "autoscaling/v1")
                .with("kind", "Scale")
                .with("metadata", metadata)
                .with("spec", spec)
        };
        Write { subresource: "scale", ..self.write(method, version, body, Owners::Kept) }
    }

    /// A patch of `managedFields`, and of a label, since a change of times alone isn't stored.
    fn meddle(&mut self, live: &Json, version: &'static str) -> Write {
        let list = self.meddled(live);
        let label = self.random.pick(&["x", "y", "z"]);
        let method = if self.random.one_in(2) { Method::JsonPatch } else { Method::MergePatch };
        let with_label = self.random.one_in(2);
        let body = if method == Method::JsonPatch {
            let mut operations = vec![operation("add", "/metadata/managedFields", list.clone())];
            if with_label {
                operations.push(operation("add", "/metadata/labels", Json::object().with("a", label)));
            }
            operations.into()
        } else {
            let mut metadata = Json::object().with("managedFields", list.clone());
            if with_label {
                metadata.set("labels", Json::object().with("a", label));
            }
            Json::object().with("metadata", metadata)
        };
        self.write(method, version, body, Owners::Given(list))
    }

    /// The live `managedFields` as if edited by hand.
    fn meddled(&mut self, live: &Json) -> Json {
        let mut entries =
            live.at(&["metadata", "managedFields"]).map(Json::items).unwrap_or_default().to_vec();
        let at = self.random.below(entries.len());
        match (self.random.below(7), entries.is_empty()) {
            (_, true) => entries.push(Json::object()),
            (0, _) => drop(entries.remove(at)),
            (1, _) => entries[at].set("manager", self.random.pick(&["somebody", "baton", "kubectl"])),
            (2, _) => entries[at].set("operation", self.random.pick(&["Apply", "Update"])),
            (3, _) => drop(entries[at].take("time")),
            (4, _) => entries[at].set("apiVersion", self.random.pick(&["gone/v1", "apps/v1beta1", "v1"])),
            (5, _) => {
                let found = places(entries[at].get("fieldsV1").unwrap_or(&Json::Null), &|_, _| true);
                if let (Some(place), Some(fields)) =
                    (self.random.choose(&found), entries[at].get_mut("fieldsV1"))
                {
                    remove(fields, place);
                }
            }
            _ => entries.iter_mut().for_each(|entry| entry.set("time", LONG_AGO)),
        }
        entries.into()
    }

    /// `managedFields` without an owner.
    fn reset(&mut self, version: &'static str) -> Write {
        let list: Json = if self.random.one_in(3) { Vec::new().into() } else { vec![Json::object()].into() };
        let body = Json::object().with("metadata", Json::object().with("managedFields", list.clone()));
        self.write(Method::MergePatch, version, body, Owners::Given(list))
    }

    /// An apply that the server refuses for any object.
    fn nonsense(&mut self, live: &Json, version: &'static str) -> Write {
        let intent = self.kind.part(&mut self.random);
        let mut body = self.named(intent, version);
        match self.random.below(6) {
            0 => body.entry("spec").set("unknownField", 1),
            1 => body.entry("metadata").set("labels", "none"),
            2 => body.entry("metadata").set("managedFields", vec![Json::object()]),
            3 => body.set("apiVersion", "wrong/v1"),
            4 => body.entry("metadata").set("labels", Json::object().with("a", 1)),
            _ => {
                let twice = places(live, &|path, value| {
                    path.first() == Some(&"spec")
                        && value.items().iter().any(|item| item.get("name").is_some())
                });
                if let Some(place) = self.random.choose(&twice) {
                    let mut own = Self::own(live);
                    if let Some(Json::List(items)) = at_mut(&mut own, place) {
                        let first = items[0].clone();
                        items.push(first);
                    }
                    body = self.named(own, version);
                }
            }
        }
        let force = self.random.one_in(2);
        self.write(Method::Apply { force }, version, body, Owners::Kept)
    }
}
