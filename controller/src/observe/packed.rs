//! A live object as the caches keep it: as JSON text.
//!
//! As a tree of values it would take some ten times as much memory, most of it for `managedFields`, which are maps in maps with
//! one entry each. It is read again when its turn comes, which is cheap beside what is then done with it. Metadata is at hand at
//! any time, but for `managedFields`.

use std::{borrow::Cow, sync::Arc};

use baton_apply::LiveObject;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource, core::ApiResource};
use serde::{Deserialize, Deserializer, de::DeserializeOwned};

/// An object in a cache.
#[derive(Clone, Debug)]
pub(crate) struct Packed(Arc<PackedObject>);

#[derive(Clone, Debug)]
struct PackedObject {
    metadata: ObjectMeta,
    text: Box<str>,
}

impl Packed {
    pub(crate) fn new(live: &LiveObject) -> Self {
        let (metadata, text) = (live.meta().clone(), live.as_json().to_string().into_boxed_str());
        Self(Arc::new(PackedObject { metadata, text }))
    }

    /// As much of the object as `T` asks for; the rest is passed over.
    ///
    /// # Errors
    /// When it isn't what `T` can hold.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(&self.0.text)
    }

    /// The object as the API server returned it.
    pub(crate) fn unpack(&self) -> LiveObject {
        self.read().and_then(LiveObject::from_json).expect("the text was written from such an object")
    }
}

impl<'de> Deserialize<'de> for Packed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        LiveObject::deserialize(deserializer).map(|live| Self::new(&live))
    }
}

impl Resource for Packed {
    type DynamicType = ApiResource;
    type Scope = <LiveObject as Resource>::Scope;

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        LiveObject::kind(resource)
    }

    fn group(resource: &ApiResource) -> Cow<'_, str> {
        LiveObject::group(resource)
    }

    fn version(resource: &ApiResource) -> Cow<'_, str> {
        LiveObject::version(resource)
    }

    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        LiveObject::plural(resource)
    }

    fn meta(&self) -> &ObjectMeta {
        &self.0.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut Arc::make_mut(&mut self.0).metadata
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_comes_out_as_it_went_in() {
        let object = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {
                "name": "web", "namespace": "shop", "labels": {"a": "b"},
                "managedFields": [{"manager": "baton", "fieldsV1": {"f:spec": {"f:replicas": {}}}}],
            },
            "spec": {"replicas": 3, "share": 0.1, "large": 9_007_199_254_740_993_i64, "text": "\u{1f3ad} \"\n\u{0}"},
        });
        let packed: Packed = serde_json::from_value(object.clone()).unwrap();
        assert_eq!(packed.meta().name.as_deref(), Some("web"));
        assert_eq!(packed.meta().managed_fields, None, "that stays in the text");
        assert_eq!(packed.unpack().as_json(), &object);
    }
}
