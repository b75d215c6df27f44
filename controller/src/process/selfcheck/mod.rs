//! Whether Baton can work in this cluster: checked before it begins, and by `baton check`.
//!
//! Checks four things: the API server's release, whether Workloads are served, whether the CRD has the fields that this version
//! writes, and Baton's permissions. Each finding says what is wrong and what to do about it. `release`, `access` and
//! `baton_apply::crd` judge, as pure functions; this module sends the requests. It changes nothing.

mod access;
mod release;

use std::{fmt, time::Duration};

use baton_apply::{
    ApiError,
    crd::{CrdGuard, Judgement},
    openapi::OpenApiError,
    with_timeout,
};
use baton_runtime::{
    access::{Access, rules_to_add},
    readiness::Readiness,
    text::with_causes,
};
use futures::{StreamExt, stream};
use kube::{
    Api, Client,
    api::{ListParams, PostParams},
};
use tracing::{debug, info, warn};

use super::{cli::LeaseArgs, gate};
use crate::observe::{Scope, older_crd, workloads_in};

/// How many permissions are reviewed at the same time.
const AT_ONCE: usize = 8;
/// The advice if there is no CRD.
const NOT_SERVED: &str = "the API server serves no Workloads: the CRD isn't installed, or not accepted. \
                          Install it: `baton crd | kubectl apply --server-side -f -`, or with all of \
                          Baton by `kubectl apply --server-side -k manifests`";
/// How soon a check with a finding is repeated, at first and later.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The subject of the check.
    pub about: &'static str,
    /// The result.
    pub result: CheckResult,
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckResult {
    /// All is well.
    Fine(String),
    /// Baton works, but an administrator should know.
    Warning(String),
    /// Baton can't work until this is fixed.
    Wrong(String),
    /// It couldn't be checked now; all may be well.
    Unknown(String),
}

/// Checks by requests to the API server.
#[derive(Clone)]
pub(crate) struct SelfCheck {
    pub(crate) client: Client,
    pub(crate) request_timeout: Duration,
    pub(crate) scope: Scope,
    pub(crate) lease: Option<LeaseName>,
    pub(crate) has_secure_metrics: bool,
    pub(crate) crd: CrdGuard,
}

/// The Lease of the election.
#[derive(Clone, Debug)]
pub(crate) struct LeaseName {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl LeaseName {
    /// The Lease of the flags; without a flag, in the client's namespace.
    pub(crate) fn new(args: &LeaseArgs, shard: Option<&str>, client: &Client) -> Self {
        let namespace = args.lease_namespace.as_ref().map(|name| name.0.clone());
        Self {
            namespace: namespace.unwrap_or_else(|| client.default_namespace().to_owned()),
            name: args.name(shard),
        }
    }
}

impl SelfCheck {
    /// Checks everything, again and again until nothing is wrong; logs what is wrong meanwhile.
    pub(crate) async fn pass(&self, readiness: &Readiness) {
        let (mut logged, mut pause) = (Vec::new(), PAUSES.0);
        loop {
            let findings = self.findings().await;
            if findings != logged {
                findings.iter().for_each(log);
            }
            let obstacles: Vec<_> = findings
                .iter()
                .filter(|finding| finding.is_obstacle())
                .map(|finding| finding.about)
                .collect();
            if obstacles.is_empty() {
                readiness.open(gate::SELF_CHECK);
                return;
            }
            let reason = format!("the self-check has findings: {}; see the log", obstacles.join(", "));
            readiness.close(gate::SELF_CHECK, reason);
            debug!(?pause, "the self-check is repeated");
            tokio::time::sleep(pause).await;
            pause = (2 * pause).min(PAUSES.1);
            logged = findings;
        }
    }

    /// Checks everything once.
    pub(crate) async fn findings(&self) -> Vec<Finding> {
        let (release, served, fields, access) =
            tokio::join!(self.release(), self.served(), self.fields(), self.access());
        // Fields are compared only if Workloads are served.
        let is_served = matches!(served, CheckResult::Fine(_) | CheckResult::Warning(_));
        let mut findings = vec![
            Finding { about: "API server", result: release },
            Finding { about: "Workloads", result: served },
        ];
        findings.extend(is_served.then_some(Finding { about: "CRD", result: fields }));
        findings.push(Finding { about: "permissions", result: access });
        findings
    }

