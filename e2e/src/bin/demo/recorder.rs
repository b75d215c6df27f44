//! Sees every stored write of one object. A watch delivers each of them, in order, so that nothing that lasted only for
//! a moment is missed, as it would be by looking again and again.

use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use baton_apply::LiveObject;
use futures::{StreamExt as _, TryStreamExt as _, stream::BoxStream};
use kube::{
    Api, ResourceExt as _,
    api::{WatchEvent, WatchParams},
};
use tokio::time::timeout;

use baton_testbed::PATIENCE;

/// For how long a recording goes on after what was waited for, to see what else comes.
pub(crate) const QUIET: Duration = Duration::from_secs(2);

/// The object as one write left it.
#[derive(Clone, Debug)]
pub(crate) struct Sighting {
    /// When the write was seen, since the recording began.
    pub(crate) at: Duration,
    /// The object.
    pub(crate) live: LiveObject,
}

/// A recording that goes on while it is waited for something.
pub(crate) struct Recorder {
    began: Instant,
    sightings: Vec<Sighting>,
    writes: BoxStream<'static, kube::Result<WatchEvent<LiveObject>>>,
}

impl Recorder {
    /// Begins with the object as it is.
    pub(crate) async fn start(api: &Api<LiveObject>, name: &str) -> anyhow::Result<Self> {
        let object = api.get(name).await?;
        let version =
            object.resource_version().context("an object from the API server has a resourceVersion")?;
        let only_this = WatchParams::default().fields(&format!("metadata.name={name}"));
        let writes = api.watch(&only_this, &version).await?.boxed();
        let first = Sighting { at: Duration::ZERO, live: object };
        Ok(Self { began: Instant::now(), sightings: vec![first], writes })
    }

    /// Records until the object looks like this, at most a minute.
    pub(crate) async fn until(
        &mut self,
        what: &str,
        holds: impl Fn(&LiveObject) -> bool,
    ) -> anyhow::Result<()> {
        let recording = async {
            while !self.sightings.last().is_some_and(|seen| holds(&seen.live)) {
                self.record_one().await?;
            }
            anyhow::Ok(())
        };
        match timeout(PATIENCE, recording).await {
            Ok(outcome) => outcome,
            Err(_) => bail!("waited {} s in vain for {what}", PATIENCE.as_secs()),
        }
    }

    /// Records what else comes within this time.
    pub(crate) async fn go_on_for(&mut self, time: Duration) -> anyhow::Result<()> {
        let end = Instant::now() + time;
        while let Ok(outcome) =
            timeout(end.saturating_duration_since(Instant::now()), self.record_one()).await
        {
            outcome?;
        }
        Ok(())
    }

    /// All that was seen, in order.
    pub(crate) fn sightings(&self) -> &[Sighting] {
        &self.sightings
    }

    async fn record_one(&mut self) -> anyhow::Result<()> {
        match self.writes.try_next().await? {
            Some(WatchEvent::Added(object) | WatchEvent::Modified(object)) => {
                self.sightings.push(Sighting { at: self.began.elapsed(), live: object });
                Ok(())
            }
            Some(WatchEvent::Bookmark(_)) => Ok(()),
            Some(WatchEvent::Deleted(object)) => {
                bail!("{} was deleted while it was watched", object.name_any())
            }
            Some(WatchEvent::Error(status)) => Err(kube::Error::Api(status).into()),
            None => bail!("the API server ended the watch"),
        }
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
