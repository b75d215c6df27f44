//! Checks, while the operator runs, that the cluster's CRD is at least as new.
//!
//! The API server drops fields that its CRD lacks from every Workload that it returns, and from every Workload that is written. So
//! under an older CRD a Workload has less than its author wrote: its children would lose what is missing, and a write of its status
//! would make the loss final. Baton writes neither while that may be the case. It reads the published schema before the next pass
//! each time that the watch of Workloads fails or begins (a change of the CRD ends most watches), and again and again for a while after
//! that, since the API server publishes a changed schema late; also after a Workload seems to have lost fields, which is left alone
//! meanwhile. A watch may go on as if nothing had changed, so the schema is read now and then in any case.

mod fields;

use std::{collections::BTreeSet, fmt, sync::Arc, time::Duration};

use baton_apply::{
    ApiError,
    openapi::{self, Index, OpenApiError},
};
use baton_crd::Workload;
use baton_runtime::text::with_causes;
use futures::future::BoxFuture;
use kube::{Client, core::ApiResource};
use serde_json::Value;
use tokio::{
    sync::{Mutex, Notify, watch},
    time::Instant,
};
use tracing::{info, warn};

pub(crate) use self::fields::{Judgement, Older, in_schema};

/// How soon the schema is read again while it is older, or can't be read.
const PAUSE: Duration = Duration::from_secs(2);
/// How long the published schema may lag behind the CRD, and how long a server that has just started may refuse what it doesn't
/// refuse later.
pub(crate) const LAG: Duration = Duration::from_secs(10);
/// How soon the schema is read again in any case.
const READ_EVERY: Duration = Duration::from_secs(30);
/// How often the same failure is logged.
const LOGGED_EVERY: Duration = Duration::from_secs(30);

/// The CRD as it was last read. Clones share it.
#[derive(Clone)]
pub(crate) struct WorkloadCrd {
    client: Client,
    limit: Duration,
    state: watch::Sender<State>,
    /// The URL of the schema that was read last, which contains its hash.
    read: Arc<Mutex<Option<(String, Judgement)>>>,
}

/// The reason why nothing is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CrdProblem {
    /// Workloads aren't returned as their authors wrote them. The message names missing fields and what to do.
    Older(String),
    /// It isn't known whether they are. The message is the error.
    Unknown(String),
}

impl CrdProblem {
    /// The message for everyone who reaches the admin port; the log has the rest.
    pub(crate) fn in_short(&self) -> &'static str {
        match self {
            Self::Older(_) => "the CRD is older than this operator; see the log",
            Self::Unknown(_) => "can't read the schema of Workloads; see the log",
        }
    }
}

impl fmt::Display for CrdProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Older(message) => f.write_str(message),
            Self::Unknown(error) => write!(
                f,
                "can't read the schema of Workloads, so nothing is written until Baton knows that the CRD is complete: {error}"
            ),
        }
    }
}

/// What is known about the CRD.
#[derive(Clone, Debug, Default)]
struct State {
    /// How many times the CRD may have changed.
    doubts: u64,
    /// Until when the published schema may lag behind the CRD.
    lags_until: Option<Instant>,
    /// The result of the last verification.
    verified: Option<Verified>,
    /// When the CRD was last known to be older.
    older_at: Option<Instant>,
    /// The fields that older CRDs have lacked up to now.
    lacked: BTreeSet<String>,
}

#[derive(Clone, Debug)]
struct Verified {
    /// The doubts up to when it began. Later ones are unresolved: it may have read the schema before they came.
    doubts: u64,
    /// The CRD, if it lacks fields.
    older: Option<Older>,
}

impl State {
    /// The result that holds now; none while there are unresolved doubts.
    fn current(&self) -> Option<&Verified> {
        self.verified.as_ref().filter(|verified| verified.doubts == self.doubts)
    }

    /// Whether writes wait until the schema was read.
    fn is_waited_for(&self) -> bool {
        self.current().is_none_or(|verified| verified.older.is_some())
    }

    fn needs_reading(&self) -> bool {
        self.is_waited_for() || self.lags_until.is_some_and(|until| until > Instant::now())
    }
}

impl WorkloadCrd {
    pub(crate) fn new(client: Client, limit: Duration) -> Self {
        Self { client, limit, state: watch::Sender::default(), read: Arc::default() }
    }

