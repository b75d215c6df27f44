//! A Workload whose pods run.

use std::{collections::BTreeSet, net::SocketAddr};

use baton_testbed::Namespace;
use serde_json::Value;

use crate::shared::SharedNode;

/// Without an autoscaler.
pub const WEB: &str = include_str!("web.yaml");

/// With one that adds pods as soon as they use more than half of the CPU that they request.
pub fn autoscaled() -> String {
    let metric =
        "{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}";
    format!("{WEB}  autoscaling:\n    minReplicas: 2\n    maxReplicas: 5\n    metrics:\n      - {metric}\n")
}

/// The Workload `web` in a namespace of its own, which admits only restricted pods.
pub struct Web<'a> {
    shared: &'a SharedNode,
    pub namespace: Namespace,
}

impl<'a> Web<'a> {
    /// Applies it and waits until it is Ready.
    pub async fn start(shared: &'a SharedNode, manifest: &str) -> Self {
        let namespace = shared.cluster().namespace("shop").await.unwrap();
        shared
            .kubectl(&format!("label namespace {namespace} pod-security.kubernetes.io/enforce=restricted"))
            .await;
        let web = Self::of(shared, namespace);
        web.apply(manifest).await;
        web.ready(2).await;
        web
    }

    /// The Workload in this namespace.
    pub fn of(shared: &'a SharedNode, namespace: Namespace) -> Self {
        Self { shared, namespace }
    }

    /// Waits until each pod's container has restarted.
    pub async fn restarted(&self) {
        self.shared
            .eventually("the pods to restart", async || {
                let pods = self.get("pods").await;
                let statuses: Vec<&Value> = pods["items"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|pod| &pod["status"]["containerStatuses"][0])
                    .collect();
                let again =
                    |status: &&Value| status["restartCount"].as_i64() > Some(0) && status["ready"] == true;
                if statuses.iter().all(again) { Ok(()) } else { Err(format!("{statuses:?}")) }
            })
            .await;
    }

    pub async fn apply(&self, manifest: &str) {
        self.shared.apply(&self.namespace, manifest).await;
    }

    pub async fn get(&self, what: &str) -> Value {
        self.shared.get(&format!("{what} --namespace {}", self.namespace)).await
    }

    /// Waits until the Workload is Ready with so many pods, for its latest spec.
    pub async fn ready(&self, pods: i64) {
        self.shared
            .eventually(&format!("the Workload to be Ready with {pods} pods"), async || {
                let workload = self.get("workload web").await;
                let ready = is(&workload, "Ready", "True") && workload["status"]["readyReplicas"] == pods;
                if ready { Ok(()) } else { Err(workload["status"].to_string()) }
            })
            .await;
    }

    /// Waits until the Workload has this condition, for its latest spec.
    pub async fn condition(&self, kind: &str, status: &str) {
        self.shared
            .eventually(&format!("the condition {kind}={status}"), async || {
                let workload = self.get("workload web").await;
                if is(&workload, kind, status) { Ok(()) } else { Err(workload["status"].to_string()) }
            })
            .await;
    }

    /// Waits until there is an Event with this reason.
    pub async fn event(&self, reason: &str) {
        self.shared
            .eventually(&format!("the Event {reason}"), async || {
                let events = self.get("events").await;
                let mut all = events["items"].as_array().into_iter().flatten();
                if all.any(|event| event["reason"] == reason) { Ok(()) } else { Err(events.to_string()) }
            })
            .await;
    }

    /// Waits until Baton owns the replica count.
    pub async fn fixed(&self) {
        self.shared
            .eventually("Baton to own the replica count", async || {
                let workload = self.get("workload web").await;
                let ownership = &workload["status"]["replicaOwnership"];
                let current = workload["status"]["observedGeneration"] == workload["metadata"]["generation"];
                if current && ownership["phase"] == "Fixed" { Ok(()) } else { Err(ownership.to_string()) }
            })
            .await;
    }

    /// The addresses of the pods that aren't being deleted.
    pub async fn pods(&self) -> Vec<SocketAddr> {
        let pods = self.get("pods").await;
        let stays = |pod: &&Value| pod["metadata"]["deletionTimestamp"].is_null();
        let address = |pod: &Value| format!("{}:8080", pod["status"]["podIP"].as_str()?).parse().ok();
        pods["items"].as_array().unwrap().iter().filter(stays).filter_map(address).collect()
    }

    /// The names of the pods.
    pub async fn names(&self) -> Vec<String> {
        let pods = self.get("pods").await;
        let name = |pod: &Value| pod["metadata"]["name"].as_str().unwrap().to_owned();
        pods["items"].as_array().unwrap().iter().map(name).collect()
    }

    /// Loads each pod's CPU for so long.
    pub async fn load(&self, length: &str) {
        for pod in self.pods().await {
            self.shared.node.post(pod, &format!("/load?for={length}")).await.unwrap();
        }
    }

    /// Waits until so many different pods have responded through the Service.
    pub async fn serves(&self, pods: usize) {
        let service = self.get("service web").await;
        let address = service["spec"]["clusterIP"].as_str().unwrap();
        let address: SocketAddr = format!("{address}:80").parse().unwrap();
        self.shared
            .eventually(&format!("{pods} pods to respond through the Service"), async || {
                let mut responded = BTreeSet::new();
                for _ in 0..10 * pods {
                    responded
                        .insert(self.shared.node.get(address, "/").await.map_err(|error| error.to_string())?);
                }
                if responded.len() == pods { Ok(()) } else { Err(format!("{responded:?}")) }
            })
            .await;
    }
}

/// Whether a condition has this status for the latest spec.
fn is(workload: &Value, kind: &str, status: &str) -> bool {
    let conditions = workload["status"]["conditions"].as_array();
    conditions.into_iter().flatten().any(|condition| {
        condition["type"] == kind
            && condition["status"] == status
            && condition["observedGeneration"] == workload["metadata"]["generation"]
    })
}
