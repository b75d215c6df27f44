//! The memory and the CPU that containers use, by the kubelet's own figures.

use std::time::Duration;

use hyper::Request;
use jiff::Timestamp;
use kube::Client;
use serde::Deserialize;

use super::Node;
use crate::Error;

/// The usage of one container.
#[derive(Clone, Debug)]
pub struct Usage {
    /// The pod's namespace.
    pub namespace: String,
    /// The pod.
    pub pod: String,
    /// The container.
    pub container: String,
    /// When the figures were taken: the kubelet measures every few seconds.
    pub at: Timestamp,
    /// The working set in bytes: what the kernel couldn't take back without the container noticing. It is what counts
    /// against a limit, and what `kubectl top` shows.
    pub memory: u64,
    /// That part of it which is the process's own, in bytes: no file is behind it.
    pub anonymous: u64,
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
    /// The current usage of each container. A container that just started may be missing.
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
                    anonymous: memory.rss_bytes.unwrap_or_default(),
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
    rss_bytes: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(second: i64, cpu: u64) -> Usage {
        Usage {
            namespace: "shop".to_owned(),
            pod: "web".to_owned(),
            container: "web".to_owned(),
            at: Timestamp::from_second(second).unwrap(),
            memory: 0,
            anonymous: 0,
            cpu: Duration::from_millis(cpu),
        }
    }

    #[test]
    fn cpu_is_measured_between_two_figures() {
        assert_eq!(usage(110, 1_500).millicores_since(&usage(100, 1_000)), Some(50.0));
        assert_eq!(usage(100, 1_000).millicores_since(&usage(100, 1_000)), None);
    }

    #[test]
    fn the_kubelets_summary_is_understood() {
        let summary = serde_json::json!({"node": {}, "pods": [
            {"podRef": {"name": "web", "namespace": "shop", "uid": "1"}, "containers": [{
                "name": "web",
                "cpu": {"time": "2026-01-01T00:00:00Z", "usageNanoCores": 1, "usageCoreNanoSeconds": 2_000_000},
                "memory": {"time": "2026-01-01T00:00:00Z", "workingSetBytes": 4096},
            }]},
            // One that has just started.
            {"podRef": {"name": "new", "namespace": "shop", "uid": "2"}},
        ]});
        let summary: Summary = serde_json::from_value(summary).unwrap();
        assert_eq!(summary.pods.len(), 2);
        let container = &summary.pods[0].containers[0];
        assert_eq!(container.memory.as_ref().unwrap().working_set_bytes, Some(4096));
    }
}
