//! Which Workloads an event of a watch concerns.

use baton_crd::{GROUP, Workload, labels};
use futures::{Stream, StreamExt, stream};
use kube::{
    Resource, ResourceExt,
    runtime::{
        reflector::{ObjectRef, Store},
        watcher::{self, Event},
    },
};

use crate::observe::WatchedWorkload;

/// The Workloads that a watch's events concern. Those of a list come together at its end, when the cache has them.
///
/// What was deleted while the watch was broken is in no event, so a list after the first concerns all Workloads.
pub(super) fn touched<K>(
    events: impl Stream<Item = watcher::Result<Event<K>>> + Send + 'static,
    concerned: impl Fn(&K) -> Option<ObjectRef<WatchedWorkload>> + Send + 'static,
    workloads: Store<WatchedWorkload>,
) -> impl Stream<Item = ObjectRef<WatchedWorkload>> + Send + 'static
where
    K: Send + 'static,
{
    let (mut listed, mut is_first) = (Vec::new(), true);
    // Errors are told where the watch is watched.
    events
        .map(move |event| match event {
            Ok(Event::Apply(object) | Event::Delete(object)) => concerned(&object).into_iter().collect(),
            Ok(Event::Init) => {
                listed.clear();
                Vec::new()
            }
            Ok(Event::InitApply(object)) => {
                listed.extend(concerned(&object));
                Vec::new()
            }
            Ok(Event::InitDone) => {
                let mut all = std::mem::take(&mut listed);
                if !std::mem::take(&mut is_first) {
                    all.extend(workloads.state().iter().map(|workload| ObjectRef::from_obj(&**workload)));
                }
                all
            }
            Err(_) => Vec::new(),
        })
        .flat_map(stream::iter)
}

/// The Workload that a child's change concerns: its controller, or, where somebody removed that, the one that its label
/// names.
pub(crate) fn workload_of(child: &impl ResourceExt) -> Option<ObjectRef<WatchedWorkload>> {
    let is_workload = |api_version: &str, kind: &str| {
        kind == Workload::kind(&()) && api_version.split('/').next() == Some(GROUP)
    };
    let owner = child.owner_references().iter().find(|owner| is_workload(&owner.api_version, &owner.kind));
    let name = owner.map(|owner| &owner.name).or_else(|| child.labels().get(labels::WORKLOAD))?;
    Some(ObjectRef::new(name).within(&child.namespace()?))
}

#[cfg(test)]
mod tests {
    use kube::runtime::reflector;
    use baton_apply::LiveObject;
    use serde_json::{Value, json};

    use super::*;

    fn child(metadata: &Value) -> LiveObject {
        LiveObject::from_json(json!({"metadata": metadata})).unwrap()
    }

    fn told(reference: &ObjectRef<WatchedWorkload>) -> String {
        format!("{}/{}", reference.namespace.as_deref().unwrap_or_default(), reference.name)
    }

    fn concerned(metadata: &Value) -> Option<String> {
        workload_of(&child(metadata)).as_ref().map(told)
    }

    #[test]
    fn a_child_concerns_its_owner_and_else_the_workload_that_its_label_names() {
        let owner =
            json!([{"apiVersion": "baton.rs/v1alpha1", "kind": "Workload", "name": "web", "uid": "u"}]);
        let labels = json!({"baton.rs/workload": "other"});
        let metadata = json!({"name": "x", "namespace": "ns", "ownerReferences": owner, "labels": labels});
        assert_eq!(concerned(&metadata).as_deref(), Some("ns/web"));
        let metadata = json!({"name": "x", "namespace": "ns", "labels": labels});
        assert_eq!(concerned(&metadata).as_deref(), Some("ns/other"));
    }

    #[test]
    fn an_owner_of_another_group_is_not_a_workload_of_baton() {
        let owner =
            json!([{"apiVersion": "other.example/v1", "kind": "Workload", "name": "web", "uid": "u"}]);
        assert_eq!(concerned(&json!({"name": "x", "namespace": "ns", "ownerReferences": owner})), None);
    }

    #[tokio::test]
    async fn a_later_list_concerns_every_workload_since_what_was_deleted_is_not_in_it() {
        let (workloads, mut cache) = reflector::store();
        let silent = json!({"metadata": {"name": "silent", "namespace": "ns"}});
        cache.apply_watcher_event(&Event::Apply(serde_json::from_value(silent).unwrap()));
        let of = |name: &str| {
            child(&json!({"namespace": "ns", "labels": {"baton.rs/workload": name}, "name": name}))
        };
        let events = [
            Event::Init,
            Event::InitApply(of("web")),
            Event::InitDone,
            Event::Delete(of("api")),
            Event::Init,
            Event::InitDone,
        ];
        let told: Vec<_> = touched(stream::iter(events.map(Ok)), workload_of, workloads)
            .map(|one| told(&one))
            .collect()
            .await;
        assert_eq!(told, ["ns/web", "ns/api", "ns/silent"]);
    }
}
