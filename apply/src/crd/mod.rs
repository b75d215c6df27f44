//! A guard against a CRD that is older than the program.
//!
//! The API server drops fields that its CRD lacks from every custom resource that it returns, and from every one that is written. So
//! under an older CRD, a program reads less than the author wrote: what it applies would lose the fields that follow from the missing
//! ones, and its write of a status would make the loss final. While that may be the case, it should write neither.
//!
//! [`CrdGuard::keep_verified`] compares the published schema with the [fields that the program knows](KnownFields), in a task of its own;
//! a pass waits for [`CrdGuard::verified`] before it writes. The schema is read again
//!
//! - after each [doubt](CrdGuard::doubt), such as when the watch of the custom resources fails or begins: a change of the CRD ends most
//!   watches;
//! - again and again for a while after that, since the API server publishes a changed schema late;
//! - while a custom resource [seems to have lost fields](CrdGuard::suspect);
//! - and now and then in any case, since a watch may go on as if nothing had changed.
//!
//! Fields that only the CRD has belong to a newer version of the program, and do no harm.

mod fields;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use kube::Client;
use serde_json::Value;
use tokio::{
    sync::{Mutex, watch},
    time::Instant,
};

pub use self::fields::{Judgement, KnownFields, OlderCrd};
use crate::openapi::{self, Index, OpenApiError};

/// How soon the schema is read again while it is older, or can't be read.
const PAUSE: Duration = Duration::from_secs(2);
/// How long the published schema may lag behind the CRD, and how long a server that has just started may refuse what it doesn't
/// refuse later.
pub const LAG: Duration = Duration::from_secs(10);
/// How soon the schema is read again in any case.
const READ_EVERY: Duration = Duration::from_secs(30);

/// The CRD as it was last read. Clones share it.
#[derive(Clone)]
pub struct CrdGuard {
    client: Client,
    limit: Duration,
    fields: &'static KnownFields,
    state: watch::Sender<State>,
    /// The URL of the schema that was read last, which contains its hash.
    read: Arc<Mutex<Option<(String, Judgement)>>>,
}

/// What a program does as the CRD changes.
pub trait CrdObserver {
    /// The schema was read: the CRD is complete, as far as is known, or older.
    fn verified(&mut self, older: Option<&OlderCrd>);

    /// The schema couldn't be read, which is tried again. If it `has_lasted`, passes wait.
    fn failed(&mut self, error: &OpenApiError, has_lasted: bool);

    /// The custom resources in caches may be by another CRD: lists them again. Called again if it returns `false`.
    fn relist(&self) -> impl Future<Output = bool> + Send;

    /// Every custom resource is to be reconciled again.
    fn reconcile_all(&mut self);
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
    older: Option<OlderCrd>,
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

impl CrdGuard {
    /// A guard of the CRD with these fields, whose requests take no longer than this.
    pub fn new(client: Client, limit: Duration, fields: &'static KnownFields) -> Self {
        Self { client, limit, fields, state: watch::Sender::default(), read: Arc::default() }
    }

    /// Reads the published schema and compares it with the fields that the program knows.
    ///
    /// # Errors
    /// When that can't be known now, such as from a server that is starting or overloaded, or at all, where the schema is
    /// [withheld](crate::ApiError::is_withheld).
    pub async fn judge(&self) -> Result<Judgement, OpenApiError> {
        let index = Index::fetch(&self.client, self.limit).await?;
        let Some(url) = index.url(&self.fields.kind) else { return Ok(self.fields.judge(&Value::Null)) };
        let mut read = self.read.lock().await;
        if let Some((_, judgement)) = read.as_ref().filter(|(known, _)| known == url) {
            return Ok(judgement.clone());
        }
        let kinds = std::slice::from_ref(&self.fields.kind);
        let document = openapi::fetch(&self.client, self.limit, url, kinds).await?;
        let judgement = self.fields.judge(&document);
        *read = Some((url.to_owned(), judgement.clone()));
        Ok(judgement)
    }

