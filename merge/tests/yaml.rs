//! Replays the corpus of YAML: the reader's results are those of `sigs.k8s.io/yaml`. Its test in `merge/lab/oracle`
//! compares that library with the same file, and writes it.
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
        if found != expected {
            differences.push(format!("{:?}\n  Go {:?} {expected:?}\n  us {read:?}", case.yaml, case.error));
        }
    }
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}

#[test]
fn neither_brackets_nor_aliases_nest_without_an_end() {
    let brackets = "[".repeat(100_000);
    let deep = |inner: &str| format!("{}{inner}{}", "[".repeat(400), "]".repeat(400));
    let lists: Vec<_> =
        (1..20).map(|step| format!("a{step}: &a{step} {}\n", deep(&format!("*a{}", step - 1)))).collect();
    let merged: Vec<_> =
        (1..2_000).map(|step| format!("a{step}: &a{step} {{<<: *a{}}}\n", step - 1)).collect();
    for text in
        [brackets, format!("a0: &a0 x\n{}", lists.concat()), format!("a0: &a0 {{x: 1}}\n{}", merged.concat())]
    {
        assert!(yaml::read(&text).is_err());
    }
}
