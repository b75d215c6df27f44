//! What all passes of the loop share: the way to the API server, the caches, and what is remembered for the sake of pace.
//!
//! Nothing that is remembered here decides what is written. After a restart it is learnt anew.

use std::{
    collections::{HashMap, HashSet},
    sync::Mutex,
    time::{Duration, Instant},
};

use baton_crd::Workload;
use kube::{Resource, ResourceExt, runtime::events::Event};
use tracing::warn;

use crate::{
    backoff::Backoff, causes::with_causes, child::ChildKind, contention::Contention, lock::lock,
    predict::Take, report::Pass, resync::Resync, watched::WatchedWorkload, watches::Stores, write::Writer,
};

/// How long the status of a Workload that is fought about may be out of date, so that the fight isn't written down as fast as
/// it is fought.
const OLDEST_STATUS_IN_A_FIGHT: Duration = Duration::from_secs(30);

/// What every pass shares.
pub(crate) struct Context {
    pub(crate) writer: Writer,
    pub(crate) stores: Stores,
    backoff: Mutex<Backoff>,
    contention: Mutex<Contention>,
    resync: Mutex<Resync>,
    /// The Workloads whose fights were taken up from their status, by uid.
    taken_up: Mutex<HashSet<String>>,
    /// What was taken and isn't in the status yet, because that couldn't be written, by uid.
    untold: Mutex<HashMap<String, Vec<(ChildKind, Take)>>>,
    /// When the status of each Workload that is fought about was written last, by uid.
    reported: Mutex<HashMap<String, Instant>>,
    /// The generation at which each Workload that can't be read was reported, by uid: its own status can't be read
    /// either, so that it would be written again and again.
    undecodable: Mutex<HashMap<String, i64>>,
}

impl Context {
    pub(crate) fn new(writer: Writer, stores: Stores, resync: Duration) -> Self {
        Self {
            writer,
            stores,
            backoff: Mutex::default(),
            contention: Mutex::default(),
            resync: Mutex::new(Resync::new(resync)),
            taken_up: Mutex::default(),
            untold: Mutex::default(),
            reported: Mutex::default(),
            undecodable: Mutex::default(),
        }
    }

    /// Waits until there is something to see and something to predict with.
    pub(crate) async fn ready(&self) {
        self.stores.ready().await;
        if let Some(schemas) = &self.writer.schemas {
            schemas.looked().await;
        }
    }

    /// An Event that is lost is lost; the status says the same.
    pub(crate) async fn publish(&self, workload: &Workload, event: &Event) {
        if let Err(error) = self.writer.actor.publish(workload, event).await {
            warn!(workload = workload.name_any(), error = with_causes(&error), "can't write an Event");
        }
    }

    pub(crate) fn backoff<T>(&self, with: impl FnOnce(&mut Backoff) -> T) -> T {
        with(&mut lock(&self.backoff))
    }

    pub(crate) fn contention<T>(&self, with: impl FnOnce(&mut Contention) -> T) -> T {
        with(&mut lock(&self.contention))
    }

    pub(crate) fn resync<T>(&self, with: impl FnOnce(&mut Resync) -> T) -> T {
        with(&mut lock(&self.resync))
    }

    /// Whether the fights that a Workload's status tells of are still to be taken up. Asking counts as taking up: later it is
    /// the status that follows what is known here.
    pub(crate) fn takes_up_fights(&self, uid: &str) -> bool {
        lock(&self.taken_up).insert(uid.to_owned())
    }

    /// What was taken in earlier passes and isn't in the status yet. Asking forgets it.
    pub(crate) fn untold(&self, uid: &str) -> Vec<(ChildKind, Take)> {
        lock(&self.untold).remove(uid).unwrap_or_default()
    }

    /// Keeps what was taken until the status can be written.
    pub(crate) fn tell_later(&self, uid: &str, takes: &[(ChildKind, Take)]) {
        if !takes.is_empty() {
            lock(&self.untold).insert(uid.to_owned(), takes.to_vec());
        }
    }

    /// In a fight, what the other side does is not written down each time: how long the status may wait.
    pub(crate) fn status_may_wait(&self, pass: &Pass, uid: &str) -> Option<Duration> {
        let (mut reported, now) = (lock(&self.reported), Instant::now());
        let Some(pause) = pass.fights.iter().map(|fight| fight.pause).max() else {
            reported.remove(uid);
            return None;
        };
        let oldest = pause.min(OLDEST_STATUS_IN_A_FIGHT);
        let wait = reported.get(uid).and_then(|last| (*last + oldest).checked_duration_since(now));
        if wait.is_some_and(|wait| !wait.is_zero()) && pass.takes.is_empty() {
            return wait;
        }
        reported.insert(uid.to_owned(), now);
        None
    }

    /// Whether a Workload that can't be read wasn't reported at its generation yet.
    pub(crate) fn is_news(&self, undecodable: &WatchedWorkload) -> bool {
        let generation = undecodable.meta().generation.unwrap_or_default();
        lock(&self.undecodable).get(&undecodable.uid().unwrap_or_default()) != Some(&generation)
    }

    /// Notes that a Workload that can't be read was reported: at this generation it isn't news any more.
    pub(crate) fn tell_no_more(&self, undecodable: &WatchedWorkload) {
        let generation = undecodable.meta().generation.unwrap_or_default();
        lock(&self.undecodable).insert(undecodable.uid().unwrap_or_default(), generation);
    }
}
