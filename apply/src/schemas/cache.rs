//! Fetches the schemas from the API server, and keeps them current.
//!
//! One small request reads the hash of every OpenAPI v3 document; only what has changed is fetched and compiled.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use baton_merge::{Release, ReleaseError, schema::SchemaError, server::Resources};
use kube::{Client, core::ApiResource};
use tokio::sync::{Mutex, Notify, watch};

use super::Schemas;
use crate::{
    ApiError,
    openapi::{self, Index, OpenApiError, document_path},
    types::Types,
    with_timeout,
};

/// The shortest time between two refreshes, however often one is requested.
const SHORTEST_PAUSE: Duration = Duration::from_secs(10);

const VERSION: &str = "the version";
const INDEX: &str = "the index of OpenAPI documents";

/// The schemas of a cluster as they were last read. Clones share them.
#[derive(Clone)]
pub struct SchemaCache {
    client: Client,
    kinds: Arc<[ApiResource]>,
    limit: Duration,
    /// Absent until the first refresh has ended, with or without problems.
    status: watch::Sender<Option<SchemaStatus>>,
    fetched: Arc<Mutex<Documents>>,
    again: Arc<Notify>,
}

/// The result of a refresh.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SchemaStatus {
    /// The schemas.
    pub schemas: Arc<Schemas>,
    /// The kinds without a usable schema.
    pub missing: Vec<ApiResource>,
    /// Whether this refresh changed something.
    pub changed: bool,
    /// The parts that couldn't be read. Earlier schemas stay in use, but a kind whose own document couldn't be read is missing.
    pub problems: Vec<SchemaProblem>,
}

/// A part of the API server that couldn't be read.
#[derive(Clone, Debug, thiserror::Error)]
#[error("can't read {what} of the API server")]
pub struct SchemaProblem {
    /// The part.
    pub what: String,
    source: Arc<FetchError>,
}