    async fn release(&self) -> CheckResult {
        match with_timeout(self.request_timeout, self.client.apiserver_version()).await {
            Ok(info) => release::judge(&info.git_version),
            Err(error) if error.is_withheld() => CheckResult::Warning(format!(
                "can't read its release: {}. The ClusterRole system:discovery lets each ServiceAccount read it",
                with_causes(&error)
            )),
            Err(error) => unknown(&error),
        }
    }

    /// Discovery shows it too, but a moment later.
    async fn served(&self) -> CheckResult {
        let place = self.scope.namespaces().first().copied().flatten();
        let workloads = workloads_in(&self.client, place);
        let one = ListParams::default().limit(1);
        match with_timeout(self.request_timeout, workloads.list_metadata(&one)).await {
            Ok(_) => CheckResult::Fine(format!("served as {}/{}", baton_crd::GROUP, baton_crd::VERSION)),
            Err(ApiError::Response(status)) if status.code == 404 => {
                CheckResult::Wrong(NOT_SERVED.to_owned())
            }
            Err(error) if error.is_withheld() => {
                CheckResult::Warning("can't be checked without the permission to list them".to_owned())
            }
            Err(error) => unknown(&error),
        }
    }

    async fn fields(&self) -> CheckResult {
        match self.crd.judge().await {
            Ok(Judgement::Complete) => CheckResult::Fine("has every field that this version knows".to_owned()),
            Ok(Judgement::Older(older)) => CheckResult::Wrong(older_crd(&older)),
            Ok(Judgement::Unpublished) => CheckResult::Warning(
                "can't be compared with this version's: the API server doesn't publish its schema, or not yet"
                    .to_owned(),
            ),
            // As with predictions: if the API server has no schema, Baton works without it.
            Err(OpenApiError::Request(error)) if error.is_withheld() => CheckResult::Warning(format!(
                "can't be compared with this version's: {}",
                with_causes(&error)
            )),
            // A server that starts or is overloaded; or while a CRD changes, its document is empty for a moment.
            Err(error) => unknown(&error),
        }
    }

    async fn access(&self) -> CheckResult {
        let needed = access::accesses(&self.scope.namespaces(), self.lease.as_ref(), self.has_secure_metrics);
        let reviews = needed.into_iter().map(|access| self.review(access));
        let reviewed: Vec<_> = stream::iter(reviews).buffered(AT_ONCE).collect().await;
        let mut missing = Vec::new();
        for (access, is_allowed) in reviewed {
            match is_allowed {
                Ok(true) => {}
                Ok(false) => missing.push(access),
                Err(error) if error.is_withheld() => {
                    return CheckResult::Warning(format!(
                        "can't check Baton's permissions: {}. The ClusterRole system:basic-user lets each ServiceAccount check",
                        with_causes(&error)
                    ));
                }
                Err(error) => return unknown(&error),
            }
        }
        if missing.is_empty() {
            return CheckResult::Fine("Baton has all permissions that it needs".to_owned());
        }
        CheckResult::Wrong(format!("Baton lacks permissions. {}", rules_to_add(&missing)))
    }

    async fn review(&self, access: Access) -> (Access, Result<bool, ApiError>) {
        let (reviews, params, review) =
            (Api::all(self.client.clone()), PostParams::default(), access.review());
        let response = with_timeout(self.request_timeout, reviews.create(&params, &review)).await;
        (access, response.map(|review| review.status.is_some_and(|status| status.allowed)))
    }
}

fn unknown(error: &dyn std::error::Error) -> CheckResult {
    CheckResult::Unknown(format!("no response from the API server; Baton retries: {}", with_causes(error)))
}

impl Finding {
    /// Whether Baton has to wait until this is different.
    pub fn is_obstacle(&self) -> bool {
        matches!(self.result, CheckResult::Wrong(_) | CheckResult::Unknown(_))
    }
}

/// A row of the table that `baton check` prints.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mark, message) = match &self.result {
            CheckResult::Fine(message) => ("ok", message),
            CheckResult::Warning(message) => ("warning", message),
            CheckResult::Wrong(message) => ("wrong", message),
            CheckResult::Unknown(message) => ("unknown", message),
        };
        write!(f, "{mark:<8} {:<12} {message}", self.about)
    }
}

fn log(finding: &Finding) {
    let about = finding.about;
    match &finding.result {
        CheckResult::Fine(message) => info!("self-check, {about}: {message}"),
        CheckResult::Warning(message) => warn!("self-check, {about}: {message}"),
        CheckResult::Wrong(message) | CheckResult::Unknown(message) => {
            warn!("self-check, {about}: {message}; Baton waits until this is fixed");
        }
    }
}
