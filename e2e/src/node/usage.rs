//! What containers use of memory and CPU, by the kubelet's own figures. It judges nothing.

use std::time::Duration;

use hyper::Request;
use jiff::Timestamp;
use kube::Client;
use serde::Deserialize;

use super::Node;
use crate::Error;

/// What one container uses.
#[derive(Clone, Debug)]
pub struct Usage {
    /// The pod's namespace.
    pub namespace: String,
    /// The pod.
    pub pod: String,
    /// The container.
    pub container: String,
    /// When the figures were taken: the kubelet looks every few seconds.
    pub at: Timestamp,
    /// The working set in bytes: what the kernel couldn't take back without the container noticing. It is what counts
    /// against a limit, and what `kubectl top` shows.
    pub memory: u64,
    /// The processor's time that the container has had since it started.
    pub cpu: Duration,
}

impl Usage {
    /// The CPU used from an earlier figure to this one, in thousandths of a processor; `None` if no time has passed.
    pub fn millicores_since(&self, earlier: &Self) -> Option<f64> {
        let passed = self.at.duration_since(earlier.at).as_secs_f64();
        let used = self.cpu.saturating_sub(earlier.cpu).as_secs_f64();
        (passed > 0.0).then(|| used / passed * 1000.0)
    }
}

impl Node {
    /// What each container uses at the moment. A container that just started may be missing.
    ///
    /// # Errors
    /// When the kubelet doesn't tell.
    pub async fn usage(&self) -> Result<Vec<Usage>, Error> {
        let path = format!("/api/v1/nodes/{}/proxy/stats/summary?only_cpu_and_memory=true", Self::NAME);
        let summary = summary(&self.control_plane().admin().await?, &path).await?;
        let mut found = Vec::new();
        for pod in summary.pods {
            for container in pod.containers {
                let (Some(cpu), Some(memory)) = (container.cpu, container.memory) else { continue };
                let (Some(nanos), Some(bytes)) = (cpu.usage_core_nano_seconds, memory.working_set_bytes)
                else {
                    continue;
                };
                found.push(Usage {
                    namespace: pod.pod_ref.namespace.clone(),
                    pod: pod.pod_ref.name.clone(),
                    container: container.name,
                    at: cpu.time,
                    memory: bytes,
                    cpu: Duration::from_nanos(nanos),
                });
            }
        }
        Ok(found)
    }
}

async fn summary(client: &Client, path: &str) -> Result<Summary, Error> {
    let asked = || format!("ask the kubelet at {path}");
    let request = Request::get(path).body(Vec::new()).map_err(Error::parse(asked()))?;
    client.request(request).await.map_err(Error::api(asked()))
}

/// The kubelet's stats summary, as far as it matters here.
#[derive(Deserialize)]
struct Summary {
    pods: Vec<Pod>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pod {
    pod_ref: Reference,
    #[serde(default)]
    containers: Vec<Container>,
}

#[derive(Deserialize)]
struct Reference {
    name: String,
    namespace: String,
}

#[derive(Deserialize)]
struct Container {
    name: String,
    cpu: Option<Cpu>,
    memory: Option<Memory>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Cpu {
    time: Timestamp,
    usage_core_nano_seconds: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Memory {
    working_set_bytes: Option<u64>,
}
