//! Whether Baton can work in this cluster: what it finds out before it begins, and `baton check`.
//!
//! Looks at four things: the API server's release, whether Workloads are served, whether the CRD has the fields that
//! this version writes, and what Baton may do. Each finding says what is wrong and what to do about it. `release`, `access` and
//! `observe::crd` judge, as pure functions; this module asks. It changes nothing.

mod access;
mod release;

use std::{fmt, time::Duration};

use baton_apply::{ApiError, bounded, openapi::OpenApiError};
use futures::{StreamExt, stream};
use k8s_openapi::api::authorization::v1::SelfSubjectAccessReview;
use kube::{
    Api, Client,
    api::{ListParams, PostParams},
};
use tracing::{debug, info, warn};

use self::access::Question;
use super::{
    cli::LeaseArgs,
    readiness::{Gate, Readiness},
};
use crate::{
    causes::with_causes,
    observe::{Judgement, Scope, WorkloadCrd, workloads_in},
};

/// How many questions about permissions are asked at the same time.
const AT_ONCE: usize = 8;
/// What to do where there is no CRD.
const NOT_SERVED: &str = "the API server serves no Workloads: the CRD isn't installed, or not accepted. \
                          Install it: `baton crd | kubectl apply --server-side -f -`, or with all of \
                          Baton by `kubectl apply --server-side -k manifests`";
/// How soon a check that found something is made again, at first and later.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// What was found out about one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was looked at.
    pub about: &'static str,
    /// What came of it.
    pub result: CheckResult,
}

/// What came of a look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckResult {
    /// It is as it should be.
    Fine(String),
    /// Baton works, but somebody should know.
    Warning(String),
    /// Baton can't work until somebody mends this.
    Wrong(String),
    /// It couldn't be found out now; it may be well.
    Unknown(String),
}

/// Asks the API server.
#[derive(Clone)]
pub(crate) struct SelfCheck {
    client: Client,
    request_timeout: Duration,
    scope: Scope,
    lease: Option<LeaseName>,
    has_secure_metrics: bool,
    crd: WorkloadCrd,
}

/// The Lease that is to be written.
#[derive(Clone, Debug)]
pub(crate) struct LeaseName {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl LeaseName {
    /// The Lease that the flags ask for; the client knows the namespace where they don't say.
    pub(crate) fn new(args: &LeaseArgs, shard: Option<&str>, client: &Client) -> Self {
        let namespace = args.lease_namespace.as_ref().map(|name| name.0.clone());
        Self {
            namespace: namespace.unwrap_or_else(|| client.default_namespace().to_owned()),
            name: args.name(shard),
        }
    }
}

impl SelfCheck {
    pub(crate) fn new(
        client: Client,
        request_timeout: Duration,
        scope: Scope,
        lease: Option<LeaseName>,
        has_secure_metrics: bool,
        crd: WorkloadCrd,
    ) -> Self {
        Self { client, request_timeout, scope, lease, has_secure_metrics, crd }
    }

    /// Looks at everything, again and again until nothing is wrong; says meanwhile what it is.
    pub(crate) async fn pass(&self, readiness: &Readiness) {
        let (mut told, mut pause) = (Vec::new(), PAUSES.0);
        loop {
            let findings = self.look().await;
            if findings != told {
                findings.iter().for_each(tell);
            }
            let obstacles: Vec<_> =
                findings.iter().filter(|finding| finding.is_obstacle()).map(ToString::to_string).collect();
            if obstacles.is_empty() {
                readiness.open(Gate::SelfCheck);
                return;
            }
            readiness.close(Gate::SelfCheck, obstacles.join("\n"));
            debug!(?pause, "the self-check is made again");
            tokio::time::sleep(pause).await;
            pause = (2 * pause).min(PAUSES.1);
            told = findings;
        }
    }

