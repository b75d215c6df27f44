//! Watches.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use baton_merge::schema::kinds::GroupVersionKind;
use bytes::Bytes;
use futures::stream;
use serde_json::{Value, json};
use tokio::{sync::watch::Receiver, time::Instant};

use super::{Selection, check_cached, check_not_newer, form::Rendering, version_of};
use crate::{
    http::{Body, Request, Response},
    options::ListOptions,
    server::{RequestTarget, Server, media},
    status::Failure,
    store::{Change, ChangeKind, Range, Record},
};

/// The interval of bookmarks.
const BOOKMARKS: Duration = Duration::from_mins(1);
/// The duration of a watch without a timeout: a real server's is between this and twice this.
const LASTS: Duration = Duration::from_mins(30);
/// The longest duration: the clock can't represent times that are too far away.
const LASTS_AT_MOST: Duration = Duration::from_hours(24 * 365);
/// The time of the last bookmark before the end.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);

/// A response with a watch.
pub(super) fn watch(
    server: &Arc<Server>,
    request: &Request,
    target: &RequestTarget,
    options: &ListOptions,
) -> Result<Response, Failure> {
    let selection = Selection::read(target, options)?;
    let rendering = Rendering::new(request, &target.resource, media(request, target)?, server.now())?;
    let from = version_of(&options.resource_version)?;
    check_cached(server, &target.resource)?;
    let lasts = match options.timeout_seconds {
        None | Some(0) => LASTS,
        Some(seconds) => Duration::from_secs(u64::try_from(seconds).unwrap_or_default()).min(LASTS_AT_MOST),
    };
    let ends = Instant::now() + lasts;
    let mut watch = Watch {
        server: server.clone(),
        target: target.clone(),
        definition: target.resource.definition().cloned(),
        selection,
        rendering,
        changes: server.store.changes(),
        seen: from,
        wants_bookmarks: options.bookmarks,
        next_bookmark: next_bookmark(ends),
        ends,
        queue: VecDeque::new(),
        has_sent: false,
        is_over: false,
    };
    if !watch.rendering.has_events() {
        watch.is_over = true;
    } else if lasts.is_zero() {
        watch.fail(&Failure::new(500, "InternalError", "context deadline exceeded"));
    } else if options.initial_events == Some(true) {
        match check_not_newer(server, from) {
            Ok(()) => watch.begin(),
            Err(failure) => watch.fail(&failure),
        }
    } else if from == 0 {
        watch.seen = server.store.version();
    }
    let events = stream::unfold(watch, |mut watch| async move { Some((watch.next().await?, watch)) });
    Ok(Response { body: Body::stream(events), ..Response::text(200, String::new()) })
}

struct Watch {
    server: Arc<Server>,
    target: RequestTarget,
    /// The CRD of a custom resource.
    definition: Option<Arc<Value>>,
    selection: Selection,
    rendering: Rendering,
    changes: Receiver<u64>,
    /// The version up to which changes are queued or sent.
    seen: u64,
    wants_bookmarks: bool,
    next_bookmark: Instant,
    ends: Instant,
    queue: VecDeque<Bytes>,
    has_sent: bool,
    is_over: bool,
}

