//! The Workload in whose pass a process may end, so that the next leader reconciles all others first.
//!
//! A pass that never gives the thread back, or takes too much memory, ends the process, and the next one would begin with the same
//! pass. So the thread that renews the Lease notes there whose pass has had the thread for unusually long. The note is removed when
//! the turn is over; a note that is left tells the next leader what its predecessor died of.

use std::{
    fmt,
    str::FromStr,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{sync::watch, time::timeout};

use crate::{
    clock::now,
    lock::lock,
    reconcile::{Key, Turn, Turns},
};

/// How often the thread that renews the Lease looks at the turn under way, while there are passes.
const GLANCE: Duration = Duration::from_millis(50);
/// A turn is noted once it has lasted this long; nearly all take less than a few milliseconds.
const UNUSUAL: Duration = Duration::from_millis(20);
/// How long a pass of a suspect waits at most until it is noted.
const NOTED: Duration = Duration::from_secs(5);
/// How long the pause before a suspect's next pass is after one end of a process, after two, and at most.
const PAUSES: (Duration, Duration, Duration) =
    (Duration::from_secs(1), Duration::from_mins(1), Duration::from_hours(1));

/// A Workload in whose pass processes have ended, or one may. Its text is an annotation of the Lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Suspect {
    pub(crate) workload: Key,
    /// How many processes have ended in a row, if the one that has noted it ends too.
    pub(crate) ends: u32,
}

impl Suspect {
    /// How long its next pass waits after the start, besides coming last.
    pub(crate) fn pause(&self) -> Duration {
        match self.ends {
            // Long enough that all others are due.
            0 | 1 => PAUSES.0,
            ends => PAUSES.1.saturating_mul(1_u32.checked_shl(ends - 2).unwrap_or(u32::MAX)).min(PAUSES.2),
        }
    }
}

impl fmt::Display for Suspect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{} {}", self.workload.0, self.workload.1, self.ends)
    }
}

/// The annotation isn't one that Baton has written.
#[derive(Debug)]
pub(crate) struct Unknown;

impl FromStr for Suspect {
    type Err = Unknown;

    fn from_str(text: &str) -> Result<Self, Unknown> {
        let (workload, ends) = text.split_once(' ').ok_or(Unknown)?;
        let (namespace, name) = workload.split_once('/').ok_or(Unknown)?;
        let ends = ends.parse().map_err(|_| Unknown)?;
        Ok(Self { workload: (namespace.to_owned(), name.to_owned()), ends })
    }
}

/// The suspect of this process, shared between its loop and the thread that renews the Lease.
#[derive(Clone, Debug)]
pub(crate) struct Suspects {
    turns: Turns,
    /// The one whose pass comes, or came, after its predecessor's end.
    known: Arc<Mutex<Option<Suspect>>>,
    /// What the Lease has.
    noted: watch::Sender<Option<Suspect>>,
}

impl Suspects {
    pub(crate) fn of(turns: Turns) -> Self {
        Self { turns, known: Arc::default(), noted: watch::Sender::new(None) }
    }

    /// The one that the last leader has noted, until its pass has ended.
    pub(crate) fn known(&self) -> Option<Suspect> {
        lock(&self.known).clone()
    }

    /// Runs a pass for this Workload. If it is suspect, the Lease counts this pass first.
    pub(crate) async fn during<T>(&self, workload: &Key, pass: impl Future<Output = T>) -> T {
        let Some(mut suspect) = self.known().filter(|known| known.workload == *workload) else {
            return pass.await;
        };
        suspect.ends = suspect.ends.saturating_add(1);
        *lock(&self.known) = Some(suspect.clone());
        let mut noted = self.noted.subscribe();
        // If the Lease can't be written, nothing else can either.
        let _ = timeout(NOTED, noted.wait_for(|noted| noted.as_ref() == Some(&suspect))).await;
        let result = pass.await;
        *lock(&self.known) = None;
        result
    }

    /// Blocks until the turn under way is noted, but not for long: for a thread that is about to end the process.
    pub(crate) fn last_words(&self) {
        for _ in 0..20 {
            if self.turns.now().is_none() || *self.noted.borrow() == self.current() {
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

    /// What is to be noted now: the turn that may end this process, else the one that may have ended the last.
    pub(super) fn current(&self) -> Option<Suspect> {
        let unusual = self.turns.now().filter(|turn| now().duration_since(turn.begun) >= UNUSUAL);
        let known = self.known();
        match unusual {
            Some(turn) if known.as_ref().is_none_or(|known| known.workload != *turn.workload) => {
                Some(Suspect { workload: (*turn.workload).clone(), ends: 1 })
            }
            // One that is known counts on.
            _ => known,
        }
    }

    /// A Workload is gone.
    pub(crate) fn forget(&self, workload: &Key) {
        lock(&self.known).take_if(|known| known.workload == *workload);
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

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, task::Poll};

    use super::*;
    use crate::metrics::Metrics;

    fn suspect(ends: u32) -> Suspect {
        Suspect { workload: ("shop".to_owned(), "web".to_owned()), ends }
    }

    #[test]
    fn the_annotation_is_read_as_it_was_written() {
        assert_eq!(suspect(3).to_string(), "shop/web 3");
        assert_eq!("shop/web 3".parse::<Suspect>().unwrap(), suspect(3));
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
        let suspects = Suspects::of(Turns::default());
        suspects.inherited(Some(suspect(1)));
        assert_eq!(suspects.current(), Some(suspect(1)), "it stays noted until its turn");
        suspects.during(&("shop".to_owned(), "other".to_owned()), async {}).await;
        assert_eq!(suspects.known(), Some(suspect(1)));
        let lease = suspects.clone();
        let renew = async {
            tokio::task::yield_now().await;
            lease.noted(lease.current());
        };
        let workload = suspect(1).workload;
        let pass = suspects.during(&workload, async { suspects.noted.borrow().clone() });
        let (noted, ()) = tokio::join!(pass, renew);
        assert_eq!(noted, Some(suspect(2)));
        assert_eq!(suspects.current(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn while_a_suspect_waits_a_long_turn_of_another_is_noted() {
        let (suspects, metrics) = (Suspects::of(Turns::default()), Metrics::default());
        suspects.inherited(Some(suspect(3)));
        let long = |name: &str| {
            let turn = Arc::new(("shop".to_owned(), name.to_owned()));
            let (seen, metrics) = (suspects.clone(), metrics.clone());
            async move {
                let turns = seen.turns.clone();
                let pass = poll_fn(|_| {
                    std::thread::sleep(2 * UNUSUAL);
                    Poll::Ready(seen.current())
                });
                turns.of(turn, &metrics, pass).await
            }
        };
        tokio::time::resume();
        let other = Suspect { workload: ("shop".to_owned(), "other".to_owned()), ends: 1 };
        assert_eq!(long("other").await, Some(other));
        assert_eq!(long("web").await, Some(suspect(3)), "a known one counts on");
        assert_eq!(suspects.current(), Some(suspect(3)), "it stays noted until its turn");
        suspects.forget(&suspect(3).workload);
        assert_eq!(suspects.current(), None);
    }
}
