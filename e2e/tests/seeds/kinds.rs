//! All kinds that the server stores, with a small object of each.

use std::collections::{BTreeMap, BTreeSet};

use baton_e2e::scenario::Subject;
use baton_merge::yaml;
use baton_testbed::{PATIENCE, poll};
use k8s_openapi::{ByteString, api::core::v1::ServiceAccount};
use kube::{
    Api,
    api::{ApiResource, DynamicObject},
    discovery::{Discovery, Scope, verbs},
};
use serde_json::{Value, json};

/// A resource that can be created and listed, and a small object of it.
pub struct Stored {
    pub resource: ApiResource,
    pub namespaced: bool,
    /// Whether this is the version that its group prefers.
    pub preferred: bool,
    pub object: DynamicObject,
}

impl Stored {
    pub fn api(&self, s: &Subject) -> Api<DynamicObject> {
        let client = s.server().client().clone();
        if self.namespaced {
            Api::namespaced_with(client, s.namespace(), &self.resource)
        } else {
            Api::all_with(client, &self.resource)
        }
    }

    pub fn name(&self) -> &str {
        self.object.metadata.name.as_deref().unwrap_or_default()
    }

    pub fn text(&self) -> String {
        format!("{} {}", self.resource.api_version, self.resource.kind)
    }
}

/// All kinds that the server stores, except for those that scenarios define.
pub async fn everything(s: &Subject) -> Vec<Stored> {
    // Pods need it.
    let accounts: Api<ServiceAccount> = Api::namespaced(s.server().client().clone(), s.namespace());
    poll(PATIENCE, async || accounts.get("default").await).await.unwrap();
    let request = rcgen::CertificateParams::default().serialize_request(&rcgen::KeyPair::generate().unwrap());
    let request = ByteString(request.unwrap().pem().unwrap().into_bytes());
    let bodies = include_str!("kinds.yaml")
        .replace("$NAMESPACE", s.namespace())
        .replace("$REQUEST", json!(request).as_str().unwrap());
    let mut bodies: BTreeMap<String, Value> = yaml::from_str(&bodies).unwrap();
    let discovery =
        Discovery::new(s.server().client().clone()).exclude(&["example.com"]).run().await.unwrap();
    let mut stored = Vec::new();
    let mut known = BTreeSet::new();
    for group in discovery.groups() {
        for (resource, capabilities) in
            group.versions().flat_map(|version| group.versioned_resources(version))
        {
            if ![verbs::CREATE, verbs::LIST].iter().all(|verb| capabilities.supports_operation(verb)) {
                continue;
            }
            let key = [&resource.group, &resource.plural].map(String::as_str).join("/");
            let key = key.trim_start_matches('/').to_owned();
            let mut object = bodies.get(&key).unwrap_or_else(|| panic!("kinds.yaml has no {key}")).clone();
            object["apiVersion"] = json!(resource.api_version);
            object["kind"] = json!(resource.kind);
            if object["metadata"].is_null() {
                // An object outside namespaces needs a name that other scenarios don't use.
                object["metadata"] = json!({"name": format!("{}-stored", s.namespace())});
            }
            known.insert(key);
            let namespaced = capabilities.scope == Scope::Namespaced;
            let preferred = resource.version == group.preferred_version_or_latest();
            let object = serde_json::from_value(object).unwrap();
            stored.push(Stored { resource, namespaced, preferred, object });
        }
    }
    bodies.retain(|key, _| !known.contains(key));
    assert!(bodies.is_empty(), "the server doesn't have {:?}", bodies.keys());
    stored
}
