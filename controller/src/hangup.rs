//! SIGHUP: look at every Workload again, now.
//!
//! For people who don't want to wait for the next change, and for tests. Asks for passes only; what they do is decided as
//! always, so that on a settled cluster it is nothing. While a watch fails, the controller pauses between its attempts, and
//! asks for nothing meanwhile; a signal that comes then has its effect later.

use std::io;

use futures::{Stream, stream};
use tokio::signal::unix::{SignalKind, signal};

/// Each SIGHUP from now on. Without this, the first one would end the process.
///
/// # Errors
/// When the system refuses the signal handler.
pub(crate) fn hangups() -> io::Result<impl Stream<Item = ()> + Send + 'static> {
    let mut hangup = signal(SignalKind::hangup())?;
    Ok(stream::poll_fn(move |context| hangup.poll_recv(context)))
}
