//! Asking again and again, for what comes in its own time. It doesn't know what is asked, nor what to say when it didn't come.

use std::time::{Duration, Instant};

/// What `probe` finds. As long as it finds nothing, it is asked again after each pause, until patience ends.
///
/// # Errors
/// When patience has ended: what `probe` saw last instead.
pub async fn poll<T, E>(
    patience: Duration,
    pause: Duration,
    probe: impl AsyncFn() -> Result<T, E>,
) -> Result<T, E> {
    let end = Instant::now() + patience;
    loop {
        match probe().await {
            Err(_) if Instant::now() < end => tokio::time::sleep(pause).await,
            outcome => return outcome,
        }
    }
}
