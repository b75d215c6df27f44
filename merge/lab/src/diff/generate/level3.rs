//! Scenarios of the third level: writes to one object on an API server, by people and controllers: applies and updates of
//! the object and its subresources, and sometimes a client that edits managedFields.

use std::sync::Arc;

use baton_testbed::{
    Json, Random,
    prediction::edit::overlaid,
    writes::{APPLIERS, LAST_APPLIED, SERVERS_METADATA, UPDATERS},
};

use super::{
    Scenario,
    history::{History, part},
    openapi::Kind,
    set,
    value::Taste,
};

/// The first second of a scenario: 2026-01-02T03:04:05Z.
const BEGIN: i64 = 1_767_323_045;

/// Writes to one object.
pub struct Writes {
    history: History,
    kind: Option<Arc<Kind>>,
    /// Seconds since 1970.
    now: i64,
    /// Whether there are more updaters than a server keeps apart.
    crowd: bool,
    /// The count of writes.
    version: i64,
}

impl Writes {
    /// A scenario about an object of a kind.
    pub fn new(mut random: Random, kind: Option<Arc<Kind>>) -> Self {
        let taste = [Taste::VALID, Taste { odd: 25, broken: 0 }, Taste { odd: 20, broken: 6 }]
            [random.weighted(&[70, 22, 8])];
        let density = [30, 45, 65][random.below(3)];
        let crowd = random.one_in(7);
        Self { history: History::new(random, taste, density, 9), kind, now: BEGIN, crowd, version: 0 }
    }

    /// An intent.
    fn intent(&mut self, kind: &Kind) -> Json {
        let mut intent = self.history.intent(&kind.schema);
        if let Some(metadata @ Json::Object(_)) = intent.get_mut("metadata") {
            for server in SERVERS_METADATA {
                if !self.history.random.one_in(100) {
                    metadata.take(server);
                }
            }
        }
        intent
    }

    /// Adds the identity of the object.
    fn named(&mut self, mut object: Json, kind: &Kind, version: &str) -> Json {
        let wrong = self.history.random.one_in(150);
        object.set("apiVersion", if wrong { "wrong/v1".to_owned() } else { kind.api_version(version) });
        object.set("kind", if self.history.random.one_in(200) { "Wrong" } else { kind.kind.as_str() });
        let metadata = object.entry("metadata");
        if !matches!(metadata, Json::Object(_)) {
            *metadata = Json::object();
        }
        metadata.set("name", "web");
        metadata.set("namespace", "default");
        object
    }

