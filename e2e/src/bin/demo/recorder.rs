//! What the demo shows of a recording of the Deployment.

use std::time::Duration;

use anyhow::ensure;
use baton_apply::LiveObject;
use baton_testbed::{PATIENCE, wait_for};

/// For how long a recording goes on after what was waited for, to see what else comes.
const QUIET: Duration = Duration::from_secs(2);

/// The object as one write left it.
#[derive(Clone, Debug)]
pub(crate) struct Sighting {
    /// When the write was seen, since the recording began.
    pub(crate) at: Duration,
    /// The object.
    pub(crate) live: LiveObject,
}

/// A recording that is waited for to show something.
pub(crate) struct Recorder {
    recording: baton_testbed::Recorder,
    sightings: Vec<Sighting>,
    /// How many of them there were before what was last waited for.
    reached: usize,
}

impl Recorder {
    pub(crate) fn new(recording: baton_testbed::Recorder) -> Self {
        Self { recording, sightings: Vec::new(), reached: 0 }
    }

    /// Waits until the object looks like this, or did since what was last waited for.
    pub(crate) async fn until(
        &mut self,
        what: &str,
        holds: impl Fn(&LiveObject) -> bool,
    ) -> anyhow::Result<()> {
        wait_for(what, PATIENCE, async || {
            self.look()?;
            let Some(found) = self.sightings[self.reached..].iter().position(|seen| holds(&seen.live)) else {
                return Ok(Err(format!("{} writes were seen", self.sightings.len())));
            };
            self.reached += found;
            Ok(Ok(()))
        })
        .await
    }

    /// All that was seen, in order, and what else comes within a moment.
    pub(crate) async fn sightings(&mut self) -> anyhow::Result<&[Sighting]> {
        tokio::time::sleep(QUIET).await;
        self.look()?;
        Ok(&self.sightings)
    }

    fn look(&mut self) -> anyhow::Result<()> {
        for event in &self.recording.seen()?[self.sightings.len()..] {
            ensure!(!event.gone, "{:?} was deleted while it was watched", event.object.metadata.name);
            let live = LiveObject::from_json(serde_json::to_value(&event.object)?)?;
            self.sightings.push(Sighting { at: event.at, live });
        }
        Ok(())
    }
}

/// The sightings at which what `look` sees of the object is another than before, with what it sees.
pub(crate) fn changes<T: PartialEq>(
    sightings: &[Sighting],
    look: impl Fn(&LiveObject) -> T,
) -> Vec<(&Sighting, T)> {
    let mut changes: Vec<_> = sightings.iter().map(|seen| (seen, look(&seen.live))).collect();
    changes.dedup_by(|later, earlier| later.1 == earlier.1);
    changes
}
