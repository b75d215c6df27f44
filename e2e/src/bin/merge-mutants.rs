//! Breaks the merge core in every known way, one at a time, and shows which question caught it. The last line on standard
//! output is `caught X of Y`; the status is 1 if a broken core got through.

use std::{env, process::ExitCode, time::Instant};

use anyhow::Context as _;
use baton_e2e::{
    merge_diff::{self, Peer, ProcessPeer, workspace},
    merge_mutants::{Error, Mutation, Questions, Sandbox, hunt, mutations},
};
use clap::Parser;

/// Break the merge core on purpose, and see whether the differential tests notice.
///
/// Each mutation is applied to a copy of the merge core in a temporary folder, never to the working tree. The driver that
/// is built there is asked the corpus and then generated cases, until an answer differs from the oracle's; what speaks no
/// protocol is left to the merge core's own tests. A run builds the merge core once for each mutation, which takes some
/// minutes in all, so it isn't part of `cargo test`.
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
    let sandbox = Sandbox::new()?;
    wanted.iter().try_for_each(|mutation| sandbox.check(mutation))?;
    if cli.list {
        for mutation in &wanted {
            println!("{}\n  {}: {}", mutation.name, mutation.file, mutation.seen);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let oracle = baton_e2e::assets::oracle().map_err(merge_diff::Error::from)?.display().to_string();
    let began = Instant::now();
    let questions = Questions::collect(&oracle, cli.seed, cli.cases)?;
    eprintln!("{} questions in {} s", questions.len(), began.elapsed().as_secs());
    let mut judge =
        Judge { sandbox, oracle: ProcessPeer::start(vec![oracle])?, questions, tests_are_sound: false };
    judge.check_soundness()?;
    eprintln!("the merge core as it is answers all of them; {} s", began.elapsed().as_secs());

    let width = wanted.iter().map(|mutation| mutation.name.len()).max().unwrap_or_default();
    println!("{:<width$}  {:>6}  caught by", "mutation", "after");
    let mut caught = 0;
    for mutation in &wanted {
        let (after, by) = match judge.judge(mutation) {
            // The other mutations still show something.
            Err(error @ Error::Build { .. }) => (error.to_string(), None),
            judged => judged?,
        };
        caught += usize::from(by.is_some());
        let by = by.unwrap_or_else(|| "NOBODY".to_owned());
        println!("{:<width$}  {after:>6}  {by}", mutation.name);
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
    /// Whether the tests are known to pass without a mutation.
    tests_are_sound: bool,
}

impl Judge {
    /// Makes sure that the core as it is gets through.
    fn check_soundness(&mut self) -> Result<(), Error> {
        let Self { sandbox, oracle, questions, .. } = self;
        match sandbox.with(None, |sandbox| hunt(&sandbox.driver(), oracle, questions).map_err(Error::from))? {
            None => Ok(()),
            Some(catch) => Err(Error::AlreadyDifferent { at: catch.origin.to_string() }),
        }
    }

    /// After how many questions a mutation is caught, and by what.
    fn judge(&mut self, mutation: &Mutation) -> Result<(String, Option<String>), Error> {
        let Self { sandbox, oracle, questions, tests_are_sound } = self;
        let oracle: &mut dyn Peer = oracle;
        let (caught, fails) = sandbox.with(Some(mutation), |sandbox| {
            let caught = hunt(&sandbox.driver(), oracle, questions)?;
            let fails = if caught.is_none() { sandbox.failing_test()? } else { None };
            Ok::<_, Error>((caught, fails))
        })?;
        if let Some(catch) = caught {
            return Ok((catch.after.to_string(), Some(catch.origin.to_string())));
        }
        if fails.is_some() && !*tests_are_sound {
            if let Some(test) = sandbox.failing_test()? {
                return Err(Error::AlreadyFailing { test });
            }
            *tests_are_sound = true;
        }
        Ok(("tests".to_owned(), fails))
    }
}