    /// The object of an update.
    fn replacement(&mut self, kind: &Kind) -> Json {
        let mut object = self.history.replacement(&kind.schema);
        if self.history.live == Json::Null {
            return object;
        }
        if self.history.random.one_in(10)
            && let Some(metadata @ Json::Object(_)) = object.get_mut("metadata")
        {
            // A PUT with outdated, absent or reset owners.
            match self.history.random.below(5) {
                0 => drop(metadata.take("managedFields")),
                1 => metadata.set("managedFields", Json::Null),
                2 => metadata.set("managedFields", Vec::new()),
                3 => metadata.set("managedFields", vec![Json::object()]),
                _ => meddle(&mut self.history.random, metadata, kind),
            }
        }
        let mut bare = object.clone();
        bare.take("metadata");
        if self.history.random.one_in(12)
            && let Some(metadata @ Json::Object(_)) = object.get_mut("metadata")
        {
            let annotations = metadata.entry("annotations");
            if matches!(annotations, Json::Object(_)) {
                let last = [r#"{"spec":{"replicas":1}}"#, "{}", "", "nonsense"];
                let last = match self.history.random.below(8) {
                    odd @ 0..4 => last[odd].to_owned(),
                    // kubectl's annotation: the live object, or a part of it.
                    _ => part(&mut self.history.random, &bare).to_string(),
                };
                annotations.set(LAST_APPLIED, last);
            }
        }
        object
    }

    /// Changes the live object without a tracked write.
    fn drift(&mut self, kind: &Kind) {
        if self.history.live == Json::Null {
            return;
        }
        if self.history.random.one_in(12) {
            // Defaults and values that controllers allocate.
            let more = self.history.fresh(&kind.schema);
            let mut drifted = overlaid(&more, &self.history.live);
            drifted.set("metadata", self.history.live.get("metadata").cloned().unwrap_or_else(Json::object));
            self.history.live = drifted;
        }
        let mut live = std::mem::replace(&mut self.history.live, Json::Null);
        if let Some(metadata @ Json::Object(_)) = live.get_mut("metadata") {
            match self.history.random.below(30) {
                0 => drop(metadata.take("managedFields")),
                1 => meddle(&mut self.history.random, metadata, kind),
                2..8 if self.crowd => join(&mut self.history.random, metadata, kind),
                _ => {}
            }
        }
        self.history.live = live;
    }

    fn scale(&mut self, kind: &Kind) -> Json {
        let replicas = [0, 1, 2, 3, -1][self.history.random.weighted(&[1, 4, 4, 4, 1])];
        let mut scale = Json::object()
            .with("apiVersion", "autoscaling/v1")
            .with("kind", "Scale")
            .with("metadata", Json::object().with("name", "web").with("namespace", "default"));
        if !self.history.random.one_in(20) {
            scale.set("spec", Json::object().with("replicas", replicas));
        }
        if self.history.random.one_in(10) {
            scale.set("status", Json::object().with("replicas", 1));
        }
        if self.history.random.one_in(60) {
            scale.set("kind", kind.kind.as_str());
        }
        scale
    }

    fn updater(&mut self) -> String {
        if self.crowd {
            format!("updater-{}", self.history.random.below(16))
        } else {
            self.history.random.pick(&UPDATERS).to_owned()
        }
    }
}

/// Adds as many updaters as a server keeps, with a few versions and times.
fn join(random: &mut Random, metadata: &mut Json, kind: &Kind) {
    if !matches!(metadata.entry("labels"), Json::Object(_)) {
        return;
    }
    let mut entries = metadata.get("managedFields").map(Json::items).unwrap_or_default().to_vec();
    for i in 0..10 {
        let label = format!("joined-{i}");
        metadata.entry("labels").set(&label, "x");
        let version = random.choose(&kind.others).filter(|_| random.one_in(3)).unwrap_or(&kind.version);
        let set = Json::object().with(&format!("f:{label}"), Json::object());
        let set = Json::object().with("f:metadata", Json::object().with("f:labels", set));
        entries.push(
            Json::object()
                .with("manager", format!("updater-{}", random.below(40)))
                .with("operation", if random.one_in(6) { "Apply" } else { "Update" })
                .with("apiVersion", kind.api_version(version))
                .with("time", time(BEGIN - i64::from(random.one_in(3))))
                .with("fieldsType", "FieldsV1")
                .with("fieldsV1", set),
        );
    }
    metadata.set("managedFields", entries);
}

/// Changes managedFields in a way that the server doesn't.
fn meddle(random: &mut Random, metadata: &mut Json, kind: &Kind) {
    let Some(Json::List(entries)) = metadata.get_mut("managedFields") else {
        metadata.set("managedFields", vec![Json::object()]);
        return;
    };
    if entries.is_empty() {
        entries.push(Json::object());
        return;
    }
    let at = random.below(entries.len());
    match random.below(10) {
        // A path below a scalar.
        9 => {
            let fields = entries[at].entry("fieldsV1").entry("f:spec").entry("f:replicas");
            fields.set("f:a", Json::object());
        }
        0 => drop(entries.remove(at)),
        1 => {
            if let Some(set) = entries[at].get_mut("fieldsV1") {
                *set = set::mutated(random, set);
            }
        }
        2 => entries[at].set("apiVersion", random.pick(&["apps/v1beta1", "gone/v1", "v1", "", "a/b/c"])),
        3 => entries[at].set("apiVersion", kind.api_version(&format!("{}beta9", kind.version))),
        4 => drop(entries[at].take(random.pick(&[
            "time",
            "fieldsV1",
            "operation",
            "apiVersion",
            "manager",
            "fieldsType",
        ]))),
        5 => {
            entries[at]
                .set("manager", random.pick(&["kubectl", "ancient-changes", "before-first-apply", ""]));
        }
        6 => entries[at].set("operation", random.pick(&["Apply", "Update", "Other", ""])),
        7 => {
            let twice = entries[at].clone();
            entries.push(twice);
        }
        _ => entries[at].set("subresource", random.pick(&["status", "scale", ""])),
    }
}

impl Scenario for Writes {
    fn next(&mut self) -> Json {
        // Without documents, this level has no kinds.
        let Some(kind) = self.kind.clone() else {
            return Json::object().with("do", "apply").with("gvk", Json::Null);
        };
        let kind = &*kind;
        self.now += [0, 0, 1, 60, 3600][self.history.random.below(5)];
        self.drift(kind);
        let applier = self.history.choose_writer(&APPLIERS);
        let version = match self.history.random.choose(&kind.others) {
            Some(other) if self.history.random.one_in(5) => other.as_str(),
            _ => kind.version.as_str(),
        };
        let exists = u32::from(self.history.live != Json::Null);
        let (status, scale) = (exists * u32::from(kind.status), exists * u32::from(kind.scale));
        let (apply, subresource) = match self.history.random.weighted(&[
            if self.crowd { 10 } else { 55 },
            if self.crowd { 60 } else { 25 },
            status * 6,
            status * 4,
            scale * 6,
            scale * 3,
            exists,
        ]) {
            0 => (true, ""),
            1 => (false, ""),
            2 => (false, "status"),
            3 => (true, "status"),
            4 => (false, "scale"),
            5 => (true, "scale"),
            _ => (
                self.history.random.one_in(2),
                self.history.random.pick(&["status", "scale", "exec", "ephemeralcontainers", "resize"]),
            ),
        };
        let object = match (apply, subresource) {
            (_, "scale") => self.scale(kind),
            (true, _) => {
                let intent = self.intent(kind);
                self.named(intent, kind, version)
            }
            (false, _) => {
                let replacement = self.replacement(kind);
                self.named(replacement, kind, version)
            }
        };
        let manager = if apply { applier.to_owned() } else { self.updater() };
        let manager = if self.history.random.one_in(150) { String::new() } else { manager };
        let gvk = Json::object()
            .with("group", kind.group.as_str())
            .with("version", version)
            .with("kind", kind.kind.as_str());
        let mut request = Json::object()
            .with("do", if apply { "apply" } else { "update" })
            .with("gvk", gvk)
            .with("subresource", subresource)
            .with("live", self.history.live.clone())
            .with("object", object)
            .with("manager", manager)
            .with("now", time(self.now))
            .with(kind.source, kind.document.clone());
        if apply && !self.history.random.one_in(3) {
            request.set("force", self.history.random.one_in(2));
        }
        request
    }

    fn learn(&mut self, request: &Json, answer: &Json) {
        let Some(object @ Json::Object(_)) = answer.get("object") else { return };
        let main = request.get("subresource").and_then(Json::as_str) == Some("");
        if request.get("do").and_then(Json::as_str) == Some("apply") && main {
            self.history.has_applied(request.get("object"));
        }
        let creates = self.history.live == Json::Null;
        if answer.get("changed") != Some(&Json::Bool(true)) && !creates {
            return;
        }
        self.history.live = object.clone();
        self.version += 1;
        if let Some(metadata @ Json::Object(_)) = self.history.live.get_mut("metadata") {
            metadata.set("resourceVersion", self.version.to_string());
            if creates {
                metadata.set("uid", "0b7ab0a5-0b1a-4b1c-8d7a-7d3f6c1e2f10");
                metadata.set("creationTimestamp", time(self.now));
                metadata.set("generation", 1);
            }
        }
    }
}

/// Seconds since 1970, as in managedFields.
fn time(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds).unwrap_or_default().to_string()
}
