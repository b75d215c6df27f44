//! The Workloads of the bench: each with two containers, a Service, an autoscaler and a disruption budget.

use std::time::{Duration, Instant};

use baton_crd::Workload;
use baton_testbed::Error;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::{
    apps::v1::Deployment, autoscaling::v2::HorizontalPodAutoscaler, core::v1::Namespace, core::v1::Service,
    policy::v1::PodDisruptionBudget,
};
use kube::{
    Api, Client, Resource,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
    core::{ApiResource, DynamicObject, ObjectList, PartialObjectMeta},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::timeline::Observer;

/// A Workload, with the part of its status that counts here.
pub type Object = kube::core::Object<Value, Status>;

/// The part of a Workload's status.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The generation that it is about.
    pub observed_generation: Option<i64>,
}

/// How many Workloads are in a namespace.
const IN_A_NAMESPACE: u32 = 100;
/// How many requests are under way at the same time.
const AT_ONCE: usize = 16;
/// How often a failed request is retried.
const RETRIES: u32 = 5;
/// The pause before a retry.
const PAUSE: Duration = Duration::from_secs(1);

/// Creates and changes Workloads.
pub struct Load<'a> {
    client: Client,
    observer: &'a Observer,
    count: u32,
}

/// How many objects of each kind of child exist in the cluster.
pub type Children = [u64; 4];

impl<'a> Load<'a> {
    /// For so many Workloads, which the observer follows.
    pub fn new(client: Client, observer: &'a Observer, count: u32) -> Self {
        Self { client, observer, count }
    }

    /// Creates the namespaces.
    pub async fn prepare(&self) -> Result<(), Error> {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        self.each_namespace(async |name: String| {
            let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": name}}))
                .map_err(Error::parse("a namespace"))?;
            let created = namespaces.create(&PostParams::default(), &namespace).await;
            created.map(drop).map_err(Error::api("create a namespace"))
        })
        .await
    }

    /// Creates all.
    pub async fn create(&self) -> Result<(), Error> {
        let create = async |number| {
            let workload = Object::new(&name(number), &resource(), spec(number));
            let created = self.api(number).create(&PostParams::default(), &workload).await;
            self.asked(number, created)
        };
        stream::iter(0..self.count).map(create).buffer_unordered(AT_ONCE).try_collect().await
    }

    /// Gives all another image.
    pub async fn edit(&self, image: &str) -> Result<(), Error> {
        let edit = async |number| self.edit_one(number, image).await;
        stream::iter(0..self.count).map(edit).buffer_unordered(AT_ONCE).try_collect().await
    }

