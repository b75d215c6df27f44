//! Figures for people: one run phase by phase, and the runs of an operator side by side, with their limits.

use std::fmt::Write as _;

use baton_testbed::units::time;

use super::figures::{Figures, Latency, Phase, Run};
use crate::Table;

/// How much more a Workload may cost among [`MANY`] than among [`FEW`].
const FLAT: f64 = 1.2;
const FEW: u32 = 1_000;
const MANY: u32 = 10_000;
/// The limits for [`MANY`] settled Workloads: memory in bytes, CPU of a restart in seconds, share of a core in idle.
const MEMORY: f64 = 256.0 * MIB;
const RESTART: f64 = 10.0;
const IDLE: f64 = 0.01;

const MIB: f64 = 1024.0 * 1024.0;

/// One run, phase by phase.
pub fn table(run: &Run) -> String {
    let mut table = Table::new(["PHASE", "SECONDS", "CPU", "WRITES", "READS", "MEDIAN", "P99", "SERVER CPU"]);
    for (phase, figures) in &run.phases {
        let cpu = |seconds: f64| match phase {
            Phase::Idle => share(seconds / figures.seconds),
            _ => time(figures.each(seconds) * 1e9),
        };
        let latency = |figure: fn(Latency) -> f64| {
            figures.latency.map_or_else(String::new, |latency| span(figure(latency)))
        };
        table.row([
            phase.name().to_owned(),
            format!("{:.1}", figures.seconds),
            cpu(figures.cpu),
            count(figures, figures.requests.writes),
            count(figures, figures.requests.reads),
            latency(|latency| latency.median),
            latency(|latency| latency.p99),
            figures.server_cpu.map_or_else(String::new, cpu),
        ]);
    }
    let (head, rows) = table.lines();
    let memory = run.memory;
    format!(
        "{} of {} Workloads on a {}; CPU and requests by Workload, but for start and idle\n\n{head}\n{}\n\n\
         memory: {} bare, {} settled (anonymous {}), peak {}, restarted {} (peak {}); {:.1} KiB by Workload\n",
        run.operator,
        run.workloads,
        run.server.name(),
        rows.join("\n"),
        mebibytes(memory.bare),
        mebibytes(memory.settled),
        mebibytes(memory.anonymous),
        mebibytes(memory.peak),
        mebibytes(memory.restarted),
        mebibytes(memory.restart_peak),
        memory.each(run.workloads) / 1024.0,
    )
}

/// All runs, those of one operator on one server side by side, with their limits.
pub fn summary(runs: &[Run]) -> String {
    let mut text = String::new();
    for group in groups(runs) {
        let _ = write!(text, "{}", markdown(group));
        for verdict in verdicts(group) {
            let _ = writeln!(text, "{verdict}");
        }
        text.push('\n');
    }
    text
}

