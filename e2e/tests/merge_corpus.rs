//! Replays every case of the corpus against both implementations of the merge core, and shows that a difference is
//! seen where there is one.

use std::env;

use baton_e2e::{
    assets,
    merge_diff::{
        Peer, ProcessPeer,
        compare::{Verdict, compare},
        corpus,
        generate::Level,
        run::{Options, Progress, Sides, run},
        workspace,
    },
};

fn oracle() -> Box<dyn Peer> {
    let binary = assets::oracle().unwrap().display().to_string();
    Box::new(ProcessPeer::start(vec![binary]).unwrap())
}

#[test]
fn both_sides_answer_every_case_of_the_corpus_alike() {
    // Paths in requests are relative to the workspace.
    env::set_current_dir(workspace()).unwrap();
    let cases = corpus::read(&corpus::folder()).unwrap();
    assert!(cases.len() > 200, "only {} cases were found", cases.len());
    let lines: Vec<String> = cases.iter().map(|case| case.line.clone()).collect();
    let (left, right) = (oracle().ask(&lines).unwrap(), oracle().ask(&lines).unwrap());
    let mut differ = Vec::new();
    for ((case, left), right) in cases.iter().zip(&left).zip(&right) {
        if let Verdict::Differs { at, .. } = compare(left, right) {
            differ.push(format!("{}: {at}\n  {}\n  left  {left}\n  right {right}", case.name, case.line));
        }
    }
    assert!(differ.is_empty(), "{} of {} cases differ:\n{}", differ.len(), cases.len(), differ.join("\n"));
}

#[test]
fn a_run_asks_as_many_cases_as_it_was_told() {
    env::set_current_dir(workspace()).unwrap();
    let options = Options { cases: 1003, seed: 1, first: 0, levels: Level::ALL.to_vec(), jobs: 2 };
    let start = || Ok(oracle());
    let report = run(&options, Sides { left: &start, right: &start }, &Progress::default()).unwrap();
    let asked: u64 = report.tally.kinds().map(|(_, _, counts)| counts.cases).sum();
    assert_eq!(asked, 1003);
    assert_eq!(report.tally.matched(), report.tally.answered());
}