#[derive(Debug, thiserror::Error)]
enum FetchError {
    #[error(transparent)]
    Request(#[from] ApiError),
    #[error(transparent)]
    OpenApi(#[from] OpenApiError),
    #[error("the API server doesn't serve it")]
    NotServed,
    #[error("it can't be compiled")]
    Schema(#[from] SchemaError),
    #[error("the server's version can't be used")]
    Release(#[from] ReleaseError),
}

/// A document that was fetched.
struct Fetched {
    /// The URLs, which contain hashes of the content.
    urls: Vec<String>,
    resources: Arc<Resources>,
    types: Arc<Types>,
}

/// The last documents, by their paths.
type Documents = BTreeMap<String, Fetched>;

impl SchemaCache {
    /// A cache for these kinds, which is empty until [`Self::keep_current`] runs, or [`Self::load`] has. Writes of other kinds aren't
    /// predicted, so nothing is skipped and no takeover reported. `limit` is the time limit of each request.
    pub fn new(client: Client, kinds: impl IntoIterator<Item = ApiResource>, limit: Duration) -> Self {
        let (status, _) = watch::channel(None);
        let (kinds, fetched, again) = (kinds.into_iter().collect(), Arc::default(), Arc::default());
        Self { client, kinds, limit, status, fetched, again }
    }

    /// The schemas of the last refresh; none before the first has ended.
    pub fn current(&self) -> Arc<Schemas> {
        self.status.borrow().as_ref().map(|status| status.schemas.clone()).unwrap_or_default()
    }

    /// The result of the last refresh; `None` before the first has ended.
    pub fn status(&self) -> watch::Receiver<Option<SchemaStatus>> {
        self.status.subscribe()
    }

    /// Waits until the first refresh has ended, with or without problems.
    pub async fn ready(&self) {
        // An error means that the cache is gone.
        let _ = self.status().wait_for(Option::is_some).await;
    }

    /// Requests a refresh soon: a prediction was wrong, or a kind has no schema.
    pub fn refresh_soon(&self) {
        self.again.notify_one();
    }

    /// Refreshes now, every `interval`, soon after [`Self::refresh_soon`], and with growing pauses while a kind is missing.
    /// Never returns: spawn it.
    pub async fn keep_current(self, interval: Duration) {
        let shortest = SHORTEST_PAUSE.min(interval);
        let mut pause = shortest;
        loop {
            let is_complete = self.refresh().await.missing.is_empty();
            tokio::time::sleep(shortest).await;
            let rest = if is_complete { interval } else { pause.saturating_sub(shortest) };
            // Requested or not, a refresh is due after this.
            let _ = tokio::time::timeout(rest, self.again.notified()).await;
            pause = if is_complete { shortest } else { pause.saturating_mul(2).min(interval) };
        }
    }

    /// Reads the schemas once, for a program that soon ends: it needs no [`Self::keep_current`].
    ///
    /// # Errors
    /// When one of them can't be read, or isn't served. The others are [known](Self::current) all the same.
    pub async fn load(&self) -> Result<Arc<Schemas>, SchemaProblem> {
        let SchemaStatus { schemas, missing, problems, .. } = self.refresh().await;
        let not_served = |kind: &ApiResource| SchemaProblem {
            what: format!("the schema of {} ({})", kind.kind, kind.api_version),
            source: Arc::new(FetchError::NotServed),
        };
        problems.into_iter().next().or_else(|| missing.first().map(not_served)).map_or(Ok(schemas), Err)
    }

    async fn refresh(&self) -> SchemaStatus {
        let fetched = &mut *self.fetched.lock().await;
        let before = self.status.borrow().as_ref().map(|status| status.schemas.clone());
        let (mut problems, mut changed) = (Vec::new(), false);
        let mut note = |what: String, error| {
            problems.push(SchemaProblem { what, source: Arc::new(error) });
        };
        let release = match self.release().await {
            Ok(release) => Some(release),
            Err(error) => {
                note(VERSION.to_owned(), error);
                before.as_ref().map(|before| before.release())
            }
        };
        match Index::fetch(&self.client, self.limit).await {
            Ok(index) => {
                for kind in &*self.kinds {
                    let path = document_path(kind);
                    match self.document(&index, kind, fetched.get(&path)).await {
                        Ok(None) => {}
                        Ok(Some(document)) => {
                            fetched.insert(path, document);
                            changed = true;
                        }
                        Err(error) => {
                            changed |= fetched.remove(&path).is_some();
                            note(format!("the OpenAPI document {path}"), error);
                        }
                    }
                }
            }
            // Earlier documents stay in use.
            Err(error) => note(INDEX.to_owned(), error.into()),
        }
        changed |= before.as_ref().is_none_or(|before| Some(before.release()) != release);
        let schemas = before.filter(|_| !changed).unwrap_or_else(|| {
            let documents = fetched.iter().map(|(path, document)| (path.clone(), document.resources.clone()));
            // Without the release, its rules aren't known.
            let documents = documents.filter(|_| release.is_some());
            let types = fetched.values().map(|document| document.types.clone());
            Arc::new(Schemas::new(release.unwrap_or_default(), documents).with_types(types))
        });
        let missing = self.kinds.iter().filter(|kind| schemas.resource(kind).is_err()).cloned().collect();
        let status = SchemaStatus { schemas, missing, changed, problems };
        self.status.send_replace(Some(status.clone()));
        status
    }

    async fn release(&self) -> Result<Release, FetchError> {
        let info = with_timeout(self.limit, self.client.apiserver_version()).await?;
        Ok(info.git_version.parse()?)
    }

    /// The document of a kind, compiled; `None` if it is the one that was fetched last.
    async fn document(
        &self,
        index: &Index,
        kind: &ApiResource,
        fetched: Option<&Fetched>,
    ) -> Result<Option<Fetched>, FetchError> {
        // Managers may own fields of the kind in any version of its group.
        index.url(kind).ok_or(FetchError::NotServed)?;
        let urls: Vec<String> = index.urls_of_group(kind).map(str::to_owned).collect();
        if fetched.is_some_and(|fetched| fetched.urls == urls) {
            return Ok(None);
        }
        let all = urls.iter().map(String::as_str);
        let document = openapi::fetch_all(&self.client, self.limit, all, &self.kinds).await?;
        let resources = Arc::new(Resources::from_openapi(&document)?);
        Ok(Some(Fetched { urls, resources, types: Arc::new(Types::from_document(&document)) }))
    }
}
