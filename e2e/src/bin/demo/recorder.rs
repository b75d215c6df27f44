//! What the demo shows of a recording of the Deployment.

use std::time::Duration;

use anyhow::ensure;
use baton_apply::LiveObject;
use baton_testbed::{PATIENCE, wait_for};

/// For how long a recording goes on after what was waited for, to see what else comes.
const QUIET: Duration = Duration::from_secs(2);

/// A recording that is waited for to show something.
pub(crate) struct Recorder {
    recording: baton_testbed::Recorder,
    writes: Vec<LiveObject>,
    /// How many of them there were before what was last waited for.
    reached: usize,
}

impl Recorder {
    pub(crate) fn new(recording: baton_testbed::Recorder) -> Self {
        Self { recording, writes: Vec::new(), reached: 0 }
    }

    /// Waits until the object looks like this, or did since what was last waited for.
    pub(crate) async fn until(
        &mut self,
        what: &str,
        holds: impl Fn(&LiveObject) -> bool,
    ) -> anyhow::Result<()> {
        wait_for(what, PATIENCE, async || {
            self.look()?;
            let Some(found) = self.writes[self.reached..].iter().position(&holds) else {
                return Ok(Err(format!("{} writes were seen", self.writes.len())));
            };
            self.reached += found;
            Ok(Ok(()))
        })
        .await
    }

    /// All that was seen, in order, and what else comes within a moment.
    pub(crate) async fn writes(&mut self) -> anyhow::Result<&[LiveObject]> {
        tokio::time::sleep(QUIET).await;
        self.look()?;
        Ok(&self.writes)
    }

    fn look(&mut self) -> anyhow::Result<()> {
        for event in &self.recording.seen()?[self.writes.len()..] {
            ensure!(!event.gone, "{:?} was deleted while it was watched", event.object.metadata.name);
            self.writes.push(LiveObject::from_json(serde_json::to_value(&event.object)?)?);
        }
        Ok(())
    }
}

/// What `look` finds of the object after each write, each change once.
pub(crate) fn changes<T: PartialEq>(writes: &[LiveObject], look: impl Fn(&LiveObject) -> T) -> Vec<T> {
    let mut changes: Vec<T> = writes.iter().map(look).collect();
    changes.dedup();
    changes
}
