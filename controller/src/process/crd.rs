//! The report of the CRD: whether it has every field that this version knows.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use baton_apply::{
    crd::{CrdObserver, OlderCrd},
    openapi::OpenApiError,
};
use baton_runtime::{clock::now, readiness::Readiness, text::with_causes};
use kube::Client;
use tokio::sync::Notify;
use tracing::{info, warn};

use super::gate;
use crate::{
    metrics::Metrics,
    observe::{Scope, Stores, older_crd},
};

/// How often the same failure is logged.
const LOGGED_EVERY: Duration = Duration::from_secs(30);

/// Shows whether the CRD is complete, in the readiness, the metrics and the log.
pub(super) struct CrdReport {
    pub(super) readiness: Readiness,
    pub(super) metrics: Metrics,
    pub(super) stores: Stores,
    pub(super) client: Client,
    pub(super) scope: Scope,
    pub(super) limit: Duration,
    /// Notified when every Workload is to be reconciled again.
    pub(super) again: Arc<Notify>,
    /// Whether there was a report, and the problem that the last one has shown.
    pub(super) has_reported: bool,
    pub(super) problem: Option<Problem>,
    /// When a failure was logged since the schema was read.
    pub(super) logged: Option<Instant>,
}

/// Why nothing is written: for everyone who reaches the admin port, and for the log.
type Problem = (&'static str, String);

impl CrdReport {
    fn report(&mut self, problem: Option<Problem>) {
        let has_reported = std::mem::replace(&mut self.has_reported, true);
        if has_reported && self.problem == problem {
            return;
        }
        self.metrics.crd(problem.is_none());
        match &problem {
            Some((in_short, message)) => {
                warn!("no child and no status is written: {message}");
                self.readiness.close(gate::CRD, *in_short);
            }
            None => {
                if has_reported {
                    info!("the CRD is complete again: Baton writes children");
                }
                self.readiness.open(gate::CRD);
            }
        }
        self.problem = problem;
    }
}

impl CrdObserver for CrdReport {
    fn verified(&mut self, older: Option<&OlderCrd>) {
        self.logged = None;
        self.report(
            older.map(|older| ("the CRD is older than this operator; see the log", older_crd(older))),
        );
    }

    fn failed(&mut self, error: &OpenApiError, has_lasted: bool) {
        let error = with_causes(error);
        if self.logged.is_none_or(|logged| now().duration_since(logged) >= LOGGED_EVERY) {
            warn!(error, "can't read the schema of Workloads; Baton retries");
            self.logged = Some(now());
        }
        if has_lasted {
            let message = format!(
                "can't read the schema of Workloads, so nothing is written until Baton knows that the CRD is complete: {error}"
            );
            self.report(Some(("can't read the schema of Workloads; see the log", message)));
        }
    }

    async fn relist(&self) -> bool {
        let listed = self.stores.relist_workloads(&self.client, &self.scope, self.limit).await;
        if let Err(error) = &listed {
            warn!(error = with_causes(error), "can't list the Workloads again; Baton retries");
        }
        listed.is_ok()
    }

    fn reconcile_all(&mut self) {
        self.again.notify_one();
    }
}
