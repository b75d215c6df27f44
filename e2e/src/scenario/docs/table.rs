//! `docs/seeds.md`: what documents promise, by hand, and for each promise the scenarios that show it, with links that are made
//! here. A row that is new names its scenarios as code, such as `` `two_appliers_share_an_object` ``, and tests of other suites
//! with a link.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use super::{super::Play, Unmade};

/// What ends the head of the table.
const HEAD: &str = "| --- | --- | --- | --- |\n";
/// How a row says that a server no longer keeps a promise.
const TODAY: &str = "**Today:** ";

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row<'t> {
    /// What is promised, and what a server does today where it no longer keeps to it.
    pub promise: &'t str,
    /// The document and its section.
    pub section: &'t str,
    /// What shows that the promise is kept: names, and for tests of other suites their files, relative to the workspace.
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

    /// The document.
    pub fn document(&self) -> &'t str {
        self.section.split(", ").next().unwrap_or(self.section)
    }
}

/// The rows of the document.
///
/// # Errors
/// The first line of the table that isn't a row.
pub fn rows(document: &str) -> Result<Vec<Row<'_>>, Unmade> {
    let lines = document.split_once(HEAD).map_or("", |(_, table)| table).lines();
    lines.map(|line| Row::read(line).ok_or_else(|| Unmade::NoRow(line.to_owned()))).collect()
}

/// The document, with figures, links and release brought up to date.
pub fn render(document: &str, plays: &[Play], release: &str) -> Result<String, Unmade> {
    let rows = rows(document)?;
    let files: BTreeMap<_, _> = plays.iter().map(|play| (play.title(), play.file)).collect();
    let documents: BTreeSet<_> = rows.iter().map(Row::document).collect();
    let changed = rows.iter().filter(|row| row.promise.contains(TODAY)).count();
    let mut text = format!(
        "<!-- The promises are written by hand; `BATON_WRITE_DOCS=1 cargo test -p baton-e2e --test seeds -- --ignored` writes figures and links. -->\n\n\
         # What is promised of server-side apply, and where it is shown\n\n\
         {} promises of {} documents, in our own words and in the order in which the documents make them; {} \
         scenarios show them on a real kube-apiserver {release}. Each write in them is held against what the merge core predicts: \
         object, `managedFields` and conflicts. (For deletions, and for what is refused before anything is merged, there is \
         nothing to predict.) {changed} promises say what a server does differently today.\n\n\
         [`server-side-apply.md`](server-side-apply.md) teaches the model with some of these scenarios.\n\n\
         | promise | document, section | scenario | server |\n{HEAD}",
        rows.len(),
        documents.len(),
        plays.len()
    );
    for Row { promise, section, shown_by } in &rows {
        let link = |(name, file): &(&str, Option<&str>)| {
            let file = file.or_else(|| files.get(name).copied());
            let file = file.ok_or_else(|| Unmade::NoScenario((*name).to_owned()))?;
            Ok(format!("[`{name}`](../{file})"))
        };
        let links = shown_by.iter().map(link).collect::<Result<Vec<_>, _>>()?.join(", ");
        let _ = writeln!(text, "| {promise} | {section} | {links} | {release} |");
    }
    Ok(text)
}
