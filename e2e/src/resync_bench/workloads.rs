//! The Workloads that are looked at: each with a Deployment that has no pods, a Service and a disruption budget. It
//! doesn't know what is done to them.

use baton_crd::Workload;
use baton_testbed::Error;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::{
    Api,
    api::{ListParams, PostParams},
};
use serde_json::json;

use crate::is_ready;

/// How many children each Workload has.
pub const CHILDREN: usize = 3;

/// How many are created at the same time.
const AT_ONCE: usize = 16;

/// Creates so many.
pub async fn create(workloads: &Api<Workload>, count: u32) -> Result<(), Error> {
    let create = async |number: u32| {
        let created = workloads.create(&PostParams::default(), &workload(number)?).await;
        created.map(|_| ()).map_err(Error::api(format!("create the Workload {number}")))
    };
    stream::iter(0..count).map(create).buffer_unordered(AT_ONCE).try_collect().await
}

/// How many are ready as their latest spec says.
pub async fn ready(workloads: &Api<Workload>) -> Result<usize, Error> {
    let all = workloads.list(&ListParams::default()).await.map_err(Error::api("list the Workloads"))?;
    Ok(all.iter().filter(|workload| is_ready(workload)).count())
}

/// As much in it as people mostly say.
fn workload(number: u32) -> Result<Workload, Error> {
    let container = json!({
        "name": "app",
        "image": "registry.example/shop/app:1.2.3",
        "env": [{"name": "MODE", "value": "fast"}, {"name": "SHARD", "value": number.to_string()}],
        "ports": [{"name": "http", "containerPort": 8080}],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
        "readinessProbe": {"httpGet": {"path": "/ready", "port": "http"}},
    });
    let workload = json!({
        "metadata": {"name": format!("web-{number}")},
        "spec": {
            "replicas": 0,
            "template": {"metadata": {"labels": {"team": "shop"}}, "spec": {"containers": [container]}},
            "service": {"ports": [{"name": "http", "port": 80, "targetPort": "http"}]},
            "disruptionBudget": {"maxUnavailable": 1},
        },
    });
    serde_json::from_value(workload).map_err(Error::parse("a Workload"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workload_is_ready_only_for_its_latest_spec() {
        let mut one = workload(7).unwrap();
        one.metadata.generation = Some(2);
        assert!(!is_ready(&one));
        for (seen, status, expected) in [(2, "True", true), (1, "True", false), (2, "False", false)] {
            let ready = json!({
                "type": "Ready", "status": status, "observedGeneration": seen,
                "reason": "x", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
            });
            one.status = Some(serde_json::from_value(json!({"conditions": [ready]})).unwrap());
            assert_eq!(is_ready(&one), expected, "{status} of generation {seen}");
        }
    }
}
