//! `docs/getting-started.md` as a newcomer follows it: the test types each block of commands that isn't marked, and compares
//! the output with the page. The nodes are simulated here, so the operator runs as a process beside them.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use baton_e2e::guide;
use baton_testbed::{Cluster, ControlPlane, Error, eventually};
use tokio::task::JoinHandle;

use super::{guide::operator, objects::repository};

const PAGE: &str = "docs/getting-started.md";
/// The beginning of a block that needs the reader's machine.
const MARK: &str = "# not run by the tests";

/// In a cluster of its own: the page lists what a namespace has.
#[tokio::test]
#[ignore = "on a real control plane of its own, by kubectl"]
async fn a_first_handover_goes_as_the_page_shows() {
    let cluster: Cluster = ControlPlane::options().start().await.unwrap().into();
    let kubeconfig = cluster.real().kubeconfig();
    // The page writes files beside the manifests, which must not be in this repository.
    let folder = tempfile::tempdir().unwrap();
    symlink(repository("manifests").canonicalize().unwrap(), folder.path().join("manifests")).unwrap();

    let (mut operating, mut second_terminal, mut printed) = (None, None::<Watch>, String::new());
    for (number, block) in guide::page(PAGE).unwrap().into_iter().enumerate() {
        let heading = &block.heading;
        match &*block.kind {
            "sh" if block.text.starts_with(MARK) => {}
            "sh" if block.text.contains("--watch") => {
                if let Some(watch) = second_terminal.take() {
                    watch.end();
                }
                let output = folder.path().join(format!("watch-{number}"));
                second_terminal = Some(Watch::begin(kubeconfig, &block.text, output).await);
            }
            "sh" => {
                let typed = guide::run_in(folder.path(), kubeconfig, &block.text).await;
                printed = typed.unwrap_or_else(|error| panic!("{heading}: {error}"));
                if heading.contains("Install Baton") {
                    operating = Some(operator(&cluster, "baton-system", None).await);
                }
            }
            "console" => assert_eq!(lines(&printed), lines(&block.text), "{heading}"),
            "text" => second_terminal.as_mut().expect("a watch").shows_next(&block.text).await,
            other => panic!("{heading}: a block of the kind {other} is neither typed nor compared"),
        }
    }
    second_terminal.expect("the page has a watch").end();
    operating.expect("the page installs Baton").stop().await.unwrap();
}

/// The reader's second terminal.
struct Watch {
    command: JoinHandle<Result<String, Error>>,
    output: PathBuf,
    /// How many of its lines the page has shown.
    shown: usize,
}

impl Watch {
    async fn begin(kubeconfig: &Path, command: &str, output: PathBuf) -> Self {
        let command = format!("exec {} >{}", command.trim_end(), output.display());
        let kubeconfig = kubeconfig.to_owned();
        let command = tokio::spawn(async move { guide::run(&kubeconfig, &command).await });
        let watch = Self { command, output, shown: 0 };
        eventually("the watch to begin", async || {
            let seen = watch.seen();
            if seen.len() > 1 { Ok(()) } else { Err(seen) }
        })
        .await;
        watch
    }

    /// Its output, each line once as long as it stays the same.
    fn seen(&self) -> Vec<String> {
        let mut seen = lines(&fs::read_to_string(&self.output).unwrap_or_default());
        seen.dedup();
        seen
    }

    /// Waits until the watch shows this text after all texts before.
    async fn shows_next(&mut self, text: &str) {
        let expected = lines(text);
        let before = self.shown;
        self.shown += expected.len();
        eventually("the watch to show what the page shows", async || {
            let seen = self.seen();
            let next = seen.get(before..self.shown).unwrap_or_default();
            if next == expected { Ok(()) } else { Err((seen, expected.clone())) }
        })
        .await;
    }

    /// Ends the watch. The page must have shown all of its lines.
    fn end(self) {
        self.command.abort();
        let seen = self.seen();
        assert_eq!(seen.len(), self.shown, "the page leaves lines out: {seen:?}");
    }
}

/// Lines without what differs between runs: ages, the widths of columns, and the order of managers, which the API server
/// sorts by the second of their last write.
fn lines(text: &str) -> Vec<String> {
    let is_age = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_digit())
            && word.ends_with(['s', 'm', 'h'])
            && !word.contains('/')
    };
    let normal = |word: &str| {
        if is_age(word) {
            return "AGE".to_owned();
        }
        let mut names: Vec<&str> = word.split(',').collect();
        names.sort_unstable();
        names.join(",")
    };
    text.lines().map(|line| line.split_whitespace().map(normal).collect::<Vec<_>>().join(" ")).collect()
}
