//! The API server inside a process, with the real kubectl: the pages in `sessions` have what a user types, and what kubectl prints.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod terminal;

use anyhow::Result;
use baton_e2e::{generated, session::Page};

use crate::terminal::Terminal;

/// The beginning of a section.
const HEADING: &str = "\n## ";

/// Plays each section of a page on a server of its own, with the files that the page begins with.
async fn play(page: &str) -> Result<()> {
    let path = format!("e2e/tests/apiserver/sessions/{page}.md");
    let text = generated::read(&path)?;
    let mut sections = text.split(HEADING);
    let files = Page::parse(sections.next().unwrap_or_default());
    let mut played = files.play(&Terminal::open().await?).await?;
    for section in sections {
        let terminal = Terminal::open().await?;
        files.play(&terminal).await?;
        played += HEADING;
        played += &Page::parse(section).play(&terminal).await?;
    }
    generated::up_to_date(&path, &played, "test -p baton-e2e --test apiserver -- --ignored")?;
    Ok(())
}

#[tokio::test]
#[ignore = "by kubectl"]
async fn objects_are_shown_and_fields_are_explained() -> Result<()> {
    play("kubectl").await
}

#[tokio::test]
#[ignore = "by kubectl"]
async fn manifests_are_applied_client_side_and_server_side() -> Result<()> {
    play("apply").await
}

#[tokio::test]
#[ignore = "by kubectl"]
async fn objects_are_changed_in_other_ways() -> Result<()> {
    play("writes").await
}

#[tokio::test]
#[ignore = "by kubectl"]
async fn custom_resources_are_served() -> Result<()> {
    play("custom").await
}