    /// Reads the published schema and compares it with this version's.
    ///
    /// # Errors
    /// When that can't be known now, such as from a server that is starting or overloaded.
    pub(crate) async fn judge(&self) -> Result<Judgement, OpenApiError> {
        match self.read().await {
            Err(OpenApiError::Request(error)) if is_withheld(&error) => {
                Ok(Judgement::Withheld(with_causes(&error)))
            }
            judged => judged,
        }
    }

    async fn read(&self) -> Result<Judgement, OpenApiError> {
        let index = Index::fetch(&self.client, self.limit).await?;
        let kind = ApiResource::erase::<Workload>(&());
        let Some(url) = index.url(&kind) else {
            return Ok(fields::judge(&Value::Null));
        };
        let mut read = self.read.lock().await;
        if let Some((_, judgement)) = read.as_ref().filter(|(known, _)| known == url) {
            return Ok(judgement.clone());
        }
        let judgement = fields::judge(&openapi::fetch(&self.client, self.limit, url, &[kind]).await?);
        *read = Some((url.to_owned(), judgement.clone()));
        Ok(judgement)
    }

    /// The CRD may have changed.
    pub(crate) fn doubt(&self) {
        self.state.send_modify(|state| {
            state.doubts += 1;
            state.lags_until = Some(Instant::now() + LAG);
        });
    }

    /// A Workload seems to have lost fields, so the CRD may be older than the published schema. Passes of others don't wait for that.
    pub(crate) fn suspect(&self) {
        self.state.send_modify(|state| state.lags_until = Some(Instant::now() + LAG));
    }

    /// Whether the CRD was known to be older at this moment or later.
    pub(crate) fn was_older_since(&self, moment: std::time::Instant) -> bool {
        self.state.borrow().older_at.is_some_and(|older| older.into_std() >= moment)
    }

    /// Whether an older CRD of this process may be why a Workload lacks this field, as [`in_schema`] spells it.
    pub(crate) fn may_explain(&self, lacking: &str) -> bool {
        let is_within = |inner: &str, outer: &str| {
            inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[', '{']))
        };
        // If the key of a list's items is lacking, so are the items.
        self.state
            .borrow()
            .lacked
            .iter()
            .any(|lacked| is_within(lacking, lacked) || is_within(lacked, lacking))
    }

    /// Waits until it is known whether Workloads are returned as their authors wrote them; if not, the error says why.
    pub(crate) async fn verified(&self) -> Result<(), String> {
        let mut state = self.state.subscribe();
        let known = state.wait_for(|state| state.current().is_some()).await;
        // An error means that the operator is shutting down.
        let older = known.ok().and_then(|state| state.current()?.older.clone());
        older.map_or(Ok(()), |older| Err(older.message))
    }

    /// Reads the schema after each doubt, again and again while it is older or may lag behind, and now and then. Calls `report` at each
    /// change with the reason why nothing is written; with none at first, and once Baton writes again. Before that it calls `relist`,
    /// where cached Workloads may be by another CRD. Notifies `again` when every Workload is to be reconciled again. Never ends: spawn
    /// it.
    pub(crate) async fn keep_verified(
        self,
        again: Arc<Notify>,
        mut report: impl FnMut(Option<&CrdProblem>),
        relist: impl Fn() -> BoxFuture<'static, Result<(), ApiError>>,
    ) {
        let mut state = self.state.subscribe();
        let (mut reported, mut known_url) = (None, None);
        let mut report = |problem: Option<CrdProblem>| {
            if reported.as_ref() == Some(&problem) {
                return;
            }
            match (&problem, &reported) {
                (Some(problem), _) => warn!("no child and no status is written: {problem}"),
                (None, None) => {}
                (None, Some(_)) => info!("the CRD is complete again: Baton writes children"),
            }
            report(problem.as_ref());
            reported = Some(problem);
        };
        loop {
            let needed = async { state.wait_for(State::needs_reading).await.map(drop) };
            if let Ok(Err(_)) = tokio::time::timeout(READ_EVERY, needed).await {
                return;
            }
            let doubt = state.borrow().clone();
            let was_older = doubt.verified.as_ref().is_some_and(|verified| verified.older.is_some());
            let (older, at_once) = self.verify(doubt.is_waited_for(), &mut report).await;
            let is_older = older.is_some();
            let url = self.read.lock().await.as_ref().map(|(url, _)| url.clone());
            let is_other = known_url.replace(url.clone()).is_some_and(|known| known != url);
            let is_to_relist = !is_older && (was_older || !at_once || is_other);
            if is_to_relist {
                loop {
                    // Another API server may take a moment longer to serve Workloads by the complete CRD.
                    tokio::time::sleep(PAUSE).await;
                    let Err(error) = relist().await else { break };
                    warn!(error = with_causes(&error), "can't list the Workloads again; Baton retries");
                }
            }
            let problem = older.as_ref().map(|older| CrdProblem::Older(older.message.clone()));
            self.state.send_modify(|state| {
                if let Some(older) = &older {
                    state.older_at = Some(Instant::now());
                    state.lacked.extend(older.lacks.iter().cloned());
                }
                state.verified = Some(Verified { doubts: doubt.doubts, older });
            });
            report(problem);
            if is_to_relist || is_older != was_older {
                again.notify_one();
            }
            if is_older {
                tokio::time::sleep(PAUSE).await;
            } else if self.state.borrow().needs_reading() {
                tokio::time::sleep(PAUSE / 4).await;
            }
        }
    }

    /// The CRD if it lacks fields, and whether that was known at once. If writes wait for it, it tries again until it knows, and reports
    /// the error if that lasts.
    async fn verify(
        &self,
        is_waited_for: bool,
        report: &mut impl FnMut(Option<CrdProblem>),
    ) -> (Option<Older>, bool) {
        let (begun, mut at_once) = (Instant::now(), true);
        let mut logged: Option<Instant> = None;
        loop {
            let has_lasted = begun.elapsed() >= LAG;
            match self.judge().await {
                Ok(Judgement::Older(older)) => return (Some(older), at_once),
                Ok(Judgement::Complete) => return (None, at_once),
                _ if !is_waited_for => return (None, at_once),
                // While a CRD changes, or is new, nothing is published for a moment; and a server that starts may refuse for a moment.
                // If the API server has no schema after that, Baton works without it.
                Ok(Judgement::Unpublished | Judgement::Withheld(_)) => {
                    if has_lasted {
                        return (None, at_once);
                    }
                }
                Err(error) => {
                    at_once = false;
                    let error = with_causes(&error);
                    if logged.is_none_or(|logged| logged.elapsed() >= LOGGED_EVERY) {
                        warn!(error, "can't read the schema of Workloads; Baton retries");
                        logged = Some(Instant::now());
                    }
                    if has_lasted {
                        report(Some(CrdProblem::Unknown(error)));
                    }
                }
            }
            tokio::time::sleep(PAUSE / 4).await;
        }
    }
}

/// Whether the API server doesn't serve what was asked for, or not to Baton, now and later; every other failure may be over at the next
/// attempt. The code alone says so: for what isn't served, the response is a page and not a Status.
pub(crate) fn is_withheld(error: &ApiError) -> bool {
    matches!(error, ApiError::Response(status) if matches!(status.code, 401 | 403 | 404 | 406))
}

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        sync::{
            OnceLock,
            atomic::{AtomicBool, Ordering},
        },
    };

