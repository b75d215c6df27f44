//! `docs/getting-started.md` as a newcomer follows it: each block of commands is typed unless it is marked, and what the page
//! shows is what comes of it. The nodes are played here, so the operator runs as a process beside them.

use std::{fs, path::Path};

use baton_e2e::guide;
use baton_testbed::{Cluster, eventually};

use super::guide::operator;

const PAGE: &str = "docs/getting-started.md";
/// How a block begins that needs the reader's machine.
const MARK: &str = "# not run by the tests";

pub(super) async fn a_first_handover_is_seen_as_the_page_shows_it(cluster: &Cluster) {
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = cluster.real().kubeconfig();
    let watched = folder.path().join("watched");
    let (mut operating, mut watching, mut printed) = (None, None, String::new());
    // So many lines of the watch were shown already.
    let mut shown = 0;
    for block in guide::page(PAGE).unwrap() {
        match &*block.kind {
            "sh" if block.text.starts_with(MARK) => {}
            "sh" if block.text.contains("--watch") => {
                let command = format!("exec {} >{}", block.text.trim_end(), watched.display());
                let kubeconfig = kubeconfig.to_owned();
                watching = Some(tokio::spawn(async move { guide::run(&kubeconfig, &command).await }));
                eventually("the watch to begin", async || {
                    let lines = lines_of(&watched);
                    if lines.len() > 1 { Ok(()) } else { Err(lines) }
                })
                .await;
            }
            "sh" => {
                printed = guide::run(kubeconfig, &block.text)
                    .await
                    .unwrap_or_else(|error| panic!("{}: {error}", block.heading));
                if block.heading.contains("Install Baton") {
                    operating = Some(operator(cluster, "baton-system", None).await);
                }
            }
            "console" if block.text.starts_with("REPLICAS   OWNED") || shown > 0 && is_row(&block.text) => {
                let expected: Vec<String> = block.text.lines().map(normal).collect();
                shown += expected.len();
                eventually("the watch to show what the page shows", async || {
                    let lines = lines_of(&watched);
                    let seen = lines.get(shown - expected.len()..).unwrap_or_default();
                    if seen == expected { Ok(()) } else { Err((seen.to_vec(), expected.clone())) }
                })
                .await;
            }
            "console" => {
                let normal = |text: &str| text.lines().map(normal).collect::<Vec<_>>();
                assert_eq!(normal(&printed), normal(&block.text), "{}", block.heading);
            }
            other => panic!("{}: a block of the kind {other} is neither typed nor compared", block.heading),
        }
    }
    watching.expect("the page has a watch").abort();
    operating.expect("the page installs Baton").stop().await.unwrap();
}

/// Whether it is a row of the watch without its header.
fn is_row(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
}

/// What the watch has shown, each line once as long as it stays the same.
fn lines_of(watched: &Path) -> Vec<String> {
    let mut lines: Vec<String> =
        fs::read_to_string(watched).unwrap_or_default().lines().map(normal).collect();
    lines.dedup();
    lines
}

/// A line without what is different each time: ages, and the widths of columns.
fn normal(line: &str) -> String {
    let is_age = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_digit())
            && word.ends_with(['s', 'm', 'h'])
            && !word.contains('/')
    };
    let words = line.split_whitespace().map(|word| if is_age(word) { "AGE" } else { word });
    words.collect::<Vec<_>>().join(" ")
}