    /// Notes that the CRD may have changed.
    pub fn doubt(&self) {
        self.state.send_modify(|state| {
            state.doubts += 1;
            state.lags_until = Some(Instant::now() + LAG);
        });
    }

    /// Notes that a custom resource seems to have lost fields, so that the CRD may be older than the published schema. Passes of others
    /// don't wait for that.
    pub fn suspect(&self) {
        self.state.send_modify(|state| state.lags_until = Some(Instant::now() + LAG));
    }

    /// Whether the CRD was known to be older at this moment or later.
    pub fn was_older_since(&self, moment: std::time::Instant) -> bool {
        self.state.borrow().older_at.is_some_and(|older| older.into_std() >= moment)
    }

    /// Whether an older CRD of this process may be why a custom resource lacks this field, as [`KnownFields::in_schema`] spells it.
    pub fn may_explain(&self, lacking: &str) -> bool {
        let is_within = |inner: &str, outer: &str| {
            inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[', '{']))
        };
        // If the key of a list's items is lacking, so are the items.
        let state = self.state.borrow();
        state.lacked.iter().any(|lacked| is_within(lacking, lacked) || is_within(lacked, lacking))
    }

    /// Waits until it is known whether custom resources are returned as their authors wrote them; if not, the error is the CRD.
    pub async fn verified(&self) -> Result<(), OlderCrd> {
        let mut state = self.state.subscribe();
        let known = state.wait_for(|state| state.current().is_some()).await;
        // An error means that the program is shutting down.
        known.ok().and_then(|state| state.current()?.older.clone()).map_or(Ok(()), Err)
    }

    /// Reads the schema after each doubt, again and again while it is older or may lag behind, and now and then. Before the CRD counts as
    /// complete, custom resources are listed again, if those that are cached may be by another CRD. Never ends: spawn it.
    pub async fn keep_verified(self, mut observer: impl CrdObserver) {
        let mut state = self.state.subscribe();
        let mut known_url = None;
        loop {
            let needed = async { state.wait_for(State::needs_reading).await.map(drop) };
            if let Ok(Err(_)) = tokio::time::timeout(READ_EVERY, needed).await {
                return;
            }
            let doubt = state.borrow().clone();
            let was_older = doubt.verified.as_ref().is_some_and(|verified| verified.older.is_some());
            let (older, at_once) = self.verify(doubt.is_waited_for(), &mut observer).await;
            let is_older = older.is_some();
            let url = self.read.lock().await.as_ref().map(|(url, _)| url.clone());
            let is_other = known_url.replace(url.clone()).is_some_and(|known| known != url);
            let is_to_relist = !is_older && (was_older || !at_once || is_other);
            if is_to_relist {
                // Another API server may take a moment longer to serve them by the complete CRD.
                tokio::time::sleep(PAUSE).await;
                while !observer.relist().await {
                    tokio::time::sleep(PAUSE).await;
                }
            }
            self.state.send_modify(|state| {
                if let Some(older) = &older {
                    state.older_at = Some(Instant::now());
                    state.lacked.extend(older.lacks.iter().cloned());
                }
                state.verified = Some(Verified { doubts: doubt.doubts, older: older.clone() });
            });
            observer.verified(older.as_ref());
            if is_to_relist || is_older != was_older {
                observer.reconcile_all();
            }
            if is_older {
                tokio::time::sleep(PAUSE).await;
            } else if self.state.borrow().needs_reading() {
                tokio::time::sleep(PAUSE / 4).await;
            }
        }
    }

    /// The CRD if it lacks fields, and whether that was known at once. If writes wait for it, it tries again until it knows.
    async fn verify(&self, is_waited_for: bool, observer: &mut impl CrdObserver) -> (Option<OlderCrd>, bool) {
        let (begun, mut at_once) = (Instant::now(), true);
        loop {
            let has_lasted = begun.elapsed() >= LAG;
            match self.judge().await {
                Ok(Judgement::Older(older)) => return (Some(older), at_once),
                Ok(Judgement::Complete) => return (None, at_once),
                _ if !is_waited_for => return (None, at_once),
                // While a CRD changes, or is new, nothing is published for a moment; and a server that starts may refuse for a moment.
                // If the API server has no schema after that, the program works without it.
                Ok(Judgement::Unpublished) if has_lasted => return (None, at_once),
                Ok(Judgement::Unpublished) => {}
                Err(OpenApiError::Request(error)) if error.is_withheld() => {
                    if has_lasted {
                        return (None, at_once);
                    }
                }
                Err(error) => {
                    at_once = false;
                    observer.failed(&error, has_lasted);
                }
            }
            tokio::time::sleep(PAUSE / 4).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        sync::{
            LazyLock, OnceLock,
            atomic::{AtomicBool, Ordering::Relaxed},
        },
    };

    use http::{Request, Response};
    use kube::{client::Body, core::ApiResource};
    use serde_json::json;

    use super::*;

    const INDEX: &str = "/openapi/v3";
    const DOCUMENT: &str = "/openapi/v3/example";

    pub(super) fn kind() -> ApiResource {
        ApiResource {
            group: "example.com".to_owned(),
            version: "v1".to_owned(),
            api_version: "example.com/v1".to_owned(),
            kind: "App".to_owned(),
            plural: "apps".to_owned(),
        }
    }

    /// The CRD as this server shows it: the status code and the response at a path.
    fn served(at: impl Fn(&str) -> (u16, Value) + Clone + Send + Sync + 'static) -> CrdGuard {
        static FIELDS: LazyLock<KnownFields> =
            LazyLock::new(|| KnownFields::new(kind(), json!({"properties": {"spec": {}}})));
        let server = tower::service_fn(move |request: Request<Body>| {
            let (code, document) = at(request.uri().path());
            let body = Body::from(document.to_string().into_bytes());
            let response = Response::builder().status(code).body(body).unwrap();
            std::future::ready(Ok::<_, Infallible>(response))
        });
        CrdGuard::new(Client::new(server, "default"), LAG, &FIELDS)
    }

    fn index(hash: &str) -> (u16, Value) {
        let url = format!("{DOCUMENT}?hash={hash}");
        (200, json!({"paths": {"apis/example.com/v1": {"serverRelativeURL": url}}}))
    }

    /// A document in which the kind has this schema.
    fn document(mut schema: Value) -> (u16, Value) {
        schema["x-kubernetes-group-version-kind"] =
            json!([{"group": "example.com", "version": "v1", "kind": "App"}]);
        (200, json!({"components": {"schemas": {"App": schema}}}))
    }

    fn older() -> (u16, Value) {
        document(json!({}))
    }

    fn complete() -> (u16, Value) {
        document(json!({"properties": {"spec": {}}}))
    }

    /// What was observed. Lists take a while.
    #[derive(Clone, Default)]
    struct Observed(watch::Sender<Noted>);

    #[derive(Default)]
    struct Noted {
        lists: u32,
        /// Whether the first report was a failure that has lasted.
        first_was_failure: Option<bool>,
    }

    impl Observed {
        fn note(&self, failure: bool) {
            self.0.send_modify(|noted| noted.first_was_failure = noted.first_was_failure.or(Some(failure)));
        }
    }

    impl CrdObserver for Observed {
        fn verified(&mut self, _: Option<&OlderCrd>) {
            self.note(false);
        }

        fn failed(&mut self, _: &OpenApiError, has_lasted: bool) {
            if has_lasted {
                self.note(true);
            }
        }

        async fn relist(&self) -> bool {
            tokio::time::sleep(LAG).await;
            self.0.send_modify(|noted| noted.lists += 1);
            true
        }

        fn reconcile_all(&mut self) {}
    }

    /// Keeps the CRD verified until the test ends.
    fn kept(crd: &CrdGuard) -> Observed {
        let observed = Observed::default();
        tokio::spawn(crd.clone().keep_verified(observed.clone()));
        observed
    }

    /// A real API server does this too, but only for a moment.
    #[tokio::test(start_paused = true)]
    async fn nothing_is_known_until_the_schema_is_published() {
        let is_published = Arc::new(AtomicBool::new(false));
        let publishes = is_published.clone();
        let crd = served(move |path| match path {
            INDEX if publishes.load(Relaxed) => index("a"),
            INDEX => (200, json!({"paths": {}})),
            _ => older(),
        });
        kept(&crd);
        let verified = tokio::time::timeout(LAG / 2, crd.verified()).await;
        assert!(verified.is_err(), "nothing is known yet");
        is_published.store(true, Relaxed);
        assert_eq!(crd.verified().await.unwrap_err().lacks, [".spec"]);
    }

    #[tokio::test(start_paused = true)]
    async fn only_a_refusal_that_lasts_means_that_there_is_no_schema() {
        for code in [401, 403, 404, 406, 400, 408, 429, 500, 502, 503, 504] {
            let has_no_schema = matches!(code, 401 | 403 | 404 | 406);
            for failing in [INDEX, DOCUMENT] {
                let crd = served(move |path| match path {
                    _ if path == failing => (code, json!({"kind": "Status", "code": code, "message": "no"})),
                    INDEX => index("a"),
                    _ => complete(),
                });
                let observed = kept(&crd);
                let soon = tokio::time::timeout(LAG / 2, crd.verified()).await;
                assert!(soon.is_err(), "{code} of {failing}: a server that starts may respond so");
                let late = tokio::time::timeout(60 * LAG, crd.verified()).await;
                assert_eq!(late.ok(), has_no_schema.then_some(Ok(())), "{code} of {failing}");
                let mut noted = observed.0.subscribe();
                let first = noted.wait_for(|noted| noted.first_was_failure.is_some()).await.unwrap();
                assert_eq!(first.first_was_failure, Some(!has_no_schema), "{code} of {failing}");
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn objects_are_listed_again_before_they_are_written_again() {
        let (installed, now) = watch::channel("older");
        let crd = served(move |path| {
            let installed = *now.borrow();
            match (path, installed) {
                (INDEX, installed) => index(installed),
                (_, "older") => older(),
                _ => complete(),
            }
        });
        let observed = kept(&crd);
        let lists = || observed.0.borrow().lists;
        crd.verified().await.unwrap_err();
        installed.send_replace("complete");
        while crd.verified().await.is_err() {
            assert_eq!(lists(), 0);
            tokio::time::sleep(PAUSE / 8).await;
        }
        assert_eq!(lists(), 1, "what is cached may be from before");
        crd.doubt();
        crd.verified().await.unwrap();
        assert_eq!(lists(), 1, "nothing has changed");
        // The schema is published later than the watches end.
        installed.send_replace("newer");
        tokio::time::sleep(3 * LAG).await;
        assert_eq!(lists(), 2, "objects may have other defaults");
    }

    #[tokio::test(start_paused = true)]
    async fn a_doubt_that_comes_while_the_schema_is_read_is_not_lost() {
        let crd = Arc::new(OnceLock::<CrdGuard>::new());
        let (doubted, has_changed) = (crd.clone(), Arc::new(AtomicBool::new(false)));
        let served = served(move |path| match path {
            INDEX if has_changed.load(Relaxed) => index("older"),
            INDEX => index("complete"),
            _ if has_changed.swap(true, Relaxed) => older(),
            // The CRD changes after this was read.
            _ => {
                doubted.get().unwrap().doubt();
                complete()
            }
        });
        let crd = crd.get_or_init(|| served);
        kept(crd);
        assert_eq!(crd.verified().await.unwrap_err().lacks, [".spec"]);
    }
}
