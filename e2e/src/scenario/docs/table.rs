//! `docs/seeds.md`: what documents promise, written by hand, and the scenarios that show each promise. This module writes the links
//! to them. A new row names its scenarios as code, such as `` `two_appliers_share_an_object` ``, and tests of other suites with a
//! link.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use super::{super::Scenario, RenderError};

/// The end of the table's head.
const HEAD: &str = "| --- | --- | --- | --- |\n";
/// Marks what a server does today where it no longer keeps the promise.
const TODAY: &str = "**Today:** ";

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row<'t> {
    /// The promise, and what a server does today if it no longer keeps it.
    pub promise: &'t str,
    /// The document and its section.
    pub section: &'t str,
    /// The names of the tests that show it, with the file for tests of other suites, relative to the workspace.
    pub shown_by: Vec<(&'t str, Option<&'t str>)>,
}

impl<'t> Row<'t> {
    fn read(row: &'t str) -> Option<Self> {
        let mut cells = row.strip_prefix("| ")?.strip_suffix(" |")?.rsplitn(4, " | ");
        let (_, shown_by, section, promise) = (cells.next()?, cells.next()?, cells.next()?, cells.next()?);
        let show = |text: &'t str| {
            let (name, link) = text.strip_prefix("[").unwrap_or(text).split_once("](").unwrap_or((text, ""));
            let file = link.trim_end_matches(')').trim_start_matches("../");
            let file = Some(file).filter(|file| !file.is_empty() && !file.starts_with("e2e/tests/seeds/"));
            (name.trim_matches('`'), file)
        };
        Some(Self { promise, section, shown_by: shown_by.split(", ").map(show).collect() })
    }

    /// The document that makes the promise.
    pub fn document(&self) -> &'t str {
        self.section.split(", ").next().unwrap_or(self.section)
    }
}

/// The rows of the document.
///
/// # Errors
/// When a line of the table isn't a row: the first such line.
pub fn rows(document: &str) -> Result<Vec<Row<'_>>, RenderError> {
    let lines = document.split_once(HEAD).map_or("", |(_, table)| table).lines();
    lines.map(|line| Row::read(line).ok_or_else(|| RenderError::NoRow(line.to_owned()))).collect()
}

/// The document with its current figures, links and release.
pub fn render(document: &str, scenarios: &[Scenario], release: &str) -> Result<String, RenderError> {
    let rows = rows(document)?;
    let files: BTreeMap<_, _> = scenarios.iter().map(|scenario| (scenario.title(), scenario.file)).collect();
    let documents: BTreeSet<_> = rows.iter().map(Row::document).collect();
    let changed = rows.iter().filter(|row| row.promise.contains(TODAY)).count();
    let mut text = format!(
        "<!-- The promises are written by hand; `BATON_WRITE_DOCS=1 cargo test -p baton-e2e --test seeds -- --ignored` writes figures and links. -->\n\n\
         # What the documents of server-side apply promise, and which scenario shows it\n\n\
         {} promises of {} documents, in our own words and in the order in which the documents make them; {} \
         scenarios show them on a real kube-apiserver {release}. For each write, the object, its \
         `managedFields` and the conflicts are compared with the prediction of the merge core. (Deletions, and writes that are refused \
         before the merge, have no prediction.) {changed} promises no longer hold as written; \
         their rows say what a server does today.\n\n\
         [`server-side-apply.md`](server-side-apply.md) teaches the model with some of these scenarios.\n\n\
         | promise | document, section | scenario | server |\n{HEAD}",
        rows.len(),
        documents.len(),
        scenarios.len()
    );
    for Row { promise, section, shown_by } in &rows {
        let link = |(name, file): &(&str, Option<&str>)| {
            let file = file.or_else(|| files.get(name).copied());
            let file = file.ok_or_else(|| RenderError::NoScenario((*name).to_owned()))?;
            Ok(format!("[`{name}`](../{file})"))
        };
        let links = shown_by.iter().map(link).collect::<Result<Vec<_>, _>>()?.join(", ");
        let _ = writeln!(text, "| {promise} | {section} | {links} | {release} |");
    }
    Ok(text)
}
