//! The object in whose pass a process may end, so that the next leader reconciles all others first.
//!
//! A pass that never gives the thread back, or takes too much memory, ends the process, and the next one would begin with the same
//! pass. So the thread that renews the Lease notes there whose pass has had the thread for unusually long. The note is removed when
//! the turn is over; a note that is left tells the next leader what its predecessor died of.

use std::{
    fmt, panic,
    str::FromStr,
    sync::{Arc, Mutex},
    time::Duration,
};

use prometheus_client::metrics::counter::Counter;
use tokio::{sync::watch, time::timeout};

use super::turn::{Turn, Turns};
use crate::{clock::now, lock, pace::ObjectKey};

/// How often the thread that renews the Lease looks at the turn under way, while there are passes.
const GLANCE: Duration = Duration::from_millis(50);
/// A turn is noted once it has lasted this long; nearly all take less than a few milliseconds.
const UNUSUAL: Duration = Duration::from_millis(20);
/// How long a pass of a suspect waits at most until it is noted.
const NOTED: Duration = Duration::from_secs(5);
/// How long the pause before a suspect's next pass is after one end of a process, after two, and at most.
const PAUSES: (Duration, Duration, Duration) =
    (Duration::from_secs(1), Duration::from_mins(1), Duration::from_hours(1));

/// An object in whose pass processes have ended, or one may. Its text is an annotation of the Lease.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Suspect {
    /// The object.
    pub object: ObjectKey,
    /// How many processes have ended in a row, if the one that has noted it ends too.
    pub ends: u32,
}

impl Suspect {
    /// How long its next pass waits after the start, besides coming last.
    pub fn pause(&self) -> Duration {
        match self.ends {
            // Long enough that all others are due.
            0 | 1 => PAUSES.0,
            ends => PAUSES.1.saturating_mul(1_u32.checked_shl(ends - 2).unwrap_or(u32::MAX)).min(PAUSES.2),
        }
    }
}

impl fmt::Display for Suspect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{} {}", self.object.0, self.object.1, self.ends)
    }
}

/// The annotation isn't a note of this crate.
#[derive(Debug)]
pub struct Unknown;

impl FromStr for Suspect {
    type Err = Unknown;

    fn from_str(text: &str) -> Result<Self, Unknown> {
        let (object, ends) = text.rsplit_once(' ').ok_or(Unknown)?;
        let (namespace, name) = object.split_once('/').ok_or(Unknown)?;
        let ends = ends.parse().map_err(|_| Unknown)?;
        Ok(Self { object: (namespace.to_owned(), name.to_owned()), ends })
    }
}

/// Watches the passes of a loop for one that may end the process, and has the Lease name its object. For a loop whose passes share a
/// thread, other than the Lease's. Clones share it.
#[derive(Clone, Debug)]
pub struct Watchdog {
    turns: Turns,
    /// The one whose pass comes, or came, after its predecessor's end.
    known: Arc<Mutex<Option<Suspect>>>,
    /// The note that the Lease has.
    noted: watch::Sender<Option<Suspect>>,
}

impl Default for Watchdog {
    fn default() -> Self {
        Self::new(Counter::default())
    }
}

impl Watchdog {
    /// A watchdog that counts turns of more than a second here.
    pub fn new(long_turns: Counter) -> Self {
        Self { turns: Turns::counted_by(long_turns), known: Arc::default(), noted: watch::Sender::new(None) }
    }

    /// The object that the last leader has noted, until its pass has ended. Reconcile it after all others, and after its
    /// [pause](Suspect::pause).
    pub fn suspect(&self) -> Option<Suspect> {
        lock(&self.known).clone()
    }

    /// Runs a pass for this object, and logs turns of more than a second. If the object is suspect, the Lease counts this pass first.
    pub async fn run<T>(&self, object: &Arc<ObjectKey>, pass: impl Future<Output = T>) -> T {
        let pass = self.turns.of(object.clone(), pass);
        let Some(mut suspect) = self.suspect().filter(|known| known.object == **object) else {
            return pass.await;
        };
        suspect.ends = suspect.ends.saturating_add(1);
        *lock(&self.known) = Some(suspect.clone());
        let mut noted = self.noted.subscribe();
        let _forgotten = Forgotten(&self.known);
        // If the Lease can't be written, nothing else can either.
        let _ = timeout(NOTED, noted.wait_for(|noted| noted.as_ref() == Some(&suspect))).await;
        pass.await
    }

    /// Has each panic wait a moment until the turn under way is noted, after it was reported: for programs that end by a panic.
    pub fn note_panics(&self) {
        let (watchdog, report) = (self.clone(), panic::take_hook());
        panic::set_hook(Box::new(move |info| {
            report(info);
            watchdog.wait_until_noted();
        }));
    }

    /// Blocks until the turn under way is noted, but not for long.
    fn wait_until_noted(&self) {
        for _ in 0..20 {
            // A turn that has just begun isn't noted yet.
            let current = self.current();
            if self.turns.now().is_none() || (current.is_some() && *self.noted.borrow() == current) {
                return;
            }
            std::thread::sleep(GLANCE);
        }
    }

