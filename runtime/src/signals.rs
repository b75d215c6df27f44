//! Signals to a program with a reconcile loop.
//!
//! The first SIGTERM or Ctrl-C begins a graceful shutdown: passes under way are finished, and no new one begins. A second one, or
//! the end of a grace period, ends the program at once if it waits for [`Shutdown::overdue`] beside all that it does; otherwise a
//! request without a response keeps it. SIGHUP asks for a pass of every object, now.

use std::{io, time::Duration};

use futures::{Stream, StreamExt as _, stream, stream::BoxStream};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::{
        mpsc,
        watch::{self, Receiver, channel},
    },
};
use tracing::{info, warn};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Running,
    Stopping,
    Now,
}

/// The signals to a program while it runs.
#[non_exhaustive]
pub struct Signals {
    /// SIGTERM and Ctrl-C.
    pub shutdown: Shutdown,
    /// Each SIGHUP.
    pub sighups: BoxStream<'static, ()>,
}

impl Signals {
    /// The signals to this process, from now on.
    ///
    /// # Errors
    /// When the system refuses the signal handlers.
    pub fn of_process() -> io::Result<Self> {
        Ok(Self { shutdown: Shutdown::on_signals()?, sighups: sighups()?.boxed() })
    }

    /// Signals from a [`Control`].
    pub fn controlled() -> (Control, Self) {
        let (stage, shutdown) = channel(Stage::Running);
        let (again, mut received) = mpsc::unbounded_channel();
        let sighups = stream::poll_fn(move |context| received.poll_recv(context)).boxed();
        (Control { stage, again }, Self { shutdown: Shutdown(shutdown), sighups })
    }
}

/// Signals to a program that runs as a task, such as in a test.
pub struct Control {
    stage: watch::Sender<Stage>,
    again: mpsc::UnboundedSender<()>,
}

impl Control {
    /// Shuts it down, as SIGTERM does.
    pub fn stop(&self) {
        self.stage.send_modify(|stage| {
            *stage = if *stage == Stage::Running { Stage::Stopping } else { Stage::Now }
        });
    }

    /// Asks for a pass of every object, as SIGHUP does.
    pub fn reconcile_all(&self) {
        // It fails only if the program has ended.
        let _ = self.again.send(());
    }
}

/// How far the shutdown is. Clones share it.
#[derive(Clone, Debug)]
pub struct Shutdown(Receiver<Stage>);

impl Shutdown {
    /// Listens for signals from now on.
    ///
    /// # Errors
    /// When the system refuses the signal handlers.
    fn on_signals() -> io::Result<Self> {
        let (mut terminate, mut interrupt) =
            (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let (stage, receiver) = channel(Stage::Running);
        tokio::spawn(async move {
            either(&mut terminate, &mut interrupt).await;
            info!("stopping: passes under way are finished; a second signal ends them");
            stage.send_replace(Stage::Stopping);
            either(&mut terminate, &mut interrupt).await;
            stage.send_replace(Stage::Now);
        });
        Ok(Self(receiver))
    }

    /// Resolves when the shutdown has begun.
    pub async fn begun(mut self) {
        self.reached(Stage::Stopping).await;
    }

    /// Resolves when passes under way are abandoned: once the shutdown has begun, at a second signal or after this grace period, which has
    /// to be shorter than the pod's.
    pub async fn overdue(mut self, grace: Duration) {
        self.reached(Stage::Stopping).await;
        tokio::select! {
            () = self.reached(Stage::Now) => warn!("a second signal: passes under way are abandoned"),
            () = tokio::time::sleep(grace) => warn!("passes under way took too long and are abandoned"),
        }
    }

    async fn reached(&mut self, stage: Stage) {
        if self.0.wait_for(|now| *now >= stage).await.is_err() {
            // The sender is gone, so that stage never comes.
            std::future::pending::<()>().await;
        }
    }
}

async fn either(terminate: &mut Signal, interrupt: &mut Signal) {
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

/// Each SIGHUP from now on. Without this, the first one would end the process.
///
/// # Errors
/// When the system refuses the signal handler.
fn sighups() -> io::Result<impl Stream<Item = ()> + Send + 'static> {
    let mut sighup = signal(SignalKind::hangup())?;
    Ok(stream::poll_fn(move |context| sighup.poll_recv(context)))
}
