//! A Workload as the watch delivers it: as the API server returned it, and readable or not.
//!
//! One that this version can't read must not hide the others, so it is read only when its turn comes.

use std::borrow::Cow;

use baton_crd::{Workload, WorkloadSpec, WorkloadStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::Deserialize;
use serde_json::Value;

use super::packed::Packed;

/// A Workload in the cache.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct WatchedWorkload(Packed);

/// What a Workload says of itself, read without the rest of it.
#[derive(Deserialize)]
struct Reported {
    status: Option<Value>,
}

/// What others and Baton write in it.
#[derive(Deserialize)]
struct Written {
    spec: Value,
    status: Option<Value>,
}

impl WatchedWorkload {
    /// What can be read of its status, where there is one.
    pub(crate) fn status(&self) -> Option<WorkloadStatus> {
        self.0.read::<Reported>().ok()?.status.map(WorkloadStatus::readable)
    }

    /// The Workload, without its `managedFields`.
    ///
    /// # Errors
    /// When this version can't read it.
    pub(crate) fn read(&self) -> Result<Workload, serde_json::Error> {
        let Written { spec, status } = self.0.read()?;
        // An error of this says nothing of where in the text it is, which a status would move.
        let spec: WorkloadSpec = serde_json::from_value(spec)?;
        let status = status.map(WorkloadStatus::readable);
        Ok(Workload { metadata: self.meta().clone(), spec, status })
    }
}

impl Resource for WatchedWorkload {
    type DynamicType = ();
    type Scope = <Workload as Resource>::Scope;

    fn kind((): &()) -> Cow<'_, str> {
        Workload::kind(&())
    }

    fn group((): &()) -> Cow<'_, str> {
        Workload::group(&())
    }

    fn version((): &()) -> Cow<'_, str> {
        Workload::version(&())
    }

    fn plural((): &()) -> Cow<'_, str> {
        Workload::plural(&())
    }

    fn meta(&self) -> &ObjectMeta {
        self.0.meta()
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        self.0.meta_mut()
    }
}

#[cfg(test)]
mod tests {
    use kube::ResourceExt;
    use serde_json::{Value, json};

    use super::*;

    fn watched(spec: &Value) -> WatchedWorkload {
        let object = json!({
            "apiVersion": "baton.rs/v1alpha1",
            "kind": "Workload",
            "metadata": {"name": "web", "namespace": "shop", "uid": "u", "managedFields": [{"manager": "user"}]},
            "spec": spec,
            "status": {"replicas": 3},
        });
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn it_is_read_with_its_metadata_spec_and_status() {
        let workload = watched(&json!({"replicas": 3, "template": {}})).read().unwrap();
        assert_eq!(workload.name_any(), "web");
        assert_eq!(workload.spec.replicas, Some(3));
        assert_eq!(workload.status.unwrap().replicas, Some(3));
    }

    #[test]
    fn one_that_cannot_be_read_still_has_a_name_and_a_status() {
        let newer = watched(&json!({"replicas": "many", "template": {}}));
        assert!(newer.read().unwrap_err().to_string().contains("many"));
        assert_eq!(newer.name_any(), "web");
        assert_eq!(newer.status().unwrap().replicas, Some(3));
    }
}
