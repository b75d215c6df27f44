//! The merge core's input for a write: the request of the merge driver protocol.

use super::{
    PROFILE,
    edit::{at_mut, overlaid, perform},
    resource::{Resource, Schema},
    write::{Method, Owners, Write},
};
use crate::Json;

/// Fields that a server allocates after the field manager has processed a write, so that they have no owner.
const ALLOCATED: Paths = &[
    ("Namespace", &[&["spec"]]),
    (
        "Service",
        &[
            &["spec", "clusterIP"],
            &["spec", "clusterIPs"],
            &["spec", "ipFamilies"],
            &["spec", "ipFamilyPolicy"],
            &["spec", "ports", "nodePort"],
        ],
    ),
    (
        "Pod",
        &[
            &["spec", "serviceAccountName"],
            &["spec", "serviceAccount"],
            &["spec", "priority"],
            &["spec", "preemptionPolicy"],
            &["spec", "tolerations"],
        ],
    ),
];

/// Fields that are made for a new object only.
const GENERATED: Paths = &[
    ("Job", &[&["metadata", "labels"], &["spec", "selector"], &["spec", "template", "metadata"]]),
    ("PersistentVolumeClaim", &[&["metadata", "finalizers"], &["spec", "dataSourceRef"]]),
    ("PersistentVolume", &[&["metadata", "finalizers"]]),
];

/// Fields that a server drops later, since they belong to another type.
const DROPPED: Paths = &[(
    "Service",
    &[
        &["spec", "allocateLoadBalancerNodePorts"],
        &["spec", "externalTrafficPolicy"],
        &["spec", "ports", "nodePort"],
    ],
)];

/// Paths of plain fields, by kind.
type Paths = &'static [(&'static str, &'static [&'static [&'static str]])];

fn paths_of(paths: Paths, kind: &str) -> &'static [&'static [&'static str]] {
    paths.iter().find(|(name, _)| *name == kind).map_or(&[], |(_, paths)| paths)
}

/// Fields that change with each write that is stored.
pub(super) fn version_of(object: &Json) -> Option<&Json> {
    object.at(&["metadata", "resourceVersion"])
}

/// The change of a field after the field manager.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Later {
    /// The server gives it a value.
    Filled,
    /// The server takes it away.
    Dropped,
}

/// A write with the server's response.
pub(super) struct Answered<'a> {
    /// The object before, in the version of the write.
    pub(super) live: Option<&'a Json>,
    /// The object after; for a write of the scale its parent.
    pub(super) after: Option<&'a Json>,
    /// Whether anything is stored, or would be by a write that isn't tried only.
    pub(super) changed: bool,
    /// The server's time at the write, as RFC 3339.
    pub(super) now: &'a str,
}

/// The question to the merge core, or `None` where there is none: the object that an update leads to isn't known when the server
/// refuses it.
pub(super) fn question(resource: &Resource, write: &Write, answered: &Answered<'_>) -> Option<Json> {
    let object = match (write.is_apply(), write.subresource) {
        (true, _) => write.body.clone(),
        (false, "scale") => scale(write, answered)?,
        (false, _) => updated(resource, write, answered)?,
    };
    let gvk = Json::object()
        .with("group", resource.group.as_str())
        .with("version", resource.version.as_str())
        .with("kind", resource.kind.as_str());
    let mut question = Json::object()
        .with("do", if write.is_apply() { "apply" } else { "update" })
        .with("gvk", gvk)
        .with("subresource", write.subresource)
        .with("live", answered.live.cloned().unwrap_or(Json::Null))
        .with("object", object)
        .with("manager", write.manager.as_str())
        .with("now", answered.now)
        .with("profile", PROFILE);
    if let Method::Apply { force } = write.method {
        question.set("force", force);
    }
    match &resource.schema {
        Schema::OpenApi(file) => question.set("openapi", Json::object().with("file", file.as_str())),
        Schema::Crd(crd) => question.set("crd", crd.clone()),
    }
    Some(question)
}

