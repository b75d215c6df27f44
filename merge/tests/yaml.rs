//! Replays the corpus of YAML: the reader has to make of each text what `sigs.k8s.io/yaml` made of it. Its test in
//! `merge/lab/oracle` compares that library with the same file, and writes it.
#![allow(missing_docs, clippy::unwrap_used)]

use baton_merge::yaml;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    yaml: String,
    json: Option<Value>,
    #[serde(default)]
    duplicates: Vec<String>,
    error: Option<String>,
}

/// What the parser refuses, or takes, on purpose or for a rule of YAML 1.2, and the Go library not.
const ELSEWHERE: [&str; 0] = [];

#[test]
fn every_text_is_read_as_kubernetes_reads_it() {
    let corpus = include_str!("data/yaml.jsonl");
    let mut differences = Vec::new();
    for line in corpus.lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let read = yaml::read(&case.yaml);
        let found = match &read {
            Ok(document) => Some((document.to::<Value>().unwrap(), document.duplicates.clone())),
            Err(_) => None,
        };
        let expected = case.error.is_none().then(|| (case.json.unwrap_or_default(), case.duplicates));
        if (found != expected) != ELSEWHERE.contains(&case.yaml.as_str()) {
            differences.push(format!("{:?}\n  Go {:?} {expected:?}\n  us {read:?}", case.yaml, case.error));
        }
    }
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}
