//! `docs/operations.md` has a row for whatever Baton may tell people.

use std::{collections::BTreeSet, fs};

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

/// Those of `all` that aren't among `known`.
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
    let reasons = without(literals("controller/src/report/conditions.rs"), &others);
    assert!(reasons.len() >= 15);
    let rows = without(
        column(&read("docs/operations.md"), "Conditions", 3),
        &["that of the condition that says why"],
    );
    assert_eq!(rows, reasons);
}

#[test]
fn every_reason_of_an_event_has_a_row() {
    let actions = ["Apply", "Adopt", "Delete", "Read", "HandOver", "TakeBack"];
    let reasons = without(literals("controller/src/report/events.rs"), &actions);
    assert!(reasons.len() >= 15);
    assert_eq!(column(&read("docs/operations.md"), "Events", 1), reasons);
}

#[test]
fn every_link_within_the_pages_leads_somewhere() {
    for page in ["docs/operations.md", "docs/install.md", "charts/baton/README.md"] {
        let text = read(page);
        for link in text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()) {
            if link.contains("://") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let folder = repository(page).parent().unwrap().to_owned();
            let target = if file.is_empty() { repository(page) } else { folder.join(file) };
            assert!(target.exists(), "{page} links to {link}");
            if !anchor.is_empty() {
                let headings = fs::read_to_string(&target).unwrap();
                let found =
                    headings.lines().filter(|line| line.starts_with('#')).any(|line| slug(line) == anchor);
                assert!(found, "{page} links to {link}");
            }
        }
    }
}

/// The anchor that a heading gets where Markdown is shown.
fn slug(heading: &str) -> String {
    let heading = heading.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
    heading.chars().filter(|c| c.is_alphanumeric() || *c == '-').collect()
}
