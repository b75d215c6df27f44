//! The two servers that scenarios run on. A scenario is written once, as a function of a [`Cluster`], and
//! [`scenarios!`](crate::scenarios) makes a test of it for each server: `in_process::NAME`, under paused time, and
//! `real::NAME`, which is ignored by default.

use baton_testbed::Cluster;
use tokio::runtime::Builder;

/// Runs a scenario on a new server inside this process, under paused time.
///
/// # Panics
/// When the scenario does.
pub fn in_process(scenario: impl AsyncFnOnce(Cluster)) {
    paused(async {
        scenario(Cluster::in_process().expect("a server inside the process starts")).await;
    });
}

/// Waits for a future under paused time, which advances as soon as all tasks wait.
///
/// # Panics
/// When the future does.
pub fn paused<T>(future: impl Future<Output = T>) -> T {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime has no needs").block_on(future)
}

/// Runs a scenario on the real control plane that all tests of this process share.
///
/// # Panics
/// When the scenario does.
pub fn real(scenario: impl AsyncFnOnce(Cluster)) {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime can be built").block_on(async {
        scenario(Cluster::shared().await).await;
    });
}

/// Makes tests of scenarios: on both servers, or with `only real, because "…"` on the real one alone.
#[macro_export]
macro_rules! scenarios {
    ($($name:ident),+ $(,)?) => {
        mod in_process {
            $(#[test] fn $name() { $crate::servers::in_process(super::$name); })+
        }
        mod real {
            $(#[test] #[ignore = "on a real control plane"] fn $name() { $crate::servers::real(super::$name); })+
        }
    };
    (only real, because $why:literal: $($name:ident),+ $(,)?) => {
        mod only_real {
            $(#[test] #[ignore = $why] fn $name() { $crate::servers::real(super::$name); })+
        }
    };
}
