//! What only the Go libraries themselves show.

#![allow(clippy::unwrap_used)]

use std::{env, fs, process::Command};

use baton_e2e::{
    merge_diff::{
        Peer, ProcessPeer,
        generate::Level,
        run::{Options, Progress, Sides, run},
    },
    oracle::{self, Release},
};
use baton_testbed::workspace;

fn oracle() -> ProcessPeer {
    let binary = oracle::oracle(Release::default()).unwrap().display().to_string();
    ProcessPeer::start(vec![binary]).unwrap()
}

#[test]
fn the_libraries_agree_with_themselves_and_a_run_asks_as_many_cases_as_it_was_told() {
    env::set_current_dir(workspace()).unwrap();
    let options = Options {
        cases: 1003,
        seed: 1,
        first: 0,
        levels: Level::ALL.to_vec(),
        jobs: 2,
        profile: Some(Release::default()),
    };
    let start = || Ok(Box::new(oracle()) as Box<dyn Peer>);
    let report = run(&options, Sides { left: &start, right: &start }, &Progress::default()).unwrap();
    let asked: u64 = report.tally.kinds().map(|(_, _, counts)| counts.cases).sum();
    assert_eq!(asked, 1003);
    assert_eq!(report.tally.matched(), report.tally.answered());
}

/// The merge core ships what a new object of each built-in kind has before anyone set anything, since no schema tells it.
#[test]
fn the_zero_values_of_built_in_kinds_are_those_of_the_libraries() {
    let printed =
        Command::new(oracle::oracle(Release::default()).unwrap()).arg("zero-values").output().unwrap();
    let shipped = workspace().join("merge/data/zero-values.json");
    let printed = String::from_utf8(printed.stdout).unwrap();
    assert!(
        printed == fs::read_to_string(&shipped).unwrap(),
        "{} isn't up to date: write the output of `oracle zero-values` there",
        shipped.display()
    );
}
