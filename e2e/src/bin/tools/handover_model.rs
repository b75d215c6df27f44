//! Explores the handover in a model checker, and shows that it finds bugs. The exit code is 1 if a promise was broken, or with
//! `--fault` if none was.

use std::process::ExitCode;

use baton_e2e::handover_model::{
    Allowance, Exploration, Extent, Fault, Occurrence, Occurrences, Progress, configurations, explore,
};
use clap::Args;

/// Check the handover of spec.replicas in every order of what the operator, autoscalers, users and crashes do.
///
/// The operator is the real code; the API server is the merge core. Each configuration starts with a settled Workload. Every
/// disturbance may happen at any moment, a few times each. All orders are explored.
#[derive(Args)]
pub(crate) struct Cli {
    /// Explore only the configurations with this in their name.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Explore only what `cargo test` does, which takes seconds.
    #[arg(long)]
    quick: bool,
    /// How many times a disturbance may happen: edits, scalings, by-hand, rogue, others, losses, crashes, late, resyncs or deletions.
    #[arg(long, value_name = "NAME=TIMES")]
    budget: Vec<Allowance>,
    /// Put this fault into the operator, and print the trace that it leads to.
    #[arg(long, value_name = "FAULT")]
    fault: Option<Fault>,
}

pub(crate) fn run(cli: &Cli) -> ExitCode {
    let extent = if cli.quick || cli.fault.is_some() { Extent::Quick } else { Extent::Thorough };
    let is_wanted =
        |name: &str| cli.only.is_empty() || cli.only.iter().any(|part| name.contains(part.as_str()));
    let (mut rows, mut occurrences, mut found_broken) = (Vec::new(), Occurrences::default(), false);
    for mut configuration in configurations(extent).into_iter().filter(|one| is_wanted(one.name)) {
        let name = configuration.name;
        for allowance in &cli.budget {
            configuration.budgets.allow(allowance);
        }
        let found = explore(configuration, cli.fault, |progress| eprintln!("{name}: {}", report(progress)));
        occurrences.add(&found.occurrences);
        rows.push(row(name, &found));
        if let Some(trace) = found.broken {
            println!("{trace}");
            found_broken = true;
            break;
        }
    }
    println!(
        "{:<34}{:>11}{:>11}{:>7}{:>8}{:>9}{:>9}",
        "configuration", "states", "different", "depth", "time", "passes", "promises"
    );
    for row in rows {
        println!("{row}");
    }
    println!();
    for occurrence in Occurrence::all() {
        println!("{:>9}  {}", occurrences.of(*occurrence), occurrence.text());
    }
    if found_broken == cli.fault.is_some() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn report(progress: Progress) -> String {
    let Progress { states, unique, depth, time } = progress;
    let seconds = time.as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    let speed = states as f64 / seconds.max(f64::EPSILON);
    format!("{states} states, {unique} of them different, depth {depth}, {seconds:.0} s, {speed:.0} states/s")
}

fn row(name: &str, found: &Exploration) -> String {
    let Progress { states, unique, depth, time } = found.progress;
    let kept = if found.broken.is_some() { "BROKEN" } else { "kept" };
    let [_, passes, _] = found.sizes;
    format!("{name:<34}{states:>11}{unique:>11}{depth:>7}{:>7.1}s{passes:>9}{kept:>9}", time.as_secs_f64())
}
