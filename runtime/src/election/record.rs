//! The parts of a Lease that an election reads and writes.

use std::time::Duration;

use jiff::{Timestamp, Unit};
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
};
use kube::{ResourceExt, core::ObjectMeta};

use super::watchdog::Suspect;

/// The Lease at one resourceVersion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ElectionRecord {
    /// `holderIdentity`; empty if it has no holder.
    pub(super) holder: String,
    /// `leaseDurationSeconds`; may be absent.
    pub(super) duration: Option<Duration>,
    /// `acquireTime`, by the holder's clock.
    pub(super) acquired: Option<Timestamp>,
    /// `renewTime`, by the holder's clock. Only compared for equality.
    pub(super) renewed: Option<Timestamp>,
    /// `leaseTransitions`.
    pub(super) transitions: i32,
    /// The leader's note in an annotation.
    pub(super) suspect: Option<Suspect>,
    /// `metadata.resourceVersion`.
    pub(super) version: String,
}

impl ElectionRecord {
    /// The record in a Lease, with the note in this annotation.
    pub(super) fn of(lease: Lease, annotation: &str) -> Self {
        let version = lease.resource_version().unwrap_or_default();
        let suspect = lease.annotations().get(annotation).and_then(|text| text.parse().ok());
        let spec = lease.spec.unwrap_or_default();
        let seconds = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
        Self {
            holder: spec.holder_identity.unwrap_or_default(),
            duration: seconds.map(Duration::from_secs),
            acquired: spec.acquire_time.map(|time| time.0),
            renewed: spec.renew_time.map(|time| time.0),
            transitions: spec.lease_transitions.unwrap_or_default(),
            suspect,
            version,
        }
    }

    /// Whether a later record is no news of the holder, such as after a change of the Lease's labels.
    pub(super) fn is_not_renewed_by(&self, later: &Self) -> bool {
        let Self { holder, duration, acquired, renewed, transitions, suspect: _, version: _ } = later;
        (&self.holder, &self.duration, &self.acquired, &self.renewed, &self.transitions)
            == (holder, duration, acquired, renewed, transitions)
    }
}

/// A write of the Lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Draft {
    pub(super) holder: String,
    pub(super) duration: Duration,
    pub(super) acquired: Timestamp,
    pub(super) renewed: Timestamp,
    pub(super) transitions: i32,
    pub(super) suspect: Option<Suspect>,
    /// The resourceVersion that the Lease has to have; absent to create it.
    pub(super) version: Option<String>,
}

impl Draft {
    /// The object to send. The guard is in its metadata, where the API server checks it.
    pub(super) fn lease(&self, name: &str, annotation: &str) -> Lease {
        // Not at the creation, which is no apply: what an apply leaves out later would stay.
        let suspect = self.suspect.as_ref().filter(|_| self.version.is_some());
        let metadata = ObjectMeta {
            name: Some(name.to_owned()),
            resource_version: self.version.clone(),
            annotations: suspect.map(|suspect| [(annotation.to_owned(), suspect.to_string())].into()),
            ..ObjectMeta::default()
        };
        let spec = LeaseSpec {
            holder_identity: Some(self.holder.clone()),
            lease_duration_seconds: Some(i32::try_from(self.duration.as_secs()).unwrap_or(i32::MAX)),
            acquire_time: Some(MicroTime(self.acquired)),
            renew_time: Some(MicroTime(self.renewed)),
            lease_transitions: Some(self.transitions),
            ..LeaseSpec::default()
        };
        Lease { metadata, spec: Some(spec) }
    }
}

/// A time with the precision of a Lease, so that it is equal when it is read again.
pub(super) fn stamp(time: Timestamp) -> Timestamp {
    let format = jiff::TimestampRound::new().smallest(Unit::Microsecond).mode(jiff::RoundMode::Trunc);
    time.round(format).unwrap_or(time)
}
