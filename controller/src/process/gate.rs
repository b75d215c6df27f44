//! The reasons why Baton isn't ready: gates of its [`Readiness`].
//!
//! Ready means: the self-check found nothing missing, every cache is filled, the API server's schemas were read, and no watch has
//! been failing for long. A standby is ready as well. So users see which process gets no changes.

use std::time::Duration;

use baton_runtime::readiness::Readiness;

use crate::observe::Stores;

/// Whether Baton can work here at all.
pub(super) const SELF_CHECK: &str = "self-check";
/// Whether it is known that the CRD has every field that this release reads.
pub(super) const CRD: &str = "crd";
/// Whether the schemas were read.
pub(super) const SCHEMAS: &str = "schemas";
/// Whether it isn't shutting down.
pub(super) const SHUTDOWN: &str = "shutdown";

/// How long a watch may fail until the operator isn't ready. Watches end and start again all the time.
const UNREADY_AFTER: Duration = Duration::from_mins(1);

/// The readiness of an operator that has just started.
pub(super) fn readiness(stores: Stores) -> Readiness {
    let readiness = Readiness::default();
    readiness.close(SELF_CHECK, "the self-check hasn't ended yet");
    readiness.close(SCHEMAS, "reading the API server's schemas for the first time");
    readiness.check(move || {
        let unfilled: Vec<_> = stores.unfilled().into_iter().collect();
        let waiting = (!unfilled.is_empty())
            .then(|| format!("waiting for the caches to fill: {}", unfilled.join(", ")));
        let failing = stores.failing_for(UNREADY_AFTER).into_iter();
        let failing = failing
            .map(|(kind, seconds)| format!("a watch has been failing for {seconds} s: {kind}; see the log"));
        waiting.into_iter().chain(failing).collect()
    });
    readiness
}
