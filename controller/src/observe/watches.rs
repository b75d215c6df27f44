//! The watches that feed the caches, and the Workloads that need a pass because of their events.

use std::{fmt, time::Duration};

use baton_apply::{ApiError, LiveObject, cache::NamespacedName, crd::CrdGuard, with_timeout};
use baton_crd::{Workload, labels};
use baton_runtime::{clock::now, text::with_causes};
use futures::{
    FutureExt as _, Stream, StreamExt,
    stream::{self, BoxStream},
};
use kube::{
    Api, Client,
    api::ListParams,
    core::ApiResource,
    runtime::{WatchStreamExt, watcher, watcher::Event},
};
use tracing::warn;

use super::{Stores, stores::WORKLOADS};
use crate::decide::child::ChildKind;

/// How many objects a response to a list has at most.
pub(crate) const PAGE: u32 = 10;

/// How often a repeated failure of a watch is logged.
const LOGGED_EVERY: Duration = Duration::from_secs(30);

/// The Workloads that need a pass, because they, a child or an autoscaler of their Deployment has changed. The stream feeds the caches
/// while it is polled, and never ends.
pub(crate) type Touched = BoxStream<'static, NamespacedName>;

/// The namespaces and the shard of Baton's Workloads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    /// All if empty.
    pub(crate) namespaces: Vec<String>,
    /// The shard of the Workloads; none for those without a shard.
    pub(crate) shard: Option<String>,
}

impl Scope {
    /// Each namespace that is watched; a single `None` for all.
    pub(crate) fn namespaces(&self) -> Vec<Option<&str>> {
        if self.namespaces.is_empty() {
            return vec![None];
        }
        self.namespaces.iter().map(|name| Some(name.as_str())).collect()
    }

    /// The label selector of the shard's Workloads, and of their children.
    fn selector(&self) -> String {
        match &self.shard {
            Some(shard) => format!("{}={shard}", labels::SHARD),
            None => format!("!{}", labels::SHARD),
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespaces.as_slice() {
            [] => f.write_str("all namespaces")?,
            names => f.write_str(&names.join(", "))?,
        }
        self.shard.iter().try_for_each(|shard| write!(f, ", shard {shard}"))
    }
}

/// The objects of a kind in a namespace, or in all.
fn scoped(client: &Client, namespace: Option<&str>, resource: &ApiResource) -> Api<LiveObject> {
    match namespace {
        None => Api::all_with(client.clone(), resource),
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, resource),
    }
}

/// The Workloads in a namespace, or in all.
pub(crate) fn workloads_in(client: &Client, namespace: Option<&str>) -> Api<LiveObject> {
    scoped(client, namespace, &ApiResource::erase::<Workload>(&()))
}

/// Prepares the watches: in each namespace of the scope, one for Workloads and one for each kind of child. All
/// HorizontalPodAutoscalers are watched, since one without Baton's label can scale a Deployment too. Of the other kinds, only objects
/// with the labels of Baton and of the shard are watched. The children's watches begin when the Workloads are known, since only children
/// of these are cached. The CRD is doubted each time that a watch of Workloads fails or begins: a change of the CRD ends most watches,
/// and so do many other events.
pub(crate) fn watch(client: &Client, scope: &Scope, crd: &CrdGuard) -> (Stores, Touched) {
    let stores = Stores::of_shard(scope.shard.as_deref());
    let selected = watcher::Config::default().labels(&scope.selector());
    let ours = format!("{}={},{}", labels::MANAGED_BY, labels::MANAGED_BY_BATON, scope.selector());
    let mut touched = Vec::new();
    for namespace in scope.namespaces() {
        let (mut feed, crd) = (stores.feed_workloads(namespace), crd.clone());
        let workloads = events(WORKLOADS, namespace, workloads_in(client, namespace), selected.clone());
        let feed = move |event| {
            if matches!(event, Err(_) | Ok(Event::Init)) {
                crd.doubt();
            }
            stream::iter(feed(&event))
        };
        touched.push(workloads.flat_map(feed).boxed());

        for kind in ChildKind::ALL {
            let config = watcher::Config::default();
            let config = if kind == ChildKind::Autoscaler { config } else { config.labels(&ours) };
            let api = scoped(client, namespace, &kind.api_resource());
            let mut feed = stores.feed_children(kind, namespace);
            let events = events(kind.name(), namespace, api, config);
            let events = events.flat_map(move |event| stream::iter(feed(&event)));
            let workloads = stores.workloads.clone();
            let begin = async move {
                workloads.filled().await;
                events
            };
            touched.push(begin.flatten_stream().boxed());
        }
    }
    (stores, stream::select_all(touched).boxed())
}

/// The events and errors of a watch; a pause follows each error, and it is logged.
fn events(
    kind: &'static str,
    namespace: Option<&str>,
    api: Api<LiveObject>,
    config: watcher::Config,
) -> impl Stream<Item = watcher::Result<Event<LiveObject>>> + Send + 'static + use<> {
    let namespace = namespace.map(str::to_owned);
    // The last failure that was logged, and when.
    let mut logged: Option<(String, _)> = None;
    let log = move |event: &watcher::Result<Event<LiveObject>>| match event {
        // A list that begins may still fail.
        Ok(Event::Init) => {}
        Ok(_) => logged = None,
        Err(error) => {
            let (error, now) = (with_causes(error), now());
            let is_logged =
                |(before, when): &(String, _)| *before == error && now.duration_since(*when) < LOGGED_EVERY;
            if !logged.as_ref().is_some_and(is_logged) {
                warn!(
                    watch = kind,
                    namespace,
                    error,
                    "a watch failed; Baton retries. If this goes on: is the Workload CRD installed, and may Baton list and \
                     watch in its scope?"
                );
                logged = Some((error, now));
            }
        }
    };
    watcher(api, config.page_size(PAGE)).default_backoff().inspect(log)
}

impl Stores {
    /// Lists the Workloads of the scope again, beside their watches, which may list them only later.
    pub(crate) async fn relist_workloads(
        &self,
        client: &Client,
        scope: &Scope,
        limit: Duration,
    ) -> Result<(), ApiError> {
        for namespace in scope.namespaces() {
            let api = workloads_in(client, namespace);
            let mut params = ListParams::default().labels(&scope.selector()).limit(PAGE);
            loop {
                let page = with_timeout(limit, api.list(&params)).await?;
                page.iter().for_each(|listed| self.workloads.store_listed(listed));
                match page.metadata.continue_.filter(|token| !token.is_empty()) {
                    Some(token) => params.continue_token = Some(token),
                    None => break,
                }
            }
        }
        Ok(())
    }
}
