//! Measures what an operator costs for 100, 1,000 and 10,000 Workloads: CPU, memory, requests, and how long a change takes.
//!
//! `baton_e2e::scale_bench` has the details.

use std::{num::NonZeroU32, path::PathBuf, time::Duration};

use baton_e2e::scale_bench::{
    figures::{self, ServerKind},
    operator::Subject,
    plot, report,
    run::{self, Effort},
};
use baton_testbed::Error;
use clap::{Args, Subcommand};

/// Measure what an operator costs as the number of Workloads grows: CPU, memory, requests, and how long a change takes.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Option<Show>,
    /// How many Workloads to create. Several numbers with commas are measured one after the other.
    #[arg(long, value_delimiter = ',', default_value = "100,1000,10000")]
    workloads: Vec<NonZeroU32>,
    /// The API server.
    #[arg(long, value_enum, default_value = "in-process")]
    server: ServerKind,
    /// How many Workloads to edit one at a time.
    #[arg(long, default_value = "100")]
    singles: NonZeroU32,
    /// How many seconds the idle phase lasts.
    #[arg(long, default_value = "30")]
    idle: NonZeroU32,
    /// How many seconds operator and cluster must be quiet at the end of each phase.
    #[arg(long, default_value = "5")]
    quiet: NonZeroU32,
    /// A shell command that runs another operator of Workloads instead of Baton, with KUBECONFIG set. `{port}` stands for the port to
    /// serve metrics on, on the loopback interface.
    #[arg(long, value_name = "COMMAND", requires = "name", conflicts_with = "flags")]
    operator: Option<String>,
    /// The name of the other operator in the figures.
    #[arg(long, requires = "operator")]
    name: Option<String>,
    /// A file to add the figures to. They replace those of the same operator, server and number of Workloads.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// More flags of `baton run`, such as `--predict=false`.
    #[arg(last = true)]
    flags: Vec<String>,
}

#[derive(Subcommand)]
pub(crate) enum Show {
    /// Show figures from files.
    Show {
        /// Files that `--json` has written.
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Also draw a plot of CPU and memory, into this file.
        #[arg(long, value_name = "FILE")]
        svg: Option<PathBuf>,
    },
}

pub(crate) async fn run(cli: Cli) -> anyhow::Result<()> {
    if let Some(Show::Show { files, svg }) = cli.command {
        let mut runs = Vec::new();
        for file in files {
            figures::read(&file)?.into_iter().for_each(|run| figures::keep(&mut runs, run));
        }
        print!("{}", report::summary(&runs));
        if let Some(path) = svg {
            std::fs::write(&path, plot::svg(&runs)).map_err(Error::file("write", &path))?;
        }
        return Ok(());
    }
    if cfg!(debug_assertions) {
        eprintln!("this is a debug build, and so is the operator: the figures mean nothing");
    }
    let subject = match cli.name.zip(cli.operator) {
        Some((name, command)) => Subject::Other(name, command),
        None => Subject::Baton(cli.flags),
    };
    let seconds = |seconds: NonZeroU32| Duration::from_secs(seconds.get().into());
    let mut measured = Vec::new();
    for workloads in cli.workloads {
        let effort = Effort {
            workloads: workloads.get(),
            singles: cli.singles.get(),
            idle: seconds(cli.idle),
            quiet: seconds(cli.quiet),
        };
        let one = run::run(cli.server, &subject, effort, |line| eprintln!("{line}")).await?;
        println!("{}", report::table(&one));
        if let Some(path) = &cli.json {
            // At once: the next may take hours.
            let mut runs = figures::read(path)?;
            figures::keep(&mut runs, one.clone());
            figures::write(path, &runs)?;
        }
        figures::keep(&mut measured, one);
    }
    print!("{}", report::summary(&measured));
    Ok(())
}