    /// Gives one another image.
    pub async fn edit_one(&self, number: u32, image: &str) -> Result<(), Error> {
        let patch =
            json!([{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": image}]);
        let patch = Patch::<Value>::Json(serde_json::from_value(patch).map_err(Error::parse("a patch"))?);
        let (api, name, params) = (self.api(number), name(number), PatchParams::default());
        self.asked(number, patiently(async || api.patch(&name, &params, &patch).await).await)
    }

    /// Deletes all.
    pub async fn delete(&self) -> Result<(), Error> {
        self.each_namespace(async |namespace: String| {
            let workloads = api_in(self.client.clone(), &namespace);
            let (how, which) = (DeleteParams::background(), ListParams::default());
            let deleted = patiently(async || workloads.delete_collection(&how, &which).await).await;
            deleted.map(drop).map_err(Error::api("delete the Workloads of a namespace"))
        })
        .await
    }

    /// Counts the objects of the children's kinds.
    pub async fn children(&self) -> Result<Children, Error> {
        Ok([
            self.objects::<Deployment>().await?,
            self.objects::<Service>().await?,
            self.objects::<HorizontalPodAutoscaler>().await?,
            self.objects::<PodDisruptionBudget>().await?,
        ])
    }

    /// The version of the whole cluster, which grows with each write.
    pub async fn version(&self) -> Result<u64, Error> {
        let version = self.list_one::<Namespace>().await?.metadata.resource_version.unwrap_or_default();
        version.parse().map_err(Error::parse("a resourceVersion"))
    }

    async fn objects<K: Resource<DynamicType = ()>>(&self) -> Result<u64, Error> {
        let list = self.list_one::<K>().await?;
        let remaining = list.metadata.remaining_item_count.unwrap_or(0);
        Ok(u64::try_from(remaining).unwrap_or(0) + list.items.len() as u64)
    }

    /// A list of one object, whose metadata has the number of others.
    async fn list_one<K: Resource<DynamicType = ()>>(
        &self,
    ) -> Result<ObjectList<PartialObjectMeta<DynamicObject>>, Error> {
        let all: Api<DynamicObject> = Api::all_with(self.client.clone(), &ApiResource::erase::<K>(&()));
        let list = patiently(async || all.list_metadata(&ListParams::default().limit(1)).await).await;
        list.map_err(Error::api(format!("list the {}", K::plural(&()))))
    }

    async fn each_namespace(&self, act: impl AsyncFn(String) -> Result<(), Error>) -> Result<(), Error> {
        for number in 0..self.count.div_ceil(IN_A_NAMESPACE) {
            act(format!("scale-{number}")).await?;
        }
        Ok(())
    }

    fn api(&self, number: u32) -> Api<Object> {
        api_in(self.client.clone(), &format!("scale-{}", number / IN_A_NAMESPACE))
    }

    fn asked(&self, number: u32, response: kube::Result<Object>) -> Result<(), Error> {
        let at = Instant::now();
        let workload = response.map_err(Error::api(format!("write the Workload {}", name(number))))?;
        let generation = workload.metadata.generation.unwrap_or(0);
        self.observer.with(|timeline| timeline.asked(&name(number), generation, at));
        Ok(())
    }
}

/// Sends a request that may safely be retried: a server under load sometimes closes an idle connection, or gets no response from
/// etcd in time.
async fn patiently<T>(send: impl AsyncFn() -> kube::Result<T>) -> kube::Result<T> {
    for _ in 0..RETRIES {
        match send().await {
            Err(kube::Error::Service(_)) => {}
            Err(kube::Error::Api(status)) if status.code >= 500 => {}
            done => return done,
        }
        sleep(PAUSE).await;
    }
    send().await
}

/// The Workloads of all namespaces.
pub fn api(client: Client) -> Api<Object> {
    Api::all_with(client, &resource())
}

fn api_in(client: Client, namespace: &str) -> Api<Object> {
    Api::namespaced_with(client, namespace, &resource())
}

fn resource() -> ApiResource {
    ApiResource::erase::<Workload>(&())
}

fn name(number: u32) -> String {
    format!("web-{number}")
}

/// A spec with the usual fields.
fn spec(number: u32) -> Value {
    json!({
        "template": {
            "metadata": {"labels": {"team": "shop"}},
            "spec": {"containers": [
                {
                    "name": "app",
                    "image": "registry.example/shop/app:1.0.0",
                    "env": [
                        {"name": "MODE", "value": "fast"},
                        {"name": "SHARD", "value": number.to_string()},
                        {"name": "DATABASE_HOST", "value": "postgres.databases.svc"},
                        {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                    ],
                    "ports": [{"name": "http", "containerPort": 8080}],
                    "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
                    "readinessProbe": {"httpGet": {"path": "/ready", "port": "http"}},
                    "livenessProbe": {"httpGet": {"path": "/live", "port": "http"}, "initialDelaySeconds": 10},
                    "securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true},
                    "volumeMounts": [{"name": "scratch", "mountPath": "/tmp"}],
                },
                {
                    "name": "proxy",
                    "image": "registry.example/mesh/proxy:2.4.1",
                    "args": ["--listen=:15001", "--upstream=127.0.0.1:8080"],
                    "ports": [{"name": "proxy", "containerPort": 15001}],
                    "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}},
                },
            ], "volumes": [{"name": "scratch", "emptyDir": {}}]},
        },
        "service": {"ports": [{"name": "http", "port": 80, "targetPort": "http"}]},
        // No pod ever runs here. The status shows that only after the deadline, in a day.
        "rollout": {"progressDeadlineSeconds": 86400},
        // One pod, so that a thousand Workloads don't need thousands of nodes, and the autoscaler has nothing to do.
        "autoscaling": {
            "minReplicas": 1,
            "maxReplicas": 10,
            "metrics": [{
                "type": "Resource",
                "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}},
            }],
        },
        "disruptionBudget": {"maxUnavailable": 1},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spec_is_that_of_a_workload() {
        let workload = json!({"metadata": {"name": name(7)}, "spec": spec(7)});
        let workload: Workload = serde_json::from_value(workload).unwrap();
        let template = serde_json::to_value(&workload.spec.template).unwrap();
        assert_eq!(template["spec"]["containers"].as_array().map(Vec::len), Some(2));
        assert!(workload.spec.service.is_some() && workload.spec.disruption_budget.is_some());
    }
}
