//! The judge of predictions notices a wrong one: responses that a real API server gave, recorded by `cargo merge-transcripts`, are
//! altered in one thing each. `apiserver/tests/transcripts.rs` replays the recording as it is.

#![allow(missing_docs, clippy::unwrap_used)]

use std::{env, fs};

use baton_merge_driver::Session;
use baton_testbed::{
    Json,
    prediction::{Accuracy, judge},
    workspace,
};

/// A recorded write with the server's response, and the core's prediction.
struct Step {
    line: Json,
    prediction: Json,
}

impl Step {
    fn member(&self, name: &str) -> &Json {
        self.line.get(name).unwrap()
    }

    fn accuracy(&self, server: &Json) -> Accuracy {
        judge(self.member("request"), server, &self.prediction)
    }
}

fn recorded() -> Vec<Step> {
    // Paths in requests are relative to the workspace.
    env::set_current_dir(workspace()).unwrap();
    let mut core = Session::new();
    let mut steps = Vec::new();
    for file in ["crowd", "every-kind"] {
        let text = fs::read_to_string(format!("merge/tests/transcripts/{file}.jsonl")).unwrap();
        steps.extend(text.lines().map(|line| {
            let line: Json = line.parse().unwrap();
            let prediction = core.respond(&line.get("request").unwrap().to_string()).parse().unwrap();
            Step { line, prediction }
        }));
    }
    steps
}

#[test]
fn a_changed_response_of_the_server_is_noticed() {
    let mut altered = 0;
    for step in recorded() {
        let server = step.member("server");
        if !matches!(step.accuracy(server), Accuracy::Match | Accuracy::ModuloDefaulting) {
            continue;
        }
        for other in alterations(server) {
            let accuracy = step.accuracy(&other);
            assert!(matches!(accuracy, Accuracy::Mismatch(_)), "{accuracy:?} for {other} of\n{}", step.line);
            altered += 1;
        }
    }
    assert!(altered > 500, "only {altered} responses were altered");
}

/// Responses that differ from `server` in one thing each.
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

/// Gives the first entry to another manager.
fn rename(entries: &mut [Json]) -> bool {
    entries.first_mut().is_some_and(|entry| {
        entry.set("manager", "another");
        true
    })
}

/// Removes the field set of the last entry.
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
