//! Checks, while the operator runs, that the cluster's CRD is at least as new.
//!
//! The API server drops fields that its CRD lacks from every Workload that it returns. So under an older CRD a Workload has less
//! than its author wrote, and its children would lose what is missing. Baton writes no children while that may be the case. It
//! reads the published schema before the next pass each time that the watch of Workloads begins (a change of the CRD ends it),
//! and each time that a spec changes without its `generation`.

mod fields;

use std::{sync::Arc, time::Duration};

use baton_apply::{
    ApiError,
    openapi::{self, Index, OpenApiError},
};
use baton_crd::Workload;
use kube::{Client, core::ApiResource};
use serde_json::Value;
use tokio::sync::{Mutex, watch};
use tracing::{info, warn};

pub(crate) use self::fields::Judgement;
use crate::causes::with_causes;

/// How soon the schema is read again while it is older, or can't be read.
const PAUSE: Duration = Duration::from_secs(2);
/// How long the published schema may lag behind the CRD.
const LAG: Duration = Duration::from_secs(10);

/// The CRD as it was last read. Clones share it.
#[derive(Clone)]
pub(crate) struct WorkloadCrd {
    client: Client,
    limit: Duration,
    state: watch::Sender<State>,
    /// The URL of the schema that was read last, which contains its hash.
    read: Arc<Mutex<Option<(String, Judgement)>>>,
}

/// Whether Workloads are returned as their authors wrote them.
#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    /// They are.
    Usable,
    /// They aren't, for this reason.
    Older(String),
    /// Something has changed since the schema was read; `certain` if the schema itself has.
    Doubtful { certain: bool },
}

impl WorkloadCrd {
    pub(crate) fn new(client: Client, limit: Duration) -> Self {
        let (state, _) = watch::channel(State::Doubtful { certain: false });
        Self { client, limit, state, read: Arc::default() }
    }

    /// Reads the published schema and compares it with this version's.
    ///
    /// # Errors
    /// When it can't be read now.
    pub(crate) async fn judge(&self) -> Result<Judgement, OpenApiError> {
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
        self.state.send_if_modified(|state| {
            let is_news = !matches!(state, State::Doubtful { .. });
            if is_news {
                *state = State::Doubtful { certain: false };
            }
            is_news
        });
    }

    /// A Workload has changed without a write, so the CRD has.
    pub(crate) fn doubt_certainly(&self) {
        self.state.send_replace(State::Doubtful { certain: true });
    }

    /// Waits until it is known whether Workloads are returned as their authors wrote them; if not, the error says why.
    pub(crate) async fn verified(&self) -> Result<(), String> {
        let mut state = self.state.subscribe();
        let known = state.wait_for(|state| !matches!(state, State::Doubtful { .. })).await;
        match known.map(|state| state.clone()) {
            Ok(State::Older(message)) => Err(message),
            // An error means that the operator is shutting down.
            _ => Ok(()),
        }
    }

    /// Reads the schema after each doubt, and again and again while it is older. Calls `report` each time with the reason why
    /// Workloads aren't returned as their authors wrote them, or with none once they are. Never ends: spawn it.
    pub(crate) async fn keep_verified(self, report: impl Fn(Option<&str>)) {
        let (mut state, mut reported) = (self.state.subscribe(), None);
        loop {
            let doubt = state.wait_for(|state| *state != State::Usable).await.map(|state| state.clone());
            let Ok(doubt) = doubt else { return };
            let next = self.verify(&doubt).await;
            let older = match &next {
                State::Older(message) => Some(message.clone()),
                State::Usable | State::Doubtful { .. } => None,
            };
            if reported != older {
                match &older {
                    Some(message) => warn!("no child is written: {message}"),
                    None => info!("the CRD is complete again: Baton writes children"),
                }
                report(older.as_deref());
                reported.clone_from(&older);
            }
            self.state.send_if_modified(|state| {
                // There may be a new doubt meanwhile.
                let is_news = *state == doubt && *state != next;
                if is_news {
                    *state = next;
                }
                is_news
            });
            if older.is_some() {
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    async fn verify(&self, doubt: &State) -> State {
        let before = self.url_read().await;
        let (begun, certain) =
            (tokio::time::Instant::now(), matches!(doubt, State::Doubtful { certain: true }));
        loop {
            match self.judge().await {
                Ok(Judgement::Older(message)) => return State::Older(message),
                // While a CRD changes, or is new, nothing is published for a moment.
                Ok(Judgement::Unpublished) if begun.elapsed() < LAG => {}
                Ok(Judgement::Complete | Judgement::Unpublished) => {
                    let is_same = self.url_read().await == before;
                    if !certain || !is_same || begun.elapsed() > LAG {
                        return State::Usable;
                    }
                }
                // If the API server has no schema, Baton works without it.
                Err(OpenApiError::Request(ApiError::Response(_))) => return State::Usable,
                Err(error) => {
                    warn!(error = with_causes(&error), "can't read the CRD; Baton retries");
                }
            }
            tokio::time::sleep(PAUSE / 4).await;
        }
    }

    async fn url_read(&self) -> Option<String> {
        self.read.lock().await.as_ref().map(|(url, _)| url.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        sync::atomic::{AtomicBool, Ordering},
    };

    use http::{Request, Response};
    use kube::client::Body;
    use serde_json::json;

    use super::*;

    /// A real API server does this too, but only for a moment.
    #[tokio::test(start_paused = true)]
    async fn nothing_is_written_until_the_schema_is_published() {
        let is_published = Arc::new(AtomicBool::new(false));
        let publishes = is_published.clone();
        let server = tower::service_fn(move |request: Request<Body>| {
            let document = if request.uri().path() != "/openapi/v3" {
                let kind = json!({"group": "baton.rs", "version": "v1alpha1", "kind": "Workload"});
                json!({"components": {"schemas": {"Workload": {"x-kubernetes-group-version-kind": [kind]}}}})
            } else if publishes.load(Ordering::Relaxed) {
                json!({"paths": {"apis/baton.rs/v1alpha1": {"serverRelativeURL": "/openapi/v3/baton"}}})
            } else {
                json!({"paths": {}})
            };
            let response = Response::new(Body::from(document.to_string().into_bytes()));
            std::future::ready(Ok::<_, Infallible>(response))
        });
        let crd = WorkloadCrd::new(Client::new(server, "default"), LAG);
        let keeping = tokio::spawn(crd.clone().keep_verified(|_| ()));
        let verified = tokio::time::timeout(LAG / 2, crd.verified()).await;
        assert!(verified.is_err(), "nothing is known yet");
        is_published.store(true, Ordering::Relaxed);
        let older = crd.verified().await.unwrap_err();
        assert!(older.contains(".spec"), "{older}");
        keeping.abort();
    }
}
