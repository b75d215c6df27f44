//! The view of a running operator.

use std::fmt;

use baton_runtime::{admin::Exposition, readiness::Readiness};

use crate::{metrics::Metrics, observe::Workloads};

/// The view of a running operator: its readiness and its metrics, and nothing of a Workload's content.
#[derive(Clone)]
pub struct View {
    pub(super) readiness: Readiness,
    pub(super) metrics: Metrics,
    pub(super) workloads: Workloads,
}

impl View {
    /// Why the operator isn't ready; empty if it is.
    pub fn obstacles(&self) -> Vec<String> {
        self.readiness.reasons()
    }

    /// The metrics, in the `OpenMetrics` text format.
    ///
    /// # Errors
    /// When a metric can't be written as text, which would be a bug in this crate.
    pub fn metrics(&self) -> Result<String, fmt::Error> {
        let workloads = self.workloads.values();
        self.metrics.text(workloads.iter().map(|workload| (workload.phase, &*workload.contested)))
    }
}

impl Exposition for View {
    fn text(&self) -> Result<String, fmt::Error> {
        self.metrics()
    }
}

#[cfg(test)]
mod tests {
    use baton_apply::LiveObject;
    use serde_json::json;

    use super::*;
    use crate::observe::Stores;

    #[test]
    fn metrics_describe_the_workloads_that_are_in_the_cache_now() {
        let workloads = Stores::of_shard(None).workloads;
        let view = View { readiness: Readiness::default(), metrics: Metrics::default(), workloads };
        let expect = |count: u32| {
            let (text, line) =
                (view.metrics().unwrap(), format!("baton_handover_phase{{phase=\"Fixed\"}} {count}\n"));
            assert!(text.contains(&line), "{text}");
        };
        expect(0);
        let ownership =
            json!({"owner": "baton", "phase": "Fixed", "value": 3, "since": "2026-01-01T00:00:00Z"});
        let workload = json!({"metadata": {"name": "web"}, "status": {"replicaOwnership": ownership}});
        view.workloads.store(&LiveObject::from_json(workload).unwrap());
        expect(1);
        view.workloads.forget("", "web");
        expect(0);
    }
}