/// The object as the field manager gets it: decoded and defaulted, but without what is allocated later.
fn updated(resource: &Resource, write: &Write, answered: &Answered<'_>) -> Option<Json> {
    let mut object = answered.after?.clone();
    // A write that changes nothing doesn't show what is allocated.
    if answered.changed {
        let mut sent = sent(write, answered.live);
        if resource.kind == "Pod" {
            mirror_account(&mut sent);
        }
        if resource.kind == "DaemonSet" {
            count_as_sent(&mut object, &sent);
        }
        for path in paths_of(ALLOCATED, &resource.kind) {
            as_sent(&mut object, &sent, path, Later::Filled);
        }
        for path in paths_of(DROPPED, &resource.kind) {
            as_sent(&mut object, &sent, path, Later::Dropped);
        }
        if answered.live.is_none() {
            for path in paths_of(GENERATED, &resource.kind) {
                as_sent(&mut object, &sent, path, Later::Filled);
            }
        }
    }
    if resource.is_custom() && write.subresource.is_empty() && resource.has_status {
        // It is put back later, but what is wrong in it costs the object its owners.
        match sent(write, answered.live).take("status") {
            Some(status) => object.set("status", status),
            None => drop(object.take("status")),
        }
    }
    let metadata = object.entry("metadata");
    metadata.take("managedFields");
    if let Some(version) = answered.live.and_then(|live| live.at(&["metadata", "resourceVersion"])) {
        metadata.set("resourceVersion", version.clone());
    }
    let owners = match &write.owners {
        Owners::Absent => None,
        Owners::Kept => answered.live.and_then(|live| live.at(&["metadata", "managedFields"])),
        Owners::Given(list) => Some(list),
    };
    if let Some(owners) = owners {
        metadata.set("managedFields", owners.clone());
    }
    Some(object)
}

/// A Pod's account has an older name, too, which gets the value of the newer one before the field manager sees it.
fn mirror_account(pod: &mut Json) {
    let account = pod.at(&["spec", "serviceAccountName"]).cloned();
    if let (Some(account), Some(spec)) = (account, pod.get_mut("spec")) {
        spec.set("serviceAccount", account);
    }
}

/// How often the template of a `DaemonSet` changed is counted later: before that it is what was sent, or nought.
fn count_as_sent(daemon_set: &mut Json, sent: &Json) {
    const COUNT: &str = "deprecated.daemonset.template.generation";
    let count = sent.at(&["metadata", "annotations", COUNT]).cloned().unwrap_or_else(|| Json::string("0"));
    daemon_set.entry("metadata").entry("annotations").set(COUNT, count);
}

/// The object that a write would store, with the fields that matter to allocations.
fn sent(write: &Write, live: Option<&Json>) -> Json {
    let live = live.unwrap_or(&Json::Null);
    match write.method {
        Method::MergePatch => overlaid(live, &write.body),
        // Lists are merged by their keys: an item of either is one of the result.
        Method::StrategicPatch => {
            let mut sent = overlaid(live, &write.body);
            let ports = live.at(&["spec", "ports"]).map(Json::items).unwrap_or_default();
            if let Some(Json::List(merged)) = at_mut(&mut sent, &["spec".to_owned(), "ports".to_owned()]) {
                merged.splice(0..0, ports.iter().cloned());
            }
            sent
        }
        Method::JsonPatch => {
            let mut sent = live.clone();
            write.body.items().iter().for_each(|operation| perform(&mut sent, operation));
            sent
        }
        _ => write.body.clone(),
    }
}

/// Undoes what happened to a field later: the object gets it as it was sent.
fn as_sent(object: &mut Json, sent: &Json, path: &[&str], later: Later) {
    let Some((name, rest)) = path.split_first() else { return };
    if let Json::List(items) = object {
        for item in items {
            let key = |port: &Json| {
                let protocol = port.get("protocol").and_then(Json::as_str).unwrap_or("TCP").to_owned();
                (port.get("port").cloned(), protocol)
            };
            let same = sent.items().iter().find(|other| key(other) == key(item));
            as_sent(item, same.unwrap_or(&Json::Null), path, later);
        }
        return;
    }
    let in_sent = sent.get(name).filter(|value| !value.is_empty() && **value != Json::Null);
    match (in_sent, rest, later) {
        (None, [], Later::Filled) => drop(object.take(name)),
        (Some(value), [], Later::Dropped) if object.get(name).is_none() => object.set(name, value.clone()),
        (_, [], _) => {}
        _ => {
            if let Some(child) = object.get_mut(name) {
                as_sent(child, in_sent.unwrap_or(&Json::Null), rest, later);
            }
        }
    }
}

/// The scale that an update brings.
fn scale(write: &Write, answered: &Answered<'_>) -> Option<Json> {
    if write.method == Method::Replace {
        return Some(write.body.clone());
    }
    let after = answered.after?;
    let mut metadata = Json::object();
    for name in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = answered.live.and_then(|live| live.at(&["metadata", name])) {
            metadata.set(name, value.clone());
        }
    }
    let number =
        |path: &[&str]| Json::object().with("replicas", after.at(path).cloned().unwrap_or(Json::from(0)));
    let scale = Json::object()
        .with("apiVersion", "autoscaling/v1")
        .with("kind", "Scale")
        .with("metadata", metadata)
        .with("spec", number(&["spec", "replicas"]))
        .with("status", number(&["status", "replicas"]));
    Some(scale)
}
