//! A recording of the Deployment, as the demo shows it.

use std::time::Duration;

use anyhow::ensure;
use baton_apply::LiveObject;
use baton_testbed::{PATIENCE, wait_for};

/// How long a recording goes on after the awaited write, to see further writes.
const QUIET: Duration = Duration::from_secs(2);

/// A recording, and ways to wait for a write in it.
pub(crate) struct Recorder {
    recording: baton_testbed::Recorder,
    writes: Vec<LiveObject>,
    /// The position of the last awaited write.
    reached: usize,
}

impl Recorder {
    pub(crate) fn new(recording: baton_testbed::Recorder) -> Self {
        Self { recording, writes: Vec::new(), reached: 0 }
    }

    /// Waits for a write after which `holds` is true, from the last awaited write on.
    pub(crate) async fn until(
        &mut self,
        what: &str,
        holds: impl Fn(&LiveObject) -> bool,
    ) -> anyhow::Result<()> {
        wait_for(what, PATIENCE, async || {
            self.read()?;
            let Some(found) = self.writes[self.reached..].iter().position(&holds) else {
                return Ok(Err(format!("{} writes were seen", self.writes.len())));
            };
            self.reached += found;
            Ok(Ok(()))
        })
        .await
    }

    /// All writes in order, with those of the next two seconds.
    pub(crate) async fn writes(&mut self) -> anyhow::Result<&[LiveObject]> {
        tokio::time::sleep(QUIET).await;
        self.read()?;
        Ok(&self.writes)
    }

    fn read(&mut self) -> anyhow::Result<()> {
        for event in &self.recording.seen()?[self.writes.len()..] {
            ensure!(!event.gone, "{:?} was deleted while it was watched", event.object.metadata.name);
            self.writes.push(LiveObject::from_json(serde_json::to_value(&event.object)?)?);
        }
        Ok(())
    }
}

/// The results of `read` for the object after each write, without repetitions.
pub(crate) fn changes<T: PartialEq>(writes: &[LiveObject], read: impl Fn(&LiveObject) -> T) -> Vec<T> {
    let mut changes: Vec<T> = writes.iter().map(read).collect();
    changes.dedup();
    changes
}
