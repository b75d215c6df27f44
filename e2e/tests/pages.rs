//! The Markdown pages of this repository: their links lead somewhere, and a long page has a table of contents.

#![allow(missing_docs, clippy::unwrap_used)]

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::{Component, Path, PathBuf},
};

use baton_e2e::generated;
use baton_testbed::workspace;
use comrak::{
    Anchorizer, Arena, Options,
    nodes::{AstNode, NodeValue},
    parse_document,
};

/// Three screens.
const LONG: usize = 150;
const CONTENTS: &str = "<!-- contents -->\n";
const END: &str = "<!-- end of contents -->\n";

/// A page.
struct Page {
    /// Its path in the repository.
    path: PathBuf,
    text: String,
    headings: Vec<Heading>,
    /// The targets of its links and pictures.
    links: Vec<String>,
}

struct Heading {
    level: u8,
    text: String,
    anchor: String,
}

fn pages() -> BTreeMap<PathBuf, Page> {
    let (mut pages, mut folders) = (BTreeMap::new(), vec![PathBuf::new()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(workspace().join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let path = folder.join(&name);
            if entry.file_type().unwrap().is_dir() {
                let has_pages = !matches!(&*name, "target" | ".git" | "corpus");
                folders.extend(has_pages.then_some(path));
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.insert(path.clone(), Page::read(path));
            }
        }
    }
    assert!(pages.len() > 15, "{} pages", pages.len());
    pages
}

impl Page {
    fn read(path: PathBuf) -> Self {
        let text = fs::read_to_string(workspace().join(&path)).unwrap();
        let arena = Arena::new();
        let mut options = Options::default();
        options.extension.table = true;
        let root = parse_document(&arena, &text, &options);
        let (mut headings, mut links, mut anchorizer) = (Vec::new(), Vec::new(), Anchorizer::new());
        for node in root.descendants() {
            match &node.data.borrow().value {
                NodeValue::Heading(heading) => {
                    let text = plain(node);
                    let anchor = anchorizer.anchorize(&text);
                    headings.push(Heading { level: heading.level, text, anchor });
                }
                NodeValue::Link(link) | NodeValue::Image(link) => links.push(link.url.clone()),
                _ => {}
            }
        }
        Self { path, text, headings, links }
    }

    /// The sections with their subsections, a line each.
    fn contents(&self) -> String {
        let mut contents = String::new();
        for Heading { level, text, anchor } in &self.headings {
            let before = match level {
                2 => "\n- ",
                3 if is_first_below(&contents) => ": ",
                3 => ", ",
                _ => continue,
            };
            let _ = write!(contents, "{before}[{text}](#{anchor})");
        }
        format!("{}\n", contents.trim_start())
    }

    /// The page with its contents up to date, if it is long.
    fn with_contents(&self) -> String {
        let lines = self.text.lines().count();
        let (before, after) = match (self.text.split_once(CONTENTS), self.text.find("\n## ")) {
            (Some((before, rest)), _) => {
                let (_, after) = rest.split_once(END).expect("the contents have an end");
                (before, after)
            }
            (None, Some(first)) if lines > LONG => self.text.split_at(first + 1),
            _ => return self.text.clone(),
        };
        let end = if after.starts_with('\n') { END.to_owned() } else { format!("{END}\n") };
        format!("{before}{CONTENTS}\n{}\n{end}{after}", self.contents())
    }
}

/// Whether the last line of contents has no subsection yet.
fn is_first_below(contents: &str) -> bool {
    !contents.lines().last().unwrap_or_default().contains("): [")
}

/// The text of a heading, without its markup.
fn plain<'a>(heading: &'a AstNode<'a>) -> String {
    let mut plain = String::new();
    for node in heading.descendants() {
        match &node.data.borrow().value {
            NodeValue::Text(text) => plain.push_str(text),
            NodeValue::Code(code) => plain.push_str(&code.literal),
            _ => {}
        }
    }
    plain
}

/// A path without `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        if part == Component::ParentDir {
            normal.pop();
        } else {
            normal.push(part);
        }
    }
    normal
}

#[test]
fn every_link_within_the_repository_leads_somewhere() {
    let pages = pages();
    let mut dead = Vec::new();
    for page in pages.values() {
        for link in page.links.iter().filter(|link| !link.contains("://") && !link.starts_with("mailto:")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let folder = page.path.parent().unwrap();
            let target = if file.is_empty() { page.path.clone() } else { normal(&folder.join(file)) };
            let has = |target: &Page| target.headings.iter().any(|heading| heading.anchor == anchor);
            let leads = match pages.get(&target) {
                Some(target) if !anchor.is_empty() => has(target),
                _ => workspace().join(&target).exists() && anchor.is_empty(),
            };
            if !leads {
                dead.push(format!("{}: {link}", page.path.display()));
            }
        }
    }
    assert!(dead.is_empty(), "links that lead nowhere: {dead:#?}");
}

#[test]
fn a_long_page_has_contents() {
    let test = "test -p baton-e2e --test pages";
    let up_to_date =
        |page: &Page| generated::up_to_date(&page.path.display().to_string(), &page.with_contents(), test);
    let stale: Vec<_> = pages().values().filter_map(|page| up_to_date(page).err()).collect();
    assert!(stale.is_empty(), "{stale:#?}");
}
