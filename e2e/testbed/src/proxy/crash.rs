//! A crash at one write, as the rules of a proxy: the write is cut, and no later request of the process reaches the server. Its owner
//! has to kill the process.

use std::{
    fmt,
    sync::{Arc, Mutex},
};

use super::{Action, RequestInfo};
use crate::lock;

/// On which side of a write something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The server doesn't get it.
    Before,
    /// The server has stored or refused it, and the client never hears of that.
    After,
}

/// Where a process crashes. Shown as `before write 3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrashPoint {
    /// At the how manieth write, from 1.
    pub write: usize,
    /// On which side of it.
    pub side: Side,
}

/// The rules of a proxy in front of one process, which is to crash at one point.
///
/// ```no_run
/// # async fn example(cluster: &baton_testbed::Cluster) -> Result<(), baton_testbed::Error> {
/// use baton_testbed::{Crash, CrashPoint, Proxy, Side};
///
/// let crash = Crash::at(CrashPoint { write: 3, side: Side::After });
/// let proxy = Proxy::start(cluster, crash.rule()).await?;
/// // Start the process with the API server by way of `proxy.route()`, and wait until it has nothing to do; then:
/// crash.arm();
/// let cut = proxy.cut().await;
/// // Kill the process.
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Crash {
    point: CrashPoint,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    is_armed: bool,
    writes: usize,
    has_struck: bool,
}

impl Crash {
    /// A crash at this point, counted from when it is [armed](Self::arm).
    pub fn at(point: CrashPoint) -> Self {
        Self { point, state: Arc::default() }
    }

    /// From now on writes count.
    pub fn arm(&self) {
        self.with(|state| state.is_armed = true);
    }

    /// How many writes there were since it was armed, up to the one that was cut.
    pub fn writes(&self) -> usize {
        self.with(|state| state.writes)
    }

    /// Whether the write has come at which it was to happen.
    pub fn has_struck(&self) -> bool {
        self.with(|state| state.has_struck)
    }

    /// For [`Proxy::start`](super::Proxy::start). Behind the rule is this crash itself, not one like it.
    pub fn rule(&self) -> impl Fn(&RequestInfo) -> Action + Send + Sync + 'static {
        let crash = self.clone();
        move |request| crash.decide(request.write.is_some())
    }

    fn decide(&self, is_write: bool) -> Action {
        self.with(|state| {
            if state.has_struck {
                return Action::Hold;
            }
            if !state.is_armed || !is_write {
                return Action::Forward;
            }
            state.writes += 1;
            if state.writes < self.point.write {
                return Action::Forward;
            }
            state.has_struck = true;
            match self.point.side {
                Side::Before => Action::Cut,
                Side::After => Action::after(Action::Cut),
            }
        })
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut lock(&self.state))
    }
}

impl fmt::Display for CrashPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = match self.side {
            Side::Before => "before",
            Side::After => "after",
        };
        write!(f, "{side} write {}", self.write)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_count_from_when_it_is_armed_and_after_the_cut_nothing_is_passed_on() {
        let crash = Crash::at(CrashPoint { write: 2, side: Side::After });
        assert!(matches!(crash.decide(true), Action::Forward));
        crash.arm();
        assert!(matches!(crash.decide(true), Action::Forward));
        assert!(matches!(crash.decide(false), Action::Forward));
        assert!(matches!(crash.decide(true), Action::After(_)));
        assert!(matches!(crash.decide(true), Action::Hold));
        assert!(matches!(crash.decide(false), Action::Hold));
        assert_eq!(crash.writes(), 2);
    }
}