impl Watch {
    /// The next event; none at the end.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Some(event);
            }
            if self.is_over {
                return None;
            }
            // Marked as seen before the read, so that no change is missed.
            self.changes.mark_unchanged();
            self.take_changes();
            self.is_over |= self.is_outdated();
            if !self.queue.is_empty() || self.is_over {
                continue;
            }
            tokio::select! {
                biased;
                changed = self.changes.changed() => changed.ok()?,
                () = tokio::time::sleep_until(self.ends) => return None,
                () = tokio::time::sleep_until(self.next_bookmark), if self.wants_bookmarks => {
                    self.next_bookmark = next_bookmark(self.ends);
                    self.bookmark(false);
                }
            }
        }
    }

    /// Queues the initial events.
    fn begin(&mut self) {
        let namespace = (!self.target.namespace.is_empty()).then(|| self.target.namespace.clone());
        let range = Range { namespace, ..Range::default() };
        // Only lists at an older version can fail.
        let Ok(snapshot) = self.server.store.list(&self.target.resource.storage, &range) else { return };
        for (_, record) in &snapshot.objects {
            if self.selection.picks(record) {
                self.push("ADDED", record);
            }
        }
        self.seen = snapshot.version;
        if self.wants_bookmarks {
            self.bookmark(true);
        }
    }

    /// Whether the CRD changed, which replaces the storage, as in `tearDown` of
    /// `apiextensions-apiserver/pkg/apiserver/customresource_handler.go`, without its wait of a second.
    fn is_outdated(&mut self) -> bool {
        let Some(known) = self.definition.as_ref() else { return false };
        let GroupVersionKind { group, version, .. } = &self.target.resource.gvk;
        let registry = self.server.registry();
        let served = registry.resource(group, version, &self.target.resource.plural);
        let Some(now) = served.and_then(|resource| resource.definition()) else { return true };
        if !Arc::ptr_eq(known, now) {
            if known["spec"] != now["spec"] {
                return true;
            }
            self.definition = Some(now.clone());
        }
        false
    }

    fn take_changes(&mut self) {
        match self.server.store.changes_after(&self.target.resource.storage, self.seen) {
            Ok((changes, version)) => {
                for change in &changes {
                    self.take(change);
                }
                self.seen = self.seen.max(version);
            }
            Err(old) => {
                let message = format!("too old resource version: {} ({})", self.seen, old.oldest);
                self.fail(&Failure::expired(message));
            }
        }
    }

    fn fail(&mut self, failure: &Failure) {
        self.queue.push_back(event("ERROR", &failure.to_json().to_string()));
        self.is_over = true;
    }

    /// Queues a change: an object that starts to match is ADDED, one that stops to match is DELETED.
    fn take(&mut self, change: &Change) {
        if !self.target.namespace.is_empty() && change.key.namespace != self.target.namespace {
            return;
        }
        let picks = |record: &Arc<Record>| self.selection.picks(record);
        let was = change.previous.as_ref().is_some_and(picks);
        let is = change.kind != ChangeKind::Deleted && picks(&change.record);
        match (was, is) {
            (false, true) => self.push("ADDED", &change.record),
            (true, true) => self.push("MODIFIED", &change.record),
            (true, false) => {
                // The last matching state, at the version of this change.
                if let Some(previous) = &change.previous {
                    let last = previous.at_version(change.version);
                    self.push("DELETED", &last);
                }
            }
            (false, false) => {}
        }
    }

    fn push(&mut self, kind: &str, record: &Record) {
        let is_first = !self.has_sent;
        self.has_sent = true;
        let object = match self.rendering.event(record, is_first) {
            Ok(object) => event(kind, &object),
            Err(failure) => event("ERROR", &failure.to_json().to_string()),
        };
        self.queue.push_back(object);
    }

    fn bookmark(&mut self, ends_initial_events: bool) {
        let bookmark = self.rendering.bookmark(self.seen, ends_initial_events, !self.has_sent);
        self.queue.push_back(match bookmark {
            Ok(bookmark) => event("BOOKMARK", &bookmark.to_string()),
            Err(failure) => event("ERROR", &failure.to_json().to_string()),
        });
    }
}

/// The time of the next bookmark.
fn next_bookmark(ends: Instant) -> Instant {
    let now = Instant::now();
    let last = ends.checked_sub(LAST_BOOKMARK).filter(|last| *last > now);
    last.map_or(now + BOOKMARKS, |last| last.min(now + BOOKMARKS))
}

fn event(kind: &str, object: &str) -> Bytes {
    format!("{{\"type\":{},\"object\":{object}}}\n", json!(kind)).into()
}
