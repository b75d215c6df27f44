//! Tests that need the Go libraries or an API server, and build them the first time.

#![allow(missing_docs, clippy::unwrap_used)]

use std::{env, fs, process::Command};

use baton_merge_driver::corpus::RECORDED;
use baton_merge_lab::{
    diff::run::{self as diff, Sides},
    oracle::oracle,
    peer,
    transcripts::{
        Server,
        run::{Options, run},
    },
};
use baton_testbed::workspace;

#[test]
fn the_libraries_agree_with_themselves_and_a_run_has_the_requested_number_of_cases() {
    env::set_current_dir(workspace()).unwrap();
    let options = diff::Options { cases: 1003, seed: 1, profile: Some(RECORDED.to_owned()) };
    let start = || peer::process(&[oracle(RECORDED)?.display().to_string()]);
    let report = diff::run(&options, Sides { left: &start, right: &start }).unwrap();
    assert_eq!(
        (report.matched(), report.answered(), report.abstained()),
        (1003, 1003, 0),
        "{}",
        report.tally
    );
}

/// The merge core has the zero values of built-in kinds as data, since no schema has them.
#[test]
fn the_zero_values_of_built_in_kinds_are_those_of_the_libraries() {
    let printed = Command::new(oracle(RECORDED).unwrap()).arg("zero-values").output().unwrap();
    let shipped = workspace().join("merge/data/zero-values.json");
    let printed = String::from_utf8(printed.stdout).unwrap();
    assert!(
        printed == fs::read_to_string(&shipped).unwrap(),
        "{} isn't up to date: write the output of `oracle zero-values` there",
        shipped.display()
    );
}

#[tokio::test]
async fn the_core_predicts_what_the_server_does_to_new_writes() {
    env::set_current_dir(workspace()).unwrap();
    let server = Server::start().await.unwrap();
    let options = Options { writes: 500, seed: 7 };
    let report = run(&server, options).await.unwrap();
    let failures: Vec<_> = report.failures.iter().map(ToString::to_string).collect();
    assert!(failures.is_empty(), "{}\n{}", report.tally, failures.join("\n"));
    assert!(report.matched() > 400, "{}", report.tally);
}