    use http::{Request, Response};
    use kube::client::Body;
    use serde_json::json;

    use super::*;

    const INDEX: &str = "/openapi/v3";

    /// Lists no Workloads, since there are none.
    fn listed() -> BoxFuture<'static, Result<(), ApiError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// The CRD as this server shows it: the status code and the response at a path.
    fn served(at: impl Fn(&str) -> (u16, Value) + Clone + Send + Sync + 'static) -> WorkloadCrd {
        let server = tower::service_fn(move |request: Request<Body>| {
            let (code, document) = at(request.uri().path());
            let body = Body::from(document.to_string().into_bytes());
            let response = Response::builder().status(code).body(body).unwrap();
            std::future::ready(Ok::<_, Infallible>(response))
        });
        WorkloadCrd::new(Client::new(server, "default"), LAG)
    }

    fn index(hash: &str) -> (u16, Value) {
        let url = format!("/openapi/v3/baton?hash={hash}");
        (200, json!({"paths": {"apis/baton.rs/v1alpha1": {"serverRelativeURL": url}}}))
    }

    /// A document in which a Workload has these fields.
    fn document(fields: &Value) -> (u16, Value) {
        let mut schema = fields.clone();
        schema["x-kubernetes-group-version-kind"] =
            json!([{"group": "baton.rs", "version": "v1alpha1", "kind": "Workload"}]);
        (200, json!({"components": {"schemas": {"Workload": schema}}}))
    }

    /// With all fields that this version knows.
    fn complete() -> (u16, Value) {
        document(&serde_json::from_str(include_str!("fields.json")).unwrap())
    }

