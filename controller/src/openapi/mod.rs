//! Fetches the schemas from the API server, and keeps them current.
//!
//! One small request tells the hash of every OpenAPI v3 document; only what has changed is fetched and compiled. Refuses to
//! know what the schemas are for.

mod document;
mod lean;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use baton_merge::{Release, ReleaseError, schema::SchemaError, server::Resources};
use kube::Client;
use tokio::sync::{Notify, watch};
use tracing::{debug, info, warn};

pub(crate) use self::{
    document::{INDEX, Index, get},
    lean::read,
};
use crate::{
    act::{ActError, bounded},
    causes::with_causes,
    child::Kind,
    metrics::RefreshOutcome,
    predict::{Schemas, document_path},
};

/// How soon after one look at the API server's documents the next may follow, whatever seems wrong with them.
const SHORTEST_PAUSE: Duration = Duration::from_secs(10);

/// The schemas of the cluster as they were last seen, shared by whoever predicts.
#[derive(Clone)]
pub(crate) struct SchemaCache {
    client: Client,
    request_timeout: Duration,
    /// Absent until the first look has ended, well or not.
    current: watch::Sender<Option<Arc<Schemas>>>,
    again: Arc<Notify>,
}

/// Why a document can't be used.
#[derive(Debug, thiserror::Error)]
enum FetchError {
    #[error(transparent)]
    Request(#[from] ActError),
    #[error("the answer isn't JSON")]
    Json(#[from] serde_json::Error),
    #[error("the API server doesn't serve it")]
    NotServed,
    #[error("it can't be compiled")]
    Schema(#[from] SchemaError),
    #[error("the server's version can't be used")]
    Release(#[from] ReleaseError),
}

/// What was fetched last, by the path of the document.
type Fetched = BTreeMap<&'static str, (String, Arc<Resources>)>;

impl SchemaCache {
    pub(crate) fn new(client: Client, request_timeout: Duration) -> Self {
        let (current, _) = watch::channel(None);
        Self { client, request_timeout, current, again: Arc::default() }
    }

    /// What is known now; nothing before the first look has ended.
    pub(crate) fn current(&self) -> Arc<Schemas> {
        self.current.borrow().clone().unwrap_or_default()
    }

    /// Waits until the first look has ended, well or not.
    pub(crate) async fn looked(&self) {
        // An error means that the cache is gone, and the operator with it.
        let _ = self.current.subscribe().wait_for(Option::is_some).await;
    }

    /// Asks for a look soon: a prediction was wrong, or a kind has no schema.
    pub(crate) fn look_again(&self) {
        self.again.notify_one();
    }

    /// Looks at the documents now, every `interval`, and soon after somebody asked for it; tells what came of each look.
    pub(crate) async fn keep_current(self, interval: Duration, mut tell: impl FnMut(RefreshOutcome, bool)) {
        let (mut fetched, mut pause) = (Fetched::new(), SHORTEST_PAUSE.min(interval));
        loop {
            let refresh = self.refresh(&mut fetched).await;
            let usable = self.current().missing().is_empty();
            tell(refresh, usable);
            tokio::time::sleep(pause).await;
            if usable {
                pause = SHORTEST_PAUSE.min(interval);
                // Whether somebody asked or it is time: the next look is due.
                let _ = tokio::time::timeout(interval, self.again.notified()).await;
            } else {
                pause = (2 * pause).min(interval);
            }
        }
    }

    async fn refresh(&self, fetched: &mut Fetched) -> RefreshOutcome {
        let before = self.current.borrow().clone();
        let (mut failed, mut changed) = (false, false);
        let mut note = |what: &str, error: &FetchError| {
            failed = true;
            warn!(
                error = with_causes(error),
                "can't read {what} of the API server; until it can, what depends on it is applied without being predicted"
            );
        };
        let release = match self.release().await {
            Ok(release) => Some(release),
            Err(error) => {
                note("the version", &error);
                before.as_ref().map(|before| before.release())
            }
        };
        match self.index().await {
            Ok(index) => {
                for path in Kind::ALL.map(document_path) {
                    match self.document(&index, path, fetched.get(path)).await {
                        Ok(None) => {}
                        Ok(Some(document)) => {
                            debug!(path, "the schemas have changed");
                            fetched.insert(path, document);
                            changed = true;
                        }
                        Err(error) => {
                            note(&format!("the OpenAPI document {path}"), &error);
                            changed |= fetched.remove(path).is_some();
                        }
                    }
                }
            }
            // What was fetched before is as good as it was.
            Err(error) => note("the index of OpenAPI documents", &error),
        }
        changed |= before.as_ref().is_none_or(|before| Some(before.release()) != release);
        if changed {
            let documents = fetched.iter().map(|(path, (_, resources))| (*path, resources.clone()));
            // Rules of a release that nobody knows would be a guess.
            let documents = documents.filter(|_| release.is_some());
            let schemas = Schemas::new(release.unwrap_or_default(), documents);
            info!(release = release.map(|release| release.to_string()), missing = ?schemas.missing(), "schemas read");
            self.current.send_replace(Some(Arc::new(schemas)));
        }
        match (failed, changed) {
            (true, _) => RefreshOutcome::Failed,
            (false, true) => RefreshOutcome::Changed,
            (false, false) => RefreshOutcome::Unchanged,
        }
    }

    async fn release(&self) -> Result<Release, FetchError> {
        let info = bounded(self.request_timeout, self.client.apiserver_version()).await?;
        Ok(info.git_version.parse()?)
    }

    async fn index(&self) -> Result<Index, FetchError> {
        Ok(serde_json::from_str(&self.get(INDEX).await?)?)
    }

    /// The document at a path, compiled; nothing if it is the one that was fetched last.
    async fn document(
        &self,
        index: &Index,
        path: &str,
        fetched: Option<&(String, Arc<Resources>)>,
    ) -> Result<Option<(String, Arc<Resources>)>, FetchError> {
        let url = index.url(path).ok_or(FetchError::NotServed)?;
        if fetched.is_some_and(|(fetched, _)| fetched == url) {
            return Ok(None);
        }
        let document = read(&self.get(url).await?)?;
        let resources = Resources::from_openapi(&document)?;
        Ok(Some((url.to_owned(), Arc::new(resources))))
    }

    async fn get(&self, url: &str) -> Result<String, FetchError> {
        Ok(get(&self.client, self.request_timeout, url).await?)
    }
}
