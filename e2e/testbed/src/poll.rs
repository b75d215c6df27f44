//! Polls until something has happened.

use std::{fmt::Debug, thread, time::Duration};

use tokio::time::Instant;

use crate::Error;

/// Far longer than anything takes, also on a slow and busy machine.
pub const PATIENCE: Duration = Duration::from_mins(3);
/// The first pause, short beside what a test takes.
const PAUSE: Duration = Duration::from_millis(10);
/// The longest pause. Each probe costs the API server a request.
const LONGEST_PAUSE: Duration = Duration::from_millis(200);

/// Calls `probe` until it finds something, with growing pauses, until patience ends.
///
/// # Errors
/// The last error of `probe`, when patience has ended.
pub async fn poll<T, E>(patience: Duration, mut probe: impl AsyncFnMut() -> Result<T, E>) -> Result<T, E> {
    let end = Instant::now() + patience;
    let mut pause = PAUSE;
    loop {
        match probe().await {
            Err(_) if Instant::now() < end => tokio::time::sleep(pause).await,
            outcome => return outcome,
        }
        pause = (pause * 3 / 2).min(LONGEST_PAUSE);
    }
}

/// As [`poll`], for tests: within [`PATIENCE`].
///
/// # Panics
/// When patience has ended, with what `probe` saw last.
pub async fn eventually<T, E: Debug>(what: &str, probe: impl AsyncFnMut() -> Result<T, E>) -> T {
    let outcome = poll(PATIENCE, probe).await;
    outcome.unwrap_or_else(|seen| panic!("waited in vain for {what}; last seen: {seen:#?}"))
}

/// As [`poll`], but an error ends it at once. The inner result of `probe` is what it saw instead.
///
/// # Errors
/// That of `probe`, or a timeout with what was seen last.
pub async fn wait_for<T, E: From<Error>>(
    what: &str,
    limit: Duration,
    mut probe: impl AsyncFnMut() -> Result<Result<T, String>, E>,
) -> Result<T, E> {
    let outcome = poll(limit, async || match probe().await {
        Ok(Ok(found)) => Ok(Ok(found)),
        Ok(Err(seen)) => Err(seen),
        Err(error) => Ok(Err(error)),
    });
    let late = |state| Err(Error::Timeout { what: what.to_owned(), limit, state }.into());
    outcome.await.unwrap_or_else(late)
}

/// Whether `holds` comes true within `limit`, for callers that can't await. Blocks the thread.
pub(crate) fn block_until(limit: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + limit;
    loop {
        let held = holds();
        if held || Instant::now() >= end {
            return held;
        }
        thread::sleep(PAUSE);
    }
}
