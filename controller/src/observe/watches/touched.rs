//! Which Workload a change of a child concerns.

use baton_crd::{GROUP, Workload, labels};
use kube::{Resource, ResourceExt, runtime::reflector::ObjectRef};

use crate::observe::WatchedWorkload;

/// The Workload that a child's change concerns: its controller, or, where somebody removed that, the one that its label
/// names.
pub(super) fn workload_of(child: &impl ResourceExt) -> Option<ObjectRef<WatchedWorkload>> {
    let is_workload = |api_version: &str, kind: &str| {
        kind == Workload::kind(&()) && api_version.split('/').next() == Some(GROUP)
    };
    let owner = child.owner_references().iter().find(|owner| is_workload(&owner.api_version, &owner.kind));
    let name = owner.map(|owner| &owner.name).or_else(|| child.labels().get(labels::WORKLOAD))?;
    Some(ObjectRef::new(name).within(&child.namespace()?))
}

#[cfg(test)]
mod tests {
    use baton_apply::LiveObject;
    use serde_json::{Value, json};

    use super::*;

    fn concerned(metadata: &Value) -> Option<String> {
        let child = LiveObject::from_json(json!({"metadata": metadata})).unwrap();
        let workload = workload_of(&child)?;
        Some(format!("{}/{}", workload.namespace.unwrap_or_default(), workload.name))
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
}
