//! Plays a case once without a crash, which counts its writes, and then once for each point at which the operator can crash.

use std::{
    env,
    pin::pin,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use baton_e2e::{End, Operator};
use baton_testbed::{Cluster, Crash, CrashPoint, CutRequest, Proxy, Side};
use futures::future::{self, Either};
use tokio::{sync::Semaphore, time::Instant};

use super::{attempt::Attempt, cases::HandoverCase};

/// The environment variable that requires both sides of each write.
const EVERY_SIDE: &str = "BATON_E2E_BOTH_SIDES";
/// An operator that has written nothing for this long has nothing to write.
const QUIET: Duration = Duration::from_millis(300);
/// More writes than any case has: a run that crashes only here doesn't crash.
const NEVER: CrashPoint = CrashPoint { write: 60, side: Side::After };
/// How many runs there are at the same time, of all cases.
static TURNS: Semaphore = Semaphore::const_new(8);
/// How many points of all cases together were hit.
static TOTAL: AtomicUsize = AtomicUsize::new(0);

/// Crashes the operator before the first write of the case and after each, every time in a namespace of its own. Before any other
/// write, the state is that after the previous one: it crashes there, too, if [`EVERY_SIDE`] is set.
///
/// A run may have a write more or less than the one that counted them, since a status that changes twice at once is written
/// once. A point beyond the last write of its own run is therefore not hit, and that is no failure as long as enough are.
pub async fn crash_at_every_write(cluster: &Cluster, case: &HandoverCase) {
    let begun = Instant::now();
    let counted = play_in_turn(cluster, case, NEVER).await;
    assert_eq!(counted.cut, None, "{}: still writes after {} writes", case.name, counted.writes);
    let has_both = env::var_os(EVERY_SIDE).is_some();
    let points = (1..=counted.writes)
        .flat_map(|write| [Side::Before, Side::After].map(|side| CrashPoint { write, side }))
        .filter(|point| has_both || point.write == 1 || point.side == Side::After);
    let runs = future::join_all(points.map(|point| play_in_turn(cluster, case, point))).await;
    let hit = runs.iter().filter(|run| run.cut.is_some()).count();
    let writes = runs.iter().filter(|run| run.side == Side::After && run.cut.is_some()).count();
    println!(
        "crash points of {}: {hit} of {} hit, in {:.0} s; {} of all cases until now",
        case.name,
        runs.len(),
        begun.elapsed().as_secs_f64(),
        TOTAL.fetch_add(hit, Ordering::Relaxed) + hit,
    );
    assert!(runs[0].cut.is_some(), "{}: no write, and so no crash before the first", case.name);
    assert!(
        writes >= case.least_writes,
        "{} needs at least {} writes, and the operator crashed after {writes} only",
        case.name,
        case.least_writes,
    );
}

/// The result of one run.
struct Run {
    side: Side,
    /// The request that was cut; absent if the run has fewer writes than its crash point.
    cut: Option<CutRequest>,
    /// How many writes the operator made, up to the crash if there was one.
    writes: usize,
}

async fn play_in_turn(cluster: &Cluster, case: &HandoverCase, point: CrashPoint) -> Run {
    let _turn = TURNS.acquire().await.unwrap();
    let begun = Instant::now();
    let attempt = Attempt::new(cluster, format!("{}, crash {point}", case.name)).await;
    let run = Box::pin(play(case, point, &attempt)).await;
    if let Some(cut) = &run.cut {
        println!(
            "{}: crashed {point}, {} {}, {:.1} s",
            case.name,
            cut.request.method,
            describe(cut),
            begun.elapsed().as_secs_f64()
        );
    }
    run
}

/// Plays the case with a crash at this point.
async fn play(case: &HandoverCase, point: CrashPoint, attempt: &Attempt) -> Run {
    let crash = Crash::at(point);
    let proxy = Proxy::start(attempt.cluster(), crash.rule()).await.unwrap();
    let operator = attempt.operator(Some(&proxy)).await;
    attempt.act(&case.before).await;
    quiet(&proxy).await;

    let watch = attempt.watch().await;
    crash.arm();
    let mut steps = pin!(async {
        attempt.act(&case.steps).await;
        // After a crash there are no writes to wait for.
        if !crash.has_struck() {
            quiet(&proxy).await;
        }
    });
    let has_ended = matches!(future::select(steps.as_mut(), pin!(proxy.cut())).await, Either::Left(_));
    let cut = if crash.has_struck() { Some(proxy.cut().await) } else { None };
    if let Some(cut) = &cut {
        kill(&operator, attempt);
        assert_eq!(cut.response.is_some(), point.side == Side::After, "{}: {cut:?}", attempt.title);
        let _successor = attempt.operator(None).await;
        if !has_ended {
            steps.await;
        }
        // The end must hold, also if it was reached before the crash.
        attempt.reach(case.end()).await;
    }
    attempt.judge(&watch, case).await;
    Run { side: point.side, cut, writes: crash.writes() }
}

/// Kills the operator as a failing node does.
pub fn kill(operator: &Operator, attempt: &Attempt) {
    operator.kill();
    assert_eq!(operator.end(), Some(End::Killed), "{}", attempt.title);
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

/// The object that was written, and the field manager.
fn describe(cut: &CutRequest) -> String {
    let path = &cut.request.path;
    // Without what is the same each time: the API's group and version, and the namespace.
    let what = path.split_once("/namespaces/").and_then(|(_, rest)| rest.split_once('/'));
    let what = what.map_or(path.as_str(), |(_, what)| what);
    let manager = cut.request.query("fieldManager").unwrap_or_default();
    let response = cut.response.map(|code| format!(", response {code}")).unwrap_or_default();
    format!("{what} {manager}{response}")
}
