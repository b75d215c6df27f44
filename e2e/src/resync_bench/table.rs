//! What came out, laid out for eyes: for one Workload in one resync.

use baton_testbed::units::time;

use super::{
    measure::{Cpu, Effort, Figures},
    run::{Outcome, Side},
    workloads::CHILDREN,
};

/// The width of the column that says what is measured, and of each that says how much.
const COLUMNS: (usize, usize) = (22, 18);

/// The whole table, with what was taken off.
pub fn text(effort: Effort, outcomes: &[Outcome; 2]) -> String {
    let [predicting, sending] = outcomes.each_ref().map(|outcome| each(effort, &outcome.resyncs));
    let duration = |name, figure: fn(&Each) -> f64| {
        let figures = [figure(&predicting), figure(&sending)];
        line(name, figures.map(|seconds| time(seconds * 1e9)), figures)
    };
    let count = |name, figure: fn(&Each) -> f64| {
        let figures = [figure(&predicting), figure(&sending)];
        line(name, figures.map(|count| format!("{count:.2}")), figures)
    };
    let head = columns("", Side::ALL.map(|side| side.name().to_owned()), "ratio");
    let mut lines = vec![
        format!(
            "for one Workload ({CHILDREN} children) in one resync; {} Workloads, {} resyncs",
            effort.workloads, effort.resyncs
        ),
        String::new(),
        head,
        duration("operator CPU", |each| each.cpu.operator),
        duration("kube-apiserver CPU", |each| each.cpu.api_server),
        duration("etcd CPU", |each| each.cpu.etcd),
        count("requests", |each| each.requests),
        count("writes", |each| each.writes),
        duration("wall time", |each| each.wall),
        String::new(),
        "taken off: what is used in any case, of one core".to_owned(),
    ];
    for (name, figure) in [
        ("operator", (|cpu| cpu.operator) as fn(Cpu) -> f64),
        ("kube-apiserver", |cpu| cpu.api_server),
        ("etcd", |cpu| cpu.etcd),
    ] {
        let shares = outcomes.each_ref().map(|outcome| format!("{:.1} %", figure(outcome.idle) * 100.0));
        lines.push(columns(name, shares, ""));
    }
    lines.join("\n") + "\n"
}

/// For one Workload in one resync; times in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Each {
    cpu: Cpu,
    wall: f64,
    requests: f64,
    writes: f64,
}

/// Where less was used than while nothing happened, that is noise, and stands for nothing.
fn each(effort: Effort, resyncs: &[Figures]) -> Each {
    let passes = f64::from(effort.workloads) * f64::from(effort.resyncs);
    let mean = |figure: &dyn Fn(&Figures) -> f64| resyncs.iter().map(figure).sum::<f64>() / passes;
    let cpu = resyncs.iter().fold(Cpu::default(), |sum, figures| sum.with(figures.cpu, |a, b| a + b));
    #[expect(clippy::cast_precision_loss, reason = "they are shown with two digits")]
    let (requests, writes) =
        (mean(&|figures| figures.requests as f64), mean(&|figures| figures.writes as f64));
    Each {
        cpu: cpu.map(|seconds| (seconds / passes).max(0.0)),
        wall: mean(&|figures| figures.wall),
        requests,
        writes,
    }
}

/// A line with how many times as much the second figure is.
fn line(name: &str, shown: [String; 2], [first, second]: [f64; 2]) -> String {
    let ratio = if first > 0.0 { format!("{:.1}", second / first) } else { "–".to_owned() };
    columns(name, shown, &ratio)
}

fn columns(name: &str, [first, second]: [String; 2], ratio: &str) -> String {
    let (wide, narrow) = COLUMNS;
    format!("{name:<wide$}{first:>narrow$}{second:>narrow$}{ratio:>10}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const EFFORT: Effort = Effort { workloads: 1000, resyncs: 2, idle: Duration::ZERO };

    fn outcome(side: Side, resyncs: [Figures; 2]) -> Outcome {
        let idle = Cpu { operator: 0.004, api_server: 0.02, etcd: 0.01 };
        Outcome { side, idle, resyncs: resyncs.to_vec() }
    }

    #[test]
    fn figures_are_of_one_workload_in_one_resync_side_by_side() {
        let cpu = |operator, api_server, etcd| Cpu { operator, api_server, etcd };
        let skipped = Figures { cpu: cpu(0.1, 0.001, -0.002), wall: 0.2, requests: 0, writes: 0 };
        let sent = |wall| Figures { cpu: cpu(0.5, 2.5, 0.1), wall, requests: 3000, writes: 3000 };
        let text = text(
            EFFORT,
            &[outcome(Side::Predicting, [skipped, skipped]), outcome(Side::Sending, [sent(1.5), sent(2.5)])],
        );
        let expected = "\
for one Workload (3 children) in one resync; 1000 Workloads, 2 resyncs

                         with prediction           without     ratio
operator CPU                      100 µs            500 µs       5.0
kube-apiserver CPU               1.00 µs           2.50 ms    2500.0
etcd CPU                            0 ns            100 µs         –
requests                            0.00              3.00         –
writes                              0.00              3.00         –
wall time                         200 µs           2.00 ms      10.0

taken off: what is used in any case, of one core
operator                           0.4 %             0.4 %
kube-apiserver                     2.0 %             2.0 %
etcd                               1.0 %             1.0 %
";
        assert_eq!(text, expected, "\n{text}\n{expected}");
    }
}
