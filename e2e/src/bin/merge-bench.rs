//! Measures the merge core beside the Go libraries that a kube-apiserver is made of: the same rows over the same objects,
//! in turns, in one run. The last line on standard output is `median ratio X, lowest Y`, where a ratio is how many times
//! as long Go takes.
//!
//! What counts on which side is told in `baton_e2e::merge_bench`.

use std::time::Duration;

use allocation_counter::measure;
use baton_e2e::merge_bench::{
    Error, Row,
    core::Core,
    go::Go,
    objects::{self, Subject},
    run::{Effort, Figures, run},
    sample::median,
    table,
};
use baton_merge::Arena;
use clap::Parser;

/// Measure the merge core beside the libraries that a kube-apiserver is made of.
#[derive(Parser)]
struct Cli {
    /// Only these rows, separated by commas; `field-set-read` is `field set read`.
    #[arg(long, value_delimiter = ',')]
    rows: Vec<Row>,
    /// Only objects whose names contain one of these, separated by commas; case doesn't matter.
    #[arg(long, value_delimiter = ',')]
    objects: Vec<String>,
    /// How many samples each side has of each row.
    #[arg(long, default_value_t = 7)]
    samples: usize,
    /// How many milliseconds a sample takes, about.
    #[arg(long, default_value_t = 100)]
    millis: u64,
    /// How many threads Go has for its code and its garbage collector together. With one, as by default, the time is
    /// what a write costs a machine that has other things to do; with more, the collector hides on idle processors.
    #[arg(long, default_value_t = 1)]
    go_threads: usize,
}

fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    let rows = if cli.rows.is_empty() { Row::ALL.to_vec() } else { cli.rows.clone() };
    let subjects: Vec<_> = objects::all()?.into_iter().filter(|subject| cli.wants(subject)).collect();
    let oracle = baton_e2e::assets::oracle()?;
    let mut go = Go::start(&oracle, cli.go_threads)?;
    let effort = Effort { samples: cli.samples, duration: Duration::from_millis(cli.millis) };

    let resources =
        subjects.iter().map(|subject| subject.types.resources()).collect::<Result<Vec<_>, _>>()?;
    let arenas: Vec<_> = subjects.iter().map(|_| Arena::new()).collect();
    let mut cores = Vec::new();
    for ((subject, resources), arena) in subjects.iter().zip(&resources).zip(&arenas) {
        cores.push(Core::new(subject, resources, arena)?);
        go.load(subject)?;
    }
    describe(&subjects, &cores);

    println!("{}", table::head());
    let mut all: Vec<Figures> = Vec::new();
    for row in &rows {
        for (subject, core) in subjects.iter().zip(&cores) {
            eprint!("{row} of {}…\x1b[K\r", subject.name);
            let figures = run(*row, subject, core, &mut go, effort, count)?;
            println!("{}", table::line(&figures));
            all.push(figures);
        }
    }
    eprint!("\x1b[K");
    println!();
    show_parsing(&subjects, &cores, effort)?;
    println!("both sides made the same of every row");
    println!("{}", table::summary(&all));
    Ok(())
}

impl Cli {
    fn wants(&self, subject: &Subject) -> bool {
        let name = subject.name.to_lowercase();
        self.objects.is_empty() || self.objects.iter().any(|wanted| name.contains(&wanted.to_lowercase()))
    }
}

fn count(work: &mut dyn FnMut()) -> (u64, u64) {
    let info = measure(work);
    (info.count_total, info.bytes_total)
}

fn describe(subjects: &[Subject], cores: &[Core<'_>]) {
    for (subject, core) in subjects.iter().zip(cores) {
        println!("{:<22}{}", subject.name, core.describe());
    }
    println!();
}

fn show_parsing(subjects: &[Subject], cores: &[Core<'_>], effort: Effort) -> Result<(), Error> {
    for (subject, core) in subjects.iter().zip(cores) {
        let times: Result<Vec<_>, _> =
            (0..effort.samples).map(|_| core.time_parsing(effort.duration)).collect();
        println!("{:<16}{:<22}{:>10}", "parse its JSON", subject.name, table::time(median(times?)));
    }
    println!();
    Ok(())
}