    /// A real API server does this too, but only for a moment.
    #[tokio::test(start_paused = true)]
    async fn nothing_is_written_until_the_schema_is_published() {
        let is_published = Arc::new(AtomicBool::new(false));
        let publishes = is_published.clone();
        let crd = served(move |path| match path {
            INDEX if publishes.load(Ordering::Relaxed) => index("a"),
            INDEX => (200, json!({"paths": {}})),
            _ => document(&json!({})),
        });
        let keeping = tokio::spawn(crd.clone().keep_verified(Arc::default(), |_| (), listed));
        let verified = tokio::time::timeout(LAG / 2, crd.verified()).await;
        assert!(verified.is_err(), "nothing is known yet");
        is_published.store(true, Ordering::Relaxed);
        let older = crd.verified().await.unwrap_err();
        assert!(older.contains(".spec"), "{older}");
        keeping.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn only_a_refusal_that_lasts_means_that_there_is_no_schema() {
        for (code, has_no_schema) in [
            (401, true),
            (403, true),
            (404, true),
            (406, true),
            (400, false),
            (408, false),
            (429, false),
            (500, false),
            (502, false),
            (503, false),
            (504, false),
        ] {
            for failing in [INDEX, "/openapi/v3/baton"] {
                let crd = served(move |path| match path {
                    _ if path == failing => (code, json!({"kind": "Status", "code": code, "message": "no"})),
                    INDEX => index("a"),
                    _ => complete(),
                });
                let (report, mut reported) = tokio::sync::mpsc::unbounded_channel();
                let keeping = tokio::spawn(crd.clone().keep_verified(
                    Arc::default(),
                    move |problem| {
                        report.send(problem.cloned()).unwrap();
                    },
                    listed,
                ));
                let soon = tokio::time::timeout(LAG / 2, crd.verified()).await;
                assert!(soon.is_err(), "{code} of {failing}: a server that starts may respond so");
                let late = tokio::time::timeout(60 * LAG, crd.verified()).await;
                assert_eq!(late.ok(), has_no_schema.then_some(Ok(())), "{code} of {failing}");
                let first = reported.recv().await.unwrap();
                let is_unknown = matches!(first, Some(CrdProblem::Unknown(_)));
                assert_eq!(is_unknown, !has_no_schema, "{code} of {failing}: {first:?}");
                keeping.abort();
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn workloads_are_listed_again_before_they_are_written_again() {
        let installed = Arc::new(Mutex::new("older"));
        let now = installed.clone();
        let crd = served(move |path| match (path, *now.try_lock().unwrap()) {
            (INDEX, installed) => index(installed),
            (_, "older") => document(&json!({})),
            _ => complete(),
        });
        let (lists, listing) = watch::channel(0);
        let lists = Arc::new(lists);
        let keeping = crd.clone().keep_verified(
            Arc::default(),
            |_| (),
            move || {
                let lists = lists.clone();
                Box::pin(async move {
                    tokio::time::sleep(LAG).await;
                    lists.send_modify(|lists| *lists += 1);
                    Ok(())
                })
            },
        );
        let keeping = tokio::spawn(keeping);
        crd.verified().await.unwrap_err();
        *installed.lock().await = "complete";
        while crd.verified().await.is_err() {
            assert_eq!(*listing.borrow(), 0);
            tokio::time::sleep(PAUSE / 8).await;
        }
        assert_eq!(*listing.borrow(), 1, "what is cached may be from before");
        crd.doubt();
        crd.verified().await.unwrap();
        assert_eq!(*listing.borrow(), 1, "nothing has changed");
        // The schema is published later than the watches end.
        *installed.lock().await = "newer";
        tokio::time::sleep(3 * LAG).await;
        assert_eq!(*listing.borrow(), 2, "Workloads may have other defaults");
        keeping.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn a_doubt_that_comes_while_the_schema_is_read_is_not_lost() {
        let crd = Arc::new(OnceLock::<WorkloadCrd>::new());
        let (doubted, has_changed) = (crd.clone(), Arc::new(AtomicBool::new(false)));
        let served = served(move |path| match path {
            INDEX if has_changed.load(Ordering::Relaxed) => index("older"),
            INDEX => index("complete"),
            _ if has_changed.swap(true, Ordering::Relaxed) => document(&json!({})),
            // The CRD changes after this was read.
            _ => {
                doubted.get().unwrap().doubt();
                complete()
            }
        });
        let crd = crd.get_or_init(|| served);
        let keeping = tokio::spawn(crd.clone().keep_verified(Arc::default(), |_| (), listed));
        let older = crd.verified().await.unwrap_err();
        assert!(older.contains(".spec"), "{older}");
        keeping.abort();
    }
}
