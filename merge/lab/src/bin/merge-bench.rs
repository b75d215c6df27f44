//! Measures the merge core beside the Go libraries that a kube-apiserver is made of: the same rows over the same objects,
//! in turns, in one run. The last line on standard output is `median ratio X, lowest Y`, where a ratio is how many times
//! as long Go takes.
//!
//! `baton_merge_lab::bench` describes what counts on which side.

use std::time::Duration;

use allocation_counter::measure;
use baton_merge::Arena;
use baton_merge_driver::corpus::RECORDED;
use baton_merge_lab::{
    bench::{
        Row,
        core::Core,
        go::Go,
        objects,
        run::{Effort, Figures, head, run, summary},
    },
    oracle::oracle,
};
use baton_testbed::units;
use clap::Parser;

/// Measure the merge core beside the libraries that a kube-apiserver is made of.
#[derive(Parser)]
struct Cli {
    /// Samples of each row and side.
    #[arg(long, default_value_t = 7)]
    samples: usize,
    /// Milliseconds of a sample, about.
    #[arg(long, default_value_t = 100)]
    millis: u64,
}

fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    let subjects = objects::all()?;
    let oracle = oracle(RECORDED)?;
    let mut go = Go::start(&oracle)?;
    let effort = Effort { samples: cli.samples, duration: Duration::from_millis(cli.millis) };

    let resources =
        subjects.iter().map(|subject| subject.types.resources()).collect::<Result<Vec<_>, _>>()?;
    let arenas: Vec<_> = subjects.iter().map(|_| Arena::new()).collect();
    let mut cores = Vec::new();
    for ((subject, resources), arena) in subjects.iter().zip(&resources).zip(&arenas) {
        cores.push(Core::new(subject, resources, arena)?);
        go.load(subject)?;
    }
    for (subject, core) in subjects.iter().zip(&cores) {
        println!("{:<22}{}", subject.name, core.describe());
    }
    println!();

    println!("{}", head());
    let mut all: Vec<Figures> = Vec::new();
    for row in Row::ALL {
        for (subject, core) in subjects.iter().zip(&cores) {
            eprint!("{row} of {}…\x1b[K\r", subject.name);
            let figures = run(row, subject, core, &mut go, effort, count)?;
            println!("{figures}");
            all.push(figures);
        }
    }
    eprint!("\x1b[K");
    println!();
    show_parsing(&all);
    println!("both sides made the same of every row");
    println!("{}", summary(&all));
    Ok(())
}

fn count(work: &mut dyn FnMut()) -> (u64, u64) {
    let info = measure(work);
    (info.count_total, info.bytes_total)
}

/// The cost of parsing, which a no-op check has to beat.
fn show_parsing(all: &[Figures]) {
    println!("{:<38}{:>10}{:>15}{:>8}", "parse the object's JSON", "parse", "predict no-op", "ratio");
    for (figures, parsing) in all.iter().filter_map(|figures| Some((figures, figures.parsing?))) {
        let noop = figures.core.nanoseconds;
        let ratio = format!("{:.1}", parsing / noop);
        println!("{:<38}{:>10}{:>15}{ratio:>8}", figures.object, units::time(parsing), units::time(noop));
    }
    println!();
}
