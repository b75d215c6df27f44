//! Namespace deletion: deletes the content, then the namespace. After `pkg/controller/namespace/deletion`.

use std::collections::BTreeMap;

use http::Method;
use serde_json::{Value, json};

use super::{
    Controller, Pass,
    client::path_of,
    object::{is_deleted, items, name, namespace, set_condition},
    view::Object,
};
use crate::registry::Resource;

pub(super) struct Namespaces;

const FINALIZER: &str = "kubernetes";

/// The conditions of a deletion without problems: type, reason and message, in order.
const FINE: [(&str, &str, &str); 5] = [
    ("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
    (
        "NamespaceDeletionGroupVersionParsingFailure",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    (
        "NamespaceDeletionContentFailure",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    ("NamespaceContentRemaining", "ContentRemoved", "All content successfully removed"),
    ("NamespaceFinalizersRemaining", "ContentHasNoFinalizers", "All content-preserving finalizers finished"),
];

impl Controller for Namespaces {
    fn act(&mut self, pass: &mut Pass<'_>) {
        for namespace in pass.list("", "namespaces") {
            let is_held = items(&namespace, "/spec/finalizers").iter().any(|own| own == FINALIZER);
            if is_deleted(&namespace) && is_held {
                end(pass, &namespace);
            }
        }
    }
}

/// The content that is left in a namespace.
#[derive(Default)]
struct Remaining {
    /// The count of objects by resource.
    objects: BTreeMap<String, usize>,
    /// The count of objects by finalizer.
    finalizers: BTreeMap<String, usize>,
    failures: Vec<String>,
}

fn end(pass: &mut Pass<'_>, space: &Object) {
    let mut remaining = Remaining::default();
    let registry = pass.server.registry();
    let deletable = |resource: &Resource| resource.namespaced && resource.allows("delete");
    let (pods, others): (Vec<_>, Vec<_>) = registry
        .preferred()
        .filter(|resource| deletable(resource))
        .partition(|resource| resource.is("", "Pod"));
    for pods in pods {
        empty(pass, pods, name(space), &mut remaining);
    }
    // Other resources wait until no pods are left. Until then the conditions don't mention them.
    let waits_for_pods = !remaining.objects.is_empty();
    if waits_for_pods {
        remaining.objects.clear();
        remaining.finalizers.clear();
    } else {
        for resource in others {
            empty(pass, resource, name(space), &mut remaining);
        }
    }
    let is_empty = !waits_for_pods && remaining.objects.is_empty() && remaining.failures.is_empty();
    let mut updated = (**space).clone();
    let mut conditions = items(space, "/status/conditions").to_vec();
    let now = pass.server.now();
    for condition in remaining.conditions() {
        set_condition(&mut conditions, condition, now);
    }
    if conditions != items(space, "/status/conditions") {
        updated["status"]["conditions"] = conditions.into();
        match pass.update(&updated, "status") {
            Ok(stored) => updated = stored,
            Err(_) => return pass.retry(),
        }
    }
    if is_empty {
        let others = items(space, "/spec/finalizers").iter().filter(|own| *own != FINALIZER);
        updated["spec"]["finalizers"] = others.cloned().collect();
        if pass.update(&updated, "finalize").is_err() {
            pass.retry();
        }
    }
}

/// Deletes the objects of a resource in a namespace, and records those that stay.
fn empty(pass: &mut Pass<'_>, resource: &Resource, space: &str, remaining: &mut Remaining) {
    let is_inside = |object: &Object| namespace(object) == space;
    if !pass.all(resource).iter().any(is_inside) {
        return;
    }
    let path = path_of(resource, space, "", "");
    if let Err(refused) = pass.request(Method::DELETE, path, "application/json", &json!({})) {
        remaining.failures.push(refused.message);
    }
    let left: Vec<_> = pass.all(resource).into_iter().filter(is_inside).collect();
    if left.is_empty() {
        return;
    }
    remaining.objects.insert(format!("{}.{}", resource.plural, resource.gvk.group), left.len());
    for finalizer in left.iter().flat_map(|object| items(object, "/metadata/finalizers")) {
        *remaining.finalizers.entry(finalizer.as_str().unwrap_or_default().to_owned()).or_default() += 1;
    }
}

impl Remaining {
    fn conditions(&self) -> impl Iterator<Item = Value> {
        FINE.into_iter().map(|(kind, reason, message)| match self.problem(kind) {
            Some((reason, message)) => {
                json!({"type": kind, "status": "True", "reason": reason, "message": message})
            }
            None => json!({"type": kind, "status": "False", "reason": reason, "message": message}),
        })
    }

    fn problem(&self, kind: &str) -> Option<(&'static str, String)> {
        let listed = |counts: &BTreeMap<String, usize>, what: &str| {
            let parts = counts.iter().map(|(of, count)| format!("{of} {what} {count} resource instances"));
            parts.collect::<Vec<_>>().join(", ")
        };
        match kind {
            "NamespaceDeletionContentFailure" if !self.failures.is_empty() => {
                let (count, all) = (self.failures.len(), self.failures.join(", "));
                let message = format!("Failed to delete all resource types, {count} remaining: {all}");
                Some(("ContentDeletionFailed", message))
            }
            "NamespaceContentRemaining" if !self.objects.is_empty() => {
                let message = format!("Some resources are remaining: {}", listed(&self.objects, "has"));
                Some(("SomeResourcesRemain", message))
            }
            "NamespaceFinalizersRemaining" if !self.finalizers.is_empty() => {
                let left = listed(&self.finalizers, "in");
                let message = format!("Some content in the namespace has finalizers remaining: {left}");
                Some(("SomeFinalizersRemain", message))
            }
            _ => None,
        }
    }
}
