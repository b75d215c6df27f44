//! An operator for some namespaces and some labels: what is in its scope it makes, and all else it leaves as it is.
#![allow(missing_docs, clippy::unwrap_used)]

use std::time::Duration;

use baton_crd::Workload;
use baton_e2e::{Operator, OperatorOptions};
use baton_testbed::{ControlPlane, Namespace, poll};
use k8s_openapi::api::apps::v1::Deployment;
use kube::{
    Api, Client,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::json;

/// Longer than anything takes on a slow machine.
const PATIENCE: Duration = Duration::from_mins(1);

struct Place {
    client: Client,
    namespace: Namespace,
}

impl Place {
    async fn new(cluster: &ControlPlane) -> Self {
        let (client, namespace) = (cluster.admin().await.unwrap(), cluster.namespace("scope").await.unwrap());
        Self { client, namespace }
    }

    fn workloads(&self) -> Api<Workload> {
        Api::namespaced(self.client.clone(), self.namespace.name())
    }

    fn deployments(&self) -> Api<Deployment> {
        Api::namespaced(self.client.clone(), self.namespace.name())
    }

    /// Applies a Workload of this team with this image.
    async fn apply(&self, name: &str, team: &str, image: &str) {
        let workload = json!({
            "apiVersion": "baton.rs/v1alpha1",
            "kind": "Workload",
            "metadata": {"name": name, "labels": {"team": team}},
            "spec": {"replicas": 0, "template": {"spec": {"containers": [{"name": "app", "image": image}]}}},
        });
        self.workloads().patch(name, &PatchParams::apply("user"), &Patch::Apply(&workload)).await.unwrap();
    }

    /// The image that a Deployment runs, if it is there.
    async fn image(&self, name: &str) -> Option<String> {
        let spec = self.deployments().get_opt(name).await.unwrap()?.spec?;
        spec.template.spec?.containers.into_iter().next()?.image
    }

    async fn runs(&self, name: &str, image: &str) {
        let outcome = poll(PATIENCE, Duration::from_millis(50), async || {
            let seen = self.image(name).await;
            if seen.as_deref() == Some(image) { Ok(()) } else { Err(seen) }
        });
        if let Err(seen) = outcome.await {
            panic!("waited in vain for {image} in {}/{name}; last seen: {seen:?}", self.namespace);
        }
    }
}

#[tokio::test]
async fn only_what_is_in_a_watched_namespace_and_matches_the_selector_is_made() {
    let cluster = ControlPlane::shared().await;
    let (one, two, other) = (Place::new(cluster).await, Place::new(cluster).await, Place::new(cluster).await);
    let args = [
        "--namespace".to_owned(),
        format!("{},{}", one.namespace, two.namespace),
        "--selector".to_owned(),
        "team in (a, b)".to_owned(),
    ];
    let options = OperatorOptions { args: args.to_vec(), ..OperatorOptions::default() };
    let _operator = Operator::start(cluster, options).await.unwrap();
    other.apply("web", "a", "app:1").await;
    one.apply("stays", "a", "app:1").await;
    one.runs("stays", "app:1").await;
    one.apply("web", "a", "app:1").await;
    two.apply("web", "b", "app:1").await;
    two.apply("alien", "c", "app:1").await;
    one.runs("web", "app:1").await;
    two.runs("web", "app:1").await;

    // It changes hands, and the image with it.
    one.apply("web", "c", "app:2").await;
    // Children are watched in both namespaces, whichever was listed last.
    for place in [&one, &two] {
        place.deployments().delete("stays", &DeleteParams::default()).await.ok();
        place.deployments().delete("web", &DeleteParams::default()).await.ok();
    }
    one.runs("stays", "app:1").await;
    two.runs("web", "app:1").await;
    assert_eq!(one.image("web").await, None, "nobody's by now");

    one.apply("web", "a", "app:2").await;
    one.runs("web", "app:2").await;
    one.apply("web", "c", "app:3").await;
    two.apply("web", "b", "app:2").await;
    two.runs("web", "app:2").await;
    assert_eq!(one.image("web").await.as_deref(), Some("app:2"), "its children stay as they are");
    assert_eq!(two.image("alien").await, None);
    assert_eq!(other.image("web").await, None);
}