/// The runs of one operator on one server as a Markdown table.
pub fn markdown(group: &[Run]) -> String {
    let Some(first) = group.first() else { return String::new() };
    let mut text = format!("**{}, {}**\n\n", first.operator, first.server.name());
    text += "| Workloads | memory settled | peak | idle | create | edit | resync | restart | change current, one at a time | all at once |\n";
    text += "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
    for run in group {
        let phase = |phase: Phase| run.phases.get(&phase);
        let each =
            |name: Phase| phase(name).map_or_else(dash, |figures| time(figures.each(figures.cpu) * 1e9));
        let latency = |name: Phase| {
            let latency = phase(name).and_then(|figures| figures.latency);
            latency.map_or_else(dash, |Latency { median, p99 }| format!("{}, {}", span(median), span(p99)))
        };
        let cells = [
            thousands(run.workloads),
            mebibytes(run.memory.settled),
            mebibytes(run.memory.peak),
            phase(Phase::Idle).map_or_else(dash, |idle| share(idle.cpu / idle.seconds)),
            each(Phase::Create),
            each(Phase::EditAll),
            each(Phase::Resync),
            phase(Phase::Restart).map_or_else(dash, |restart| span(restart.cpu)),
            latency(Phase::EditOne),
            latency(Phase::EditAll),
        ];
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    text + "\n"
}

/// Groups sorted runs by operator and server.
pub fn groups(runs: &[Run]) -> impl Iterator<Item = &[Run]> {
    runs.chunk_by(|one, other| one.operator == other.operator && one.server == other.server)
}

/// Lines with a figure and its limit.
fn verdicts(group: &[Run]) -> Vec<String> {
    let find = |workloads| group.iter().find(|run| run.workloads == workloads);
    let Some(many) = find(MANY) else { return Vec::new() };
    let line = |what: &str, shown: String, limit: &str, holds: bool| {
        format!("{} {what}: {shown}, limit {limit}", if holds { "kept  " } else { "MISSED" })
    };
    let mut lines = Vec::new();
    #[expect(clippy::cast_precision_loss, reason = "no machine has 2^53 bytes")]
    let settled = many.memory.settled as f64;
    lines.push(line("memory settled", mebibytes(many.memory.settled), "256 MiB", settled <= MEMORY));
    if let Some(restart) = many.phases.get(&Phase::Restart) {
        lines.push(line("CPU of a restart", span(restart.cpu), "10 s", restart.cpu <= RESTART));
    }
    if let Some(idle) = many.phases.get(&Phase::Idle) {
        let used = idle.cpu / idle.seconds;
        lines.push(line("idle, of a core", share(used), "1 %", used < IDLE));
    }
    let Some(few) = find(FEW) else { return lines };
    for (what, few, many) in ratios(few, many) {
        // Infinite if `few` is zero.
        let ratio = many / few;
        lines.push(line(&format!("{what}, {MANY} : {FEW}"), format!("{ratio:.2}"), "1.20", ratio <= FLAT));
    }
    lines
}

/// The figures by Workload that must stay flat, in both runs.
fn ratios(few: &Run, many: &Run) -> Vec<(String, f64, f64)> {
    let mut rows = vec![(
        "memory by Workload".to_owned(),
        few.memory.each(few.workloads),
        many.memory.each(many.workloads),
    )];
    for phase in Phase::ALL.into_iter().filter(|phase| phase.is_by_workload()) {
        let Some((few, many)) = few.phases.get(&phase).zip(many.phases.get(&phase)) else { continue };
        rows.push((format!("CPU of {}", phase.name()), few.each(few.cpu), many.each(many.cpu)));
        rows.push((format!("requests of {}", phase.name()), requests(few), requests(many)));
        if let Some((few, many)) = few.latency.zip(many.latency).filter(|_| phase == Phase::EditOne) {
            rows.push(("time to current status, one at a time".to_owned(), few.median, many.median));
        }
    }
    // A phase without requests has nothing to compare.
    rows.retain(|(_, few, many)| *few > 0.0 || *many > 0.0);
    rows
}

#[expect(clippy::cast_precision_loss, reason = "no operator sends 2^53 requests")]
fn requests(figures: &Figures) -> f64 {
    figures.each((figures.requests.writes + figures.requests.reads) as f64)
}

#[expect(clippy::cast_precision_loss, reason = "no operator sends 2^53 requests")]
fn count(figures: &Figures, requests: u64) -> String {
    if figures.touched == 0 { requests.to_string() } else { format!("{:.2}", figures.each(requests as f64)) }
}

fn share(of_a_core: f64) -> String {
    format!("{:.2} %", of_a_core * 100.0)
}

fn dash() -> String {
    "–".to_owned()
}

/// Seconds, in the unit that suits them.
fn span(seconds: f64) -> String {
    if seconds < 1.0 { time(seconds * 1e9) } else { format!("{seconds:.1} s") }
}

#[expect(clippy::cast_precision_loss, reason = "no machine has 2^53 bytes")]
fn mebibytes(bytes: u64) -> String {
    format!("{:.0} MiB", bytes as f64 / MIB)
}

/// With commas: 10,000.
pub(super) fn thousands(number: u32) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev();
    groups.map(String::from_utf8_lossy).collect::<Vec<_>>().join(",")
}
