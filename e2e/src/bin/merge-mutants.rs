//! Breaks the merge core in every known way, one at a time, and shows which question caught it. The last line on standard
//! output is `caught X of Y`; the status is 1 if a broken core got through.

use std::{env, process::ExitCode, time::Instant};

use anyhow::Context as _;
use baton_e2e::{
    merge_diff::{self, ProcessPeer},
    merge_mutants::{
        Catch, Error, Mutation, Origin, Questions, Sandbox, hunt, leave_out_differing, mutations,
    },
    oracle::{Release, oracle},
};
use baton_testbed::workspace;
use clap::Parser;

/// Break the merge core on purpose, and see whether the differential tests notice.
///
/// Each mutation is applied to a copy of the merge core in a temporary folder, never to the working tree. The driver that
/// is built there is asked the corpus and then generated cases, until an answer differs from the oracle's. A run builds
/// the merge core once for each mutation and so takes half an hour, which is why it isn't part of `cargo test`.
#[derive(Parser)]
struct Cli {
    /// Only mutations whose name contains this.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// How many generated cases a mutation may survive.
    #[arg(long, default_value_t = 40_960)]
    cases: u64,
    /// What the generated cases follow from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Say what each mutation breaks, and end.
    #[arg(long)]
    list: bool,
}

fn main() -> anyhow::Result<ExitCode> {
    let cli = Cli::parse();
    // Paths in requests are relative to the workspace.
    env::set_current_dir(workspace()).with_context(|| format!("can't enter {}", workspace().display()))?;
    let is_wanted = |mutation: &&Mutation| {
        cli.only.is_empty() || cli.only.iter().any(|part| mutation.name.contains(part.as_str()))
    };
    let wanted: Vec<_> = mutations::all().filter(is_wanted).collect();
    if cli.list {
        for mutation in &wanted {
            println!("{}\n  {}: {}", mutation.name, mutation.file, mutation.seen);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let sandbox = Sandbox::new()?;
    wanted.iter().try_for_each(|mutation| sandbox.check(mutation))?;

    let began = Instant::now();
    let oracle = oracle(Release::default()).map_err(merge_diff::Error::from)?.display().to_string();
    let questions = Questions::collect(&oracle, cli.seed, cli.cases)?;
    eprintln!("{} questions; {} s", questions.len(), began.elapsed().as_secs());
    let mut judge = Judge { sandbox, oracle: ProcessPeer::start(vec![oracle])?, questions };
    let left_out = judge.leave_out_differing()?;
    for origin in &left_out {
        eprintln!("the merge core as it is answers {origin} differently; run `cargo merge-diff`");
    }
    eprintln!(
        "the merge core as it is answers {} of them; {} s",
        judge.questions.len(),
        began.elapsed().as_secs()
    );

    let width = wanted.iter().map(|mutation| mutation.name.len()).max().unwrap_or_default();
    println!("{:<width$}  {:>6}  caught by", "mutation", "after");
    let mut caught = 0;
    for mutation in &wanted {
        match judge.hunt(mutation) {
            Ok(Some(Catch { origin, after })) => {
                caught += 1;
                println!("{:<width$}  {after:>6}  {origin}", mutation.name);
            }
            Ok(None) => println!("{:<width$}  {:>6}  NOBODY", mutation.name, ""),
            // The other mutations still show something.
            Err(error @ Error::Build { .. }) => println!("{error}"),
            Err(error) => return Err(error.into()),
        }
    }
    eprintln!("{} s", began.elapsed().as_secs());
    println!("caught {caught} of {}", wanted.len());
    Ok(if caught == wanted.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Who looks whether a broken core is caught.
struct Judge {
    sandbox: Sandbox,
    oracle: ProcessPeer,
    questions: Questions,
}

impl Judge {
    /// Leaves out what the core as it is answers differently.
    fn leave_out_differing(&mut self) -> Result<Vec<Origin>, Error> {
        let Self { sandbox, oracle, questions } = self;
        sandbox.with(None, |sandbox| Ok(leave_out_differing(&sandbox.driver(), oracle, questions)?))
    }

    /// What catches the core with a mutation.
    fn hunt(&mut self, mutation: &Mutation) -> Result<Option<Catch>, Error> {
        let Self { sandbox, oracle, questions } = self;
        sandbox.with(Some(mutation), |sandbox| Ok(hunt(&sandbox.driver(), oracle, questions)?))
    }
}