    #[cfg(test)]
    pub(super) fn noted_in_the_lease(&self) -> Option<Suspect> {
        self.noted.borrow().clone()
    }

    /// The turn under way.
    pub(super) fn turn(&self) -> Option<Turn> {
        self.turns.now()
    }

    /// The last leader has noted this one.
    pub(super) fn inherited(&self, suspect: Option<Suspect>) {
        *lock(&self.known) = suspect;
    }

    /// The Lease has this note.
    pub(super) fn noted(&self, suspect: Option<Suspect>) {
        self.noted.send_if_modified(|noted| {
            let is_news = *noted != suspect;
            *noted = suspect;
            is_news
        });
    }

    /// The turn to note now: the one that may end this process, else the one that may have ended the last.
    pub(super) fn current(&self) -> Option<Suspect> {
        let unusual = self.turns.now().filter(|turn| now().duration_since(turn.begun) >= UNUSUAL);
        let known = self.suspect();
        match unusual {
            Some(turn) if known.as_ref().is_none_or(|known| known.object != *turn.object) => {
                Some(Suspect { object: (*turn.object).clone(), ends: 1 })
            }
            // One that is known counts on.
            _ => known,
        }
    }

    /// An object is gone.
    pub fn forget(&self, object: &ObjectKey) {
        lock(&self.known).take_if(|known| known.object == *object);
    }

    /// Waits until there is something to note that the Lease doesn't have.
    pub(super) async fn appears(&self) {
        loop {
            self.turns.passes_are_under_way().await;
            tokio::time::sleep(GLANCE).await;
            let current = self.current();
            if current.is_some() && *self.noted.borrow() != current {
                return;
            }
        }
    }
}

/// Forgets the suspect at the end of its pass, also of one that is dropped; but not if the pass panics, which may end the process.
struct Forgotten<'w>(&'w Mutex<Option<Suspect>>);

impl Drop for Forgotten<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            *lock(self.0) = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, task::Poll};

    use super::*;

    fn suspect(ends: u32) -> Suspect {
        Suspect { object: ("shop".to_owned(), "web".to_owned()), ends }
    }

    #[test]
    fn the_annotation_is_read_as_it_was_written() {
        assert_eq!(suspect(3).to_string(), "shop/web 3");
        assert_eq!("shop/web 3".parse::<Suspect>().unwrap(), suspect(3));
        assert_eq!("shop/a web 3".parse::<Suspect>().unwrap().object.1, "a web");
        for other in ["", "shop/web", "web 3", "shop/web three"] {
            assert!(other.parse::<Suspect>().is_err(), "{other:?}");
        }
    }

    #[test]
    fn each_end_of_a_process_makes_the_pause_longer() {
        let minutes: Vec<u64> = [1, 2, 3, 4, 99].map(|ends| suspect(ends).pause().as_secs() / 60).into();
        assert_eq!(minutes, [0, 1, 2, 4, 60]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_suspects_pass_is_counted_before_it_begins_and_forgotten_when_it_has_ended() {
        let watchdog = Watchdog::default();
        watchdog.inherited(Some(suspect(1)));
        assert_eq!(watchdog.current(), Some(suspect(1)), "it stays noted until its turn");
        watchdog.run(&Arc::new(("shop".to_owned(), "other".to_owned())), async {}).await;
        assert_eq!(watchdog.suspect(), Some(suspect(1)));
        let lease = watchdog.clone();
        let renew = async {
            tokio::task::yield_now().await;
            lease.noted(lease.current());
        };
        let object = Arc::new(suspect(1).object);
        let pass = watchdog.run(&object, async { watchdog.noted.borrow().clone() });
        let (noted, ()) = tokio::join!(pass, renew);
        assert_eq!(noted, Some(suspect(2)));
        assert_eq!(watchdog.current(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn while_a_suspect_waits_a_long_turn_of_another_is_noted() {
        let watchdog = Watchdog::default();
        watchdog.inherited(Some(suspect(3)));
        let long = |name: &str| {
            let turn = Arc::new(("shop".to_owned(), name.to_owned()));
            let seen = watchdog.clone();
            async move {
                let turns = seen.turns.clone();
                let pass = poll_fn(|_| {
                    std::thread::sleep(2 * UNUSUAL);
                    Poll::Ready(seen.current())
                });
                turns.of(turn, pass).await
            }
        };
        tokio::time::resume();
        let other = Suspect { object: ("shop".to_owned(), "other".to_owned()), ends: 1 };
        assert_eq!(long("other").await, Some(other));
        assert_eq!(long("web").await, Some(suspect(3)), "a known one counts on");
        assert_eq!(watchdog.current(), Some(suspect(3)), "it stays noted until its turn");
        watchdog.forget(&suspect(3).object);
        assert_eq!(watchdog.current(), None);
    }
}
