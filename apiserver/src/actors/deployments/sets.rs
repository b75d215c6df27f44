//! The new and the old ReplicaSets of a Deployment.

use serde_json::{Value, json};

use super::numbers::{max_surge, new_replicas};
use crate::actors::{
    Pass,
    client::Refused,
    object::{hash, int, is_controlled_by, name, namespace, reference_to, replicas, text},
};

const HASH: &str = "pod-template-hash";
pub(super) const REVISION: &str = "deployment.kubernetes.io/revision";
const HISTORY: &str = "deployment.kubernetes.io/revision-history";
pub(super) const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
pub(super) const MAX: &str = "deployment.kubernetes.io/max-replicas";
const SKIPPED: [&str; 6] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    HISTORY,
    DESIRED,
    MAX,
    "deprecated.deployment.rollback.to",
];
/// The longest revision history of a ReplicaSet, in bytes.
const MAX_HISTORY: usize = 2000;
const MAX_NAME: usize = 253;

/// The ReplicaSets of a Deployment.
pub(super) struct Sets {
    pub(super) new: Option<Value>,
    /// From the oldest to the newest.
    pub(super) old: Vec<Value>,
}

impl Sets {
    pub(super) fn of(deployment: &Value, mut sets: Vec<Value>) -> Self {
        sets.sort_by(|one, other| age(one).cmp(&age(other)));
        let wanted = without_hash(&deployment["spec"]["template"]);
        let place = sets.iter().position(|set| without_hash(&set["spec"]["template"]) == wanted);
        let new = place.map(|place| sets.remove(place));
        Self { new, old: sets }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Value> {
        self.old.iter().chain(&self.new)
    }

    /// The sum of a count over all ReplicaSets.
    pub(super) fn sum(&self, count: impl Fn(&Value) -> i64) -> i64 {
        self.all().map(count).sum()
    }
}

/// The sort key of ReplicaSets, from the oldest to the newest.
pub(super) fn age(set: &Value) -> (&str, &str) {
    (text(set, "/metadata/creationTimestamp"), name(set))
}

fn without_hash(template: &Value) -> Value {
    let mut template = template.clone();
    if let Some(metadata) = template.get_mut("metadata").and_then(Value::as_object_mut)
        && let Some(labels) = metadata.get_mut("labels").and_then(Value::as_object_mut)
    {
        labels.remove(HASH);
        if labels.is_empty() {
            metadata.remove("labels");
        }
    }
    template
}

pub(super) fn annotation<'v>(object: &'v Value, name: &str) -> Option<&'v str> {
    object.pointer("/metadata/annotations")?.get(name)?.as_str()
}

pub(super) fn annotate(object: &mut Value, name: &str, value: &str) -> bool {
    let is_new = annotation(object, name) != Some(value);
    if is_new {
        object["metadata"]["annotations"][name] = value.into();
    }
    is_new
}

pub(super) fn revision(set: &Value) -> i64 {
    annotation(set, REVISION).and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// Updates the annotations of the new ReplicaSet. Returns whether they changed.
pub(super) fn annotate_new(deployment: &Value, set: &mut Value, wanted: i64) -> bool {
    let mut has_changed = false;
    let own = deployment.pointer("/metadata/annotations").and_then(Value::as_object);
    for (name, value) in own.into_iter().flatten().filter(|(name, _)| !SKIPPED.contains(&name.as_str())) {
        has_changed |= annotate(set, name, value.as_str().unwrap_or_default());
    }
    let before = annotation(set, REVISION).map(str::to_owned);
    if revision(set) >= wanted {
        return has_changed;
    }
    if let Some(before) = before {
        let history = annotation(set, HISTORY).filter(|history| !history.is_empty());
        let history = history.map_or_else(|| before.clone(), |history| format!("{history},{before}"));
        let mut kept = history.as_str();
        while kept.len() > MAX_HISTORY {
            kept = kept.split_once(',').map_or("", |(_, rest)| rest);
        }
        let kept = kept.to_owned();
        annotate(set, HISTORY, &kept);
    }
    annotate(set, REVISION, &wanted.to_string());
    true
}

/// Records the Deployment's replica counts in a ReplicaSet. Returns whether they changed.
pub(super) fn annotate_replicas(deployment: &Value, set: &mut Value) -> bool {
    let wanted = replicas(deployment);
    let most = wanted + max_surge(deployment);
    let desired_changed = annotate(set, DESIRED, &wanted.to_string());
    annotate(set, MAX, &most.to_string()) || desired_changed
}

/// The new ReplicaSet of the current template, to be created.
pub(super) fn fresh(deployment: &Value, old: &[Value], revision: i64) -> Value {
    let hash = hash(&deployment["spec"]["template"], int(deployment, "/status/collisionCount"));
    let mut template = deployment["spec"]["template"].clone();
    template["metadata"]["labels"][HASH] = hash.as_str().into();
    let mut selector = deployment["spec"]["selector"].clone();
    selector["matchLabels"][HASH] = hash.as_str().into();
    let longest = MAX_NAME.saturating_sub(hash.len() + 1);
    let base = name(deployment).get(..longest).unwrap_or(name(deployment));
    let mut set = json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {
            "name": format!("{base}-{hash}"), "namespace": namespace(deployment),
            "labels": template["metadata"]["labels"], "ownerReferences": [reference_to(deployment)],
        },
        "spec": {
            "replicas": new_replicas(deployment, old.iter().map(replicas).sum(), 0),
            "selector": selector, "template": template,
        },
    });
    if let Some(seconds) = deployment.pointer("/spec/minReadySeconds") {
        set["spec"]["minReadySeconds"] = seconds.clone();
    }
    annotate_new(deployment, &mut set, revision);
    annotate_replicas(deployment, &mut set);
    set
}

/// Creates a ReplicaSet; none if a different one has its name.
pub(super) fn create(pass: &Pass<'_>, deployment: &Value, set: &Value) -> Result<Option<Value>, Refused> {
    match pass.create(set) {
        Err(refused) if refused.code == 409 => {
            let live = pass.live(set)?;
            let is_same = is_controlled_by(&live, deployment)
                && without_hash(&live["spec"]["template"]) == without_hash(&set["spec"]["template"]);
            Ok(is_same.then_some(live))
        }
        made => made.map(Some),
    }
}
