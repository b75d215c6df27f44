//! The whole bench, and the page with its figures.

use std::{collections::BTreeMap, time::Duration};

use baton_testbed::workspace;

use super::{
    figures::{self, Figures, Latency, Phase, Requests, Residence, Run, ServerKind},
    operator::Subject,
    plot, report,
    run::{Effort, run},
};
use crate::generated;

const MIB: u64 = 1024 * 1024;

/// A run with the same cost for each Workload.
fn flat(operator: &str, workloads: u32, each: f64) -> Run {
    let cost = |touched: u32| Figures {
        touched,
        seconds: 10.0,
        cpu: each * f64::from(touched),
        server_cpu: None,
        requests: Requests { writes: u64::from(touched) * 4, reads: 0 },
        latency: (touched > 0).then_some(Latency { median: 0.05, p99: 0.25 }),
    };
    let idle = Figures { seconds: 30.0, cpu: 0.03, ..Figures::default() };
    let phases = Phase::ALL.map(|phase| match phase {
        Phase::Start => (phase, Figures { cpu: 0.1, ..Figures::default() }),
        Phase::Idle => (phase, idle),
        _ => (phase, cost(workloads)),
    });
    let settled = 20 * MIB + u64::from(workloads) * 8192;
    let memory = Residence {
        bare: 20 * MIB,
        settled,
        anonymous: settled - 10 * MIB,
        peak: settled + MIB,
        restarted: settled,
        restart_peak: settled + MIB,
    };
    let phases = BTreeMap::from(phases);
    Run { operator: operator.to_owned(), server: ServerKind::Real, workloads, phases, memory }
}

#[test]
fn a_run_is_shown_phase_by_phase() {
    let text = report::table(&flat("baton", 1000, 0.002));
    let expected = "\
baton of 1000 Workloads on a real control plane; CPU and requests by Workload, but for start and idle

PHASE      SECONDS   CPU       WRITES   READS   MEDIAN    P99      SERVER CPU
start      0.0       100 ms    0        0
create     10.0      2.00 ms   4.00     0.00    50.0 ms   250 ms
idle       30.0      0.10 %    0        0
edit one   10.0      2.00 ms   4.00     0.00    50.0 ms   250 ms
edit all   10.0      2.00 ms   4.00     0.00    50.0 ms   250 ms
restart    10.0      2.00 ms   4.00     0.00    50.0 ms   250 ms
resync     10.0      2.00 ms   4.00     0.00    50.0 ms   250 ms
delete     10.0      2.00 ms   4.00     0.00    50.0 ms   250 ms

memory: 20 MiB bare, 28 MiB settled (anonymous 18 MiB), peak 29 MiB, restarted 28 MiB (peak 29 MiB); 8.0 KiB by Workload
";
    assert_eq!(text, expected, "\n{text}\n{expected}");
}

#[test]
fn a_summary_compares_the_largest_run_with_the_limits() {
    let text = report::summary(&[flat("baton", 1_000, 0.0008), flat("baton", 10_000, 0.002)]);
    assert!(text.contains("| 10,000 | 98 MiB | 99 MiB | 0.10 % | 2.00 ms |"), "{text}");
    for line in [
        "kept   memory settled: 98 MiB, limit 256 MiB",
        "MISSED CPU of a restart: 20.0 s, limit 10 s",
        "kept   idle, of a core: 0.10 %, limit 1 %",
        "kept   memory by Workload, 10000 : 1000: 1.00, limit 1.20",
        "MISSED CPU of create, 10000 : 1000: 2.50, limit 1.20",
        "kept   requests of create, 10000 : 1000: 1.00, limit 1.20",
        "kept   time to current status, one at a time, 10000 : 1000: 1.00, limit 1.20",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} isn't in\n{text}");
    }
}

#[test]
fn a_plot_has_a_line_and_a_description_of_each_operator() {
    let runs = [100, 1_000].map(|workloads| flat("baton", workloads, 0.001));
    let others = [100, 1_000].map(|workloads| flat("a & b", workloads, 0.002));
    let svg = plot::svg(&[runs, others].concat());
    assert_eq!(svg.matches("<circle").count(), 8, "{svg}");
    assert!(svg.contains("a &amp; b, real control plane: 100 Workloads 8.0 ms each, 21 MiB;"), "{svg}");
    assert!(svg.contains("prefers-color-scheme:dark") && svg.contains(">1,000</text>"), "{svg}");
}

#[test]
fn the_page_shows_the_figures_of_its_file() {
    const BEGIN: &str = "<!-- sizes: made of docs/scale.json by `BATON_WRITE_DOCS=1 cargo test -p baton-e2e --lib scale_bench` -->\n\n";
    const END: &str = "<!-- end of sizes -->";
    const TEST: &str = "test -p baton-e2e --lib scale_bench";
    let runs = figures::read(&workspace().join("docs/scale.json")).unwrap();
    let tables: String = report::groups(&runs).map(report::markdown).collect();
    let page = generated::with_part(&generated::read("docs/operations.md").unwrap(), BEGIN, &tables, END);
    generated::up_to_date("docs/operations.md", &page, TEST).unwrap();
    generated::up_to_date("docs/scale.svg", &plot::svg(&runs), TEST).unwrap();
}

/// Checks that every phase ends, and that a settled cluster gets no writes. The figures mean nothing here.
#[tokio::test(flavor = "multi_thread")]
async fn five_workloads_go_through_all_phases() {
    let effort = Effort {
        workloads: 5,
        singles: 2,
        idle: Duration::from_millis(200),
        quiet: Duration::from_millis(500),
    };
    let subject = Subject::Baton(Vec::new());
    let run = run(ServerKind::InProcess, &subject, effort, |_| ()).await.unwrap();
    assert!(run.phases.keys().eq(&Phase::ALL), "{run:?}");
    let writes = |phase| run.phases[&phase].requests.writes;
    assert!(writes(Phase::Create) >= 5 * 5 && writes(Phase::EditAll) >= 5, "{run:?}");
    assert_eq!([Phase::Idle, Phase::Restart, Phase::Resync].map(writes), [0; 3], "{run:?}");
    assert!(run.phases[&Phase::EditOne].latency.is_some() && run.memory.settled > 0, "{run:?}");
}
