//! Whether this process leads now, shared between the election and the fence.

use std::{sync::Arc, time::Duration};

use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::{Notify, watch};

use super::Timing;
use crate::clock::{Clock, Moment};

/// The time during which this process may write. Clones share it.
#[derive(Clone, Debug)]
pub struct Leadership(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    timing: Timing,
    clock: Clock,
    gauge: Gauge,
    /// When the last write of the Lease was sent that is known to be stored; absent while another may lead.
    renewed: watch::Sender<Option<Moment>>,
    check: Notify,
}

impl Leadership {
    /// A leadership that has yet to be won. The gauge is 1 while this process leads.
    pub fn new(timing: Timing, clock: Clock, gauge: Gauge) -> Self {
        Self(Arc::new(Shared {
            timing,
            clock,
            gauge,
            renewed: watch::Sender::default(),
            check: Notify::new(),
        }))
    }

    pub(super) fn timing(&self) -> Timing {
        self.0.timing
    }

    /// The clock that the lease is measured by.
    pub(super) fn clock(&self) -> Clock {
        self.0.clock
    }

    /// A write of the Lease that was sent at this moment is stored.
    pub(super) fn renewed(&self, sent: Moment) {
        self.0.renewed.send_replace(Some(sent));
        self.0.gauge.set(1);
    }

    /// From now on nothing may be written.
    pub(super) fn end(&self) {
        self.0.renewed.send_replace(None);
        self.0.gauge.set(0);
    }

    /// Whether a write may begin.
    pub(super) fn may_begin(&self) -> bool {
        self.until(self.0.timing.renew_deadline).is_some_and(|end| self.0.clock.moment() < end)
    }

    /// How long a write that has begun may go on, unless the lease is renewed meanwhile; zero if it may not.
    pub(super) fn remaining(&self) -> Duration {
        let end = self.until(self.0.timing.lease_duration);
        end.map_or(Duration::ZERO, |end| end.after(self.0.clock.moment()))
    }

    /// Sees each renewal, and the end.
    pub(super) fn renewals(&self) -> watch::Receiver<Option<Moment>> {
        self.0.renewed.subscribe()
    }

    /// Has the election check the time now, because a write came too late.
    pub(super) fn ask_for_check(&self) {
        self.0.check.notify_one();
    }

    /// Waits for [`ask_for_check`](Self::ask_for_check).
    pub(super) async fn check_asked_for(&self) {
        self.0.check.notified().await;
    }

    fn until(&self, span: Duration) -> Option<Moment> {
        self.0.renewed.borrow().map(|sent| sent + span)
    }
}
