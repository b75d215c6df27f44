//! What the merge core predicts is what a real API server does: judged over recorded writes, and over new ones that are
//! sent to a control plane of the test's own.

#![allow(missing_docs, clippy::unwrap_used)]

use std::{collections::BTreeSet, env};

use baton_e2e::transcripts::{
    Server,
    run::{Options, Report, run},
    transcript::{self, Step},
};
use baton_merge_driver::Session;
use baton_testbed::{
    Json,
    prediction::{Verdict, judge},
    workspace,
};

fn recorded() -> Vec<Step> {
    // Paths in requests are relative to the workspace.
    env::set_current_dir(workspace()).unwrap();
    transcript::read(&transcript::folder()).unwrap()
}

fn assert_no_failures(report: &Report) {
    let tell = |step: &Step| format!("{}, {}", step.sequence(), step.write());
    let failures: Vec<_> = report
        .failures
        .iter()
        .map(|failure| format!("{}: {}", tell(&failure.step), failure.difference))
        .collect();
    assert!(failures.is_empty(), "{}\n{}", report.tally, failures.join("\n"));
}

#[test]
fn the_core_predicts_every_recorded_write() {
    let (mut report, mut core) = (Report::default(), Session::new());
    for step in recorded() {
        report.add(step, &mut core);
    }
    assert_no_failures(&report);
    assert!(report.tally.matched() > 300, "{}", report.tally);
    let kinds: BTreeSet<_> = report.steps.iter().map(Step::kind).collect();
    assert!(kinds.len() >= 15, "only {kinds:?} are recorded");
}

#[test]
fn an_answer_of_the_server_that_were_another_would_be_noticed() {
    let mut core = Session::new();
    let mut altered = 0;
    for step in recorded() {
        let (prediction, verdict) = step.predict(&mut core);
        if !matches!(verdict, Verdict::Match | Verdict::ModuloDefaulting) {
            continue;
        }
        for other in alterations(step.server()) {
            let verdict = judge(step.request(), &other, &prediction);
            assert!(matches!(verdict, Verdict::Mismatch(_)), "{verdict:?} for {other} of\n{}", step.line());
            altered += 1;
        }
    }
    assert!(altered > 500, "only {altered} answers were altered");
}

/// Answers that differ from `server` in one thing each.
fn alterations(server: &Json) -> Vec<Json> {
    let mut altered = Vec::new();
    let changed = server.get("changed").cloned();
    if let Some(Json::Bool(changed)) = changed {
        altered.push(server.clone().with("changed", !changed));
    }
    if let Some(Json::List(rows)) = server.get("conflicts") {
        altered.push(server.clone().with("conflicts", rows[1..].to_vec()));
    }
    for alter in [rename, reverse, forget] {
        let mut other = server.clone();
        let entries = if other.get("managedFields").is_some() {
            other.get_mut("managedFields")
        } else {
            other.get_mut("object").and_then(|object| object.get_mut("metadata")?.get_mut("managedFields"))
        };
        if let Some(Json::List(entries)) = entries
            && alter(entries)
        {
            altered.push(other);
        }
    }
    altered
}

/// Gives the first entry to somebody else.
fn rename(entries: &mut [Json]) -> bool {
    entries.first_mut().is_some_and(|entry| {
        entry.set("manager", "somebody-else");
        true
    })
}

/// Takes the field set of the last entry away.
fn forget(entries: &mut [Json]) -> bool {
    entries.last_mut().is_some_and(|entry| entry.take("fieldsV1").is_some())
}

/// Reverses the members of the first field set that has several.
fn reverse(entries: &mut [Json]) -> bool {
    entries.iter_mut().any(|entry| match entry.get_mut("fieldsV1") {
        Some(Json::Object(members)) if members.len() > 1 => {
            members.reverse();
            true
        }
        _ => false,
    })
}

#[tokio::test]
async fn the_core_predicts_what_the_server_does_to_new_writes() {
    env::set_current_dir(workspace()).unwrap();
    let server = Server::start().await.unwrap();
    let options = Options { writes: 500, seed: 7, first: 0, kinds: Vec::new(), jobs: 8 };
    let report = run(&server, &options).await.unwrap();
    assert_no_failures(&report);
    assert!(report.tally.matched() > 400, "{}", report.tally);
}