    /// Looks at everything once.
    pub(crate) async fn look(&self) -> Vec<Finding> {
        let (release, served, fields, access) =
            tokio::join!(self.release(), self.served(), self.fields(), self.access());
        // What isn't served can have no fields.
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
        match bounded(self.request_timeout, self.client.apiserver_version()).await {
            Ok(info) => release::judge(&info.git_version),
            Err(error) if is_refused(&error) => CheckResult::Warning(format!(
                "can't read its release: {}. The ClusterRole system:discovery lets each ServiceAccount read it",
                with_causes(&error)
            )),
            Err(error) => unknown(&error),
        }
    }

    /// Discovery would say it too, but a moment late.
    async fn served(&self) -> CheckResult {
        let place = self.scope.namespaces().first().copied().flatten();
        let workloads = workloads_in(&self.client, place);
        let one = ListParams::default().limit(1);
        match bounded(self.request_timeout, workloads.list_metadata(&one)).await {
            Ok(_) => CheckResult::Fine(format!("served as {}/{}", baton_crd::GROUP, baton_crd::VERSION)),
            Err(error) if answered_with(&error, &[404]) => CheckResult::Wrong(NOT_SERVED.to_owned()),
            Err(error) if is_refused(&error) => {
                CheckResult::Warning("can't be checked without the permission to list them".to_owned())
            }
            Err(error) => unknown(&error),
        }
    }

    async fn fields(&self) -> CheckResult {
        match self.crd.look().await {
            Ok(Judgement::Complete) => CheckResult::Fine("has every field that this version knows".to_owned()),
            Ok(Judgement::Older(message)) => CheckResult::Wrong(message),
            Ok(Judgement::Unpublished) => CheckResult::Warning(
                "can't be compared with this version's: the API server doesn't publish its schema, or not yet"
                    .to_owned(),
            ),
            // As with predictions: where the API server has no schema to give, Baton works without.
            Err(OpenApiError::Request(error @ ApiError::Response(_))) => CheckResult::Warning(format!(
                "can't be compared with this version's: {}",
                with_causes(&error)
            )),
            // That one can't be read passes: while a CRD changes, its document is empty for a moment.
            Err(error) => unknown(&error),
        }
    }

    async fn access(&self) -> CheckResult {
        let questions =
            access::questions(&self.scope.namespaces(), self.lease.as_ref(), self.has_secure_metrics);
        let asked = questions.into_iter().map(|question| self.ask(question));
        let answers: Vec<_> = stream::iter(asked).buffered(AT_ONCE).collect().await;
        let mut missing = Vec::new();
        for (question, answer) in answers {
            match answer {
                Ok(true) => {}
                Ok(false) => missing.push(question),
                Err(error) if is_refused(&error) => {
                    return CheckResult::Warning(format!(
                        "can't check Baton's permissions: {}. The ClusterRole system:basic-user lets each ServiceAccount check",
                        with_causes(&error)
                    ));
                }
                Err(error) => return unknown(&error),
            }
        }
        access::judge(&missing)
    }

    async fn ask(&self, question: Question) -> (Question, Result<bool, ApiError>) {
        let reviews: Api<SelfSubjectAccessReview> = Api::all(self.client.clone());
        let (params, review) = (PostParams::default(), question.review());
        let answer = bounded(self.request_timeout, reviews.create(&params, &review)).await;
        (question, answer.map(|review| review.status.is_some_and(|status| status.allowed)))
    }
}

/// Whether the API server won't tell, now or later.
fn is_refused(error: &ApiError) -> bool {
    answered_with(error, &[401, 403, 404, 406])
}

/// By the code alone: what isn't served is answered with a page, not with a Status.
fn answered_with(error: &ApiError, codes: &[u16]) -> bool {
    matches!(error, ApiError::Response(status) if codes.contains(&status.code))
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

fn tell(finding: &Finding) {
    let about = finding.about;
    match &finding.result {
        CheckResult::Fine(message) => info!("self-check, {about}: {message}"),
        CheckResult::Warning(message) => warn!("self-check, {about}: {message}"),
        CheckResult::Wrong(message) | CheckResult::Unknown(message) => {
            warn!("self-check, {about}: {message}; Baton waits until this is fixed");
        }
    }
}
