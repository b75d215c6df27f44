//! `docs/operations.md` has a row for everything that Baton reports.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use super::objects::repository;

fn read(path: &str) -> String {
    fs::read_to_string(repository(path)).unwrap()
}

/// The first cells of the tables below this heading, or those of the column with this number, without backticks.
fn column(page: &str, heading: &str, number: usize) -> BTreeSet<String> {
    let (_, below) = page.split_once(&format!("\n## {heading}\n")).unwrap();
    let section = below.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| row.split('|').nth(number).unwrap().trim().trim_matches('`').to_owned()).collect()
}

/// The string literals in this source that look like reasons of conditions and Events: `InCamelCase`.
fn literals(path: &str) -> BTreeSet<String> {
    let source = read(path);
    let code = source.split("#[cfg(test)]").next().unwrap();
    let code = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let mut found = BTreeSet::new();
    for line in code {
        for literal in line.split('"').skip(1).step_by(2) {
            if literal.starts_with(|c: char| c.is_ascii_uppercase())
                && literal.chars().all(|c| c.is_ascii_alphabetic())
            {
                found.insert(literal.to_owned());
            }
        }
    }
    found
}

/// The names of `all` that aren't among `known`.
fn without(all: BTreeSet<String>, known: &[&str]) -> BTreeSet<String> {
    all.into_iter().filter(|one| !known.contains(&one.as_str())).collect()
}

#[test]
fn every_type_of_a_condition_has_a_row() {
    let source = read("crd/src/condition.rs");
    let types: BTreeSet<String> = source
        .lines()
        .filter_map(|line| line.strip_prefix("pub const ")?.split('"').nth(1).map(str::to_owned))
        .collect();
    assert!(types.len() >= 9);
    assert_eq!(column(&read("docs/operations.md"), "Conditions", 1), types);
}

#[test]
fn every_reason_of_a_condition_has_a_row() {
    // The values of a status, and a condition of the Deployment's.
    let others = ["True", "False", "Unknown", "Progressing"];
    let mut reasons = without(literals("controller/src/report/conditions.rs"), &others);
    reasons.extend(literals("controller/src/report/unreadable.rs"));
    assert!(reasons.len() >= 15);
    let rows = without(
        column(&read("docs/operations.md"), "Conditions", 3),
        &["that of the condition that says why"],
    );
    assert_eq!(rows, reasons);
}

#[test]
fn every_reason_of_an_event_has_a_row() {
    let actions = ["Apply", "Adopt", "Delete", "Read", "HandOver", "TakeBack", "TakeFrom", "Reconcile"];
    let mut reasons = without(literals("controller/src/report/events.rs"), &actions);
    reasons.extend(literals("controller/src/report/unreadable.rs"));
    assert!(reasons.len() >= 15);
    assert_eq!(column(&read("docs/operations.md"), "Events", 1), reasons);
}

/// The sources of the operator and its runtime without their tests, each as one line: a text of several lines is joined.
fn sources() -> Vec<(String, String)> {
    let source = |path: String| {
        let text = fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap().replace("\\\n", "\n");
        let name = Path::new(&path).strip_prefix(repository("")).unwrap().display().to_string();
        (name, code.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    files(&["controller/src", "runtime/src"]).into_iter().map(source).collect()
}

/// The text literals that follow, at once or in a `format!`, each place where `before` stands in this source.
fn texts_after<'a>(source: &'a str, before: &str) -> Vec<&'a str> {
    let rests = source.split(before).skip(1).filter_map(|rest| {
        let rest = rest.trim_start();
        rest.strip_prefix("format!(").unwrap_or(rest).trim_start().strip_prefix('"')
    });
    rests.map(|rest| rest.split('"').next().unwrap()).collect()
}

#[test]
fn every_message_of_a_replica_that_cannot_work_has_a_row() {
    let page = read("docs/operations.md");
    let rows: BTreeSet<String> = ["When a replica isn't ready", "When a replica ends"]
        .iter()
        .flat_map(|heading| column(&page, heading, 1))
        .collect();
    let mut texts = 0;
    for (name, source) in sources() {
        let places = match name.as_str() {
            "controller/src/process/run.rs" | "runtime/src/election/mod.rs" => vec!["#[error("],
            "controller/src/process/gate.rs" => vec!["SELF_CHECK,", "SCHEMAS,"],
            _ if name.starts_with("controller/src/process/selfcheck") => {
                vec!["CheckResult::Wrong(", "CheckResult::Warning(", "CheckResult::Unknown("]
            }
            _ => continue,
        };
        for text in places.into_iter().flat_map(|before| texts_after(&source, before)) {
            texts += 1;
            assert!(rows.iter().any(|row| text.contains(row.as_str())), "no row is about: {text} ({name})");
        }
    }
    assert!(texts > 15, "{texts} texts");
}

#[test]
fn every_row_is_about_a_message_of_the_operator() {
    let page = read("docs/operations.md");
    let sources = sources();
    for heading in ["When a replica isn't ready", "When a replica ends", "Lines of the log"] {
        for row in column(&page, heading, 1) {
            assert!(
                sources.iter().any(|(_, source)| source.contains(&row)),
                "{heading}: no source has {row}"
            );
        }
    }
}

/// These files, and all files below these folders.
fn files(paths: &[&str]) -> Vec<String> {
    let mut left: Vec<PathBuf> = paths.iter().map(|path| repository(path)).collect();
    let mut found = Vec::new();
    while let Some(path) = left.pop() {
        match fs::read_dir(&path) {
            Ok(entries) => left.extend(entries.map(|entry| entry.unwrap().path())),
            Err(_) => found.push(path.display().to_string()),
        }
    }
    found
}

/// `wl` is the short name of Kueue's Workloads, and Kubernetes has Workloads of its own, in `scheduling.k8s.io`: kubectl takes
/// the group that comes first.
#[test]
fn every_command_names_the_group_of_its_workloads() {
    let pages =
        ["README.md", "SECURITY.md", "docs", "charts/baton/README.md", "charts/baton/templates/NOTES.txt"];
    let sources = ["manifests/samples", "e2e/src/bin/demo", "crd/src", "controller/src"];
    let mut ambiguous = Vec::new();
    let mut commands = 0;
    for file in files(&[&pages[..], &sources].concat()) {
        let text = fs::read_to_string(&file).unwrap();
        for line in text.lines() {
            let Some((_, command)) = line.split_once("kubectl ") else { continue };
            commands += 1;
            // A command of the plugin, which names no kind.
            let command = command.strip_prefix("baton workloads").unwrap_or(command);
            let is_name = |c: char| c.is_ascii_alphanumeric() || "./-".contains(c);
            let words = command.split('`').next().unwrap().split(|c| !is_name(c));
            let qualified = [
                "workloads.baton.rs",
                "workload.baton.rs",
                "workloads.v1alpha1.baton.rs",
                "workloads.kueue.x-k8s.io",
            ];
            let is_ambiguous = |word: &&str| {
                let kind = word.split(['/', '.']).next().unwrap();
                ["wl", "workload", "workloads"].contains(&kind)
                    && !qualified.iter().any(|name| word.starts_with(name))
            };
            ambiguous.extend(words.filter(is_ambiguous).map(|word| format!("{file}: {word} in {line}")));
        }
    }
    assert!(commands > 50, "{commands} commands");
    assert!(ambiguous.is_empty(), "write bwl or workloads.baton.rs: {ambiguous:#?}");
}
