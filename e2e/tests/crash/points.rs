//! Plays a scenario once for each point at which the operator can crash, until there is none left.

use std::{
    os::unix::process::ExitStatusExt as _,
    pin::pin,
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use baton_e2e::Operator;
use baton_testbed::{ControlPlane, Crash, CrashPoint, CutRequest, Proxy, Side};
use futures::future::{self, Either};
use tokio::sync::Semaphore;

use crate::{scenario::Scenario, stage::Stage};

/// An operator that has written nothing for so long has nothing to write.
const QUIET: Duration = Duration::from_millis(300);
/// More writes than any scenario has; more than that are a loop.
const MOST_WRITES: usize = 60;
/// How many points of one side of a scenario are played together.
const TOGETHER: usize = 2;
/// How many runs there are at the same time, of all scenarios.
static TURNS: Semaphore = Semaphore::const_new(8);
/// How many points all scenarios together have had.
static TOTAL: AtomicUsize = AtomicUsize::new(0);

/// Crashes the operator at every write of the scenario, before and after it, each time in a fresh namespace.
pub async fn crash_at_every_write(scenario: &Scenario) {
    let begun = Instant::now();
    let (before, after) =
        future::join(crash_along(scenario, Side::Before), crash_along(scenario, Side::After)).await;
    let total = TOTAL.fetch_add(before + after, Ordering::Relaxed) + before + after;
    println!(
        "crash points of {}: {before} before and {after} after a write, in {:.0} s; {total} of all scenarios until now",
        scenario.name,
        begun.elapsed().as_secs_f64(),
    );
    for points in [before, after] {
        assert!(
            points >= scenario.least_writes,
            "{} needs at least {} writes, and there were {points} points on one side of them",
            scenario.name,
            scenario.least_writes,
        );
    }
}

/// The points on one side of the writes, from the first write on; how many there were. A run may have a write more or less than
/// another, since a status that changes twice at once is written once; so it ends only when several points in a row, which are
/// played together, are beyond the last write.
async fn crash_along(scenario: &Scenario, side: Side) -> usize {
    let mut count = 0;
    for first in (1..=MOST_WRITES).step_by(TOGETHER) {
        let points =
            (first..first + TOGETHER).map(|write| crash_in_turn(scenario, CrashPoint { write, side }));
        let crashed = future::join_all(points).await.into_iter().filter(|crashed| *crashed).count();
        if crashed == 0 {
            return count;
        }
        count += crashed;
    }
    panic!("{}: still writes after {MOST_WRITES} writes", scenario.name);
}

/// Whether it has come to a crash.
async fn crash_in_turn(scenario: &Scenario, point: CrashPoint) -> bool {
    let _turn = TURNS.acquire().await.unwrap();
    let begun = Instant::now();
    let cut = crash_at(scenario, point).await;
    if let Some(cut) = &cut {
        println!(
            "{}: crashed {point}, {} {}, {:.1} s",
            scenario.name,
            cut.request.method,
            describe(cut),
            begun.elapsed().as_secs_f64()
        );
    }
    cut.is_some()
}

/// Plays the scenario with a crash at this point; what was cut, or nothing if it has fewer writes.
async fn crash_at(scenario: &Scenario, point: CrashPoint) -> Option<CutRequest> {
    let cluster = ControlPlane::shared().await;
    let stage = Stage::new(cluster, format!("{}, crash {point}", scenario.name)).await;
    let cut = Box::pin(play(scenario, point, &stage)).await;
    stage.clear().await;
    cut
}

async fn play(scenario: &Scenario, point: CrashPoint, stage: &Stage<'_>) -> Option<CutRequest> {
    let crash = Crash::at(point);
    let proxy = Proxy::start(stage.cluster, crash.rule()).await.unwrap();
    let operator = stage.operator(Some(&proxy)).await;
    stage.act(&scenario.before).await;
    quiet(&proxy).await;

    let watch = stage.watch().await;
    crash.arm();
    let mut deeds = pin!(async {
        stage.act(&scenario.deeds).await;
        // Once it has crashed, nothing comes any more.
        if !crash.has_struck() {
            quiet(&proxy).await;
        }
    });
    let has_ended = matches!(future::select(deeds.as_mut(), pin!(proxy.cut())).await, Either::Left(_));
    let cut = if crash.has_struck() { Some(proxy.cut().await) } else { None };
    if let Some(cut) = &cut {
        kill(&operator, stage);
        assert_eq!(cut.answer.is_some(), point.side == Side::After, "{}: {cut:?}", stage.title);
        let _successor = stage.operator(None).await;
        if !has_ended {
            deeds.await;
        }
        // What was reached before the crash has to be so still.
        stage.reach(scenario.end()).await;
    }
    stage.judge(&watch, scenario).await;
    cut
}

/// As a node that fails does.
pub fn kill(operator: &Operator, stage: &Stage<'_>) {
    operator.kill();
    let signal = operator.status().and_then(|status| status.signal());
    assert_eq!(signal, Some(9), "{}: {:?}", stage.title, operator.status());
}

async fn quiet(proxy: &Proxy) {
    loop {
        let before = proxy.writes();
        tokio::time::sleep(QUIET).await;
        if proxy.writes() == before {
            return;
        }
    }
}

/// What was written, and as whom.
fn describe(cut: &CutRequest) -> String {
    let path = &cut.request.path;
    // Without what is the same each time: the API's group and version, and the namespace.
    let what = path.split_once("/namespaces/").and_then(|(_, rest)| rest.split_once('/'));
    let what = what.map_or(path.as_str(), |(_, what)| what);
    let manager = cut.request.query("fieldManager").unwrap_or_default();
    let answer = cut.answer.map(|code| format!(", answered {code}")).unwrap_or_default();
    format!("{what} {manager}{answer}")
}
