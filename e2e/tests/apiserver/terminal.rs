//! A terminal with kubectl, and a server of its own.

use std::{fmt::Write as _, path::PathBuf, process::Stdio};

use anyhow::{Context as _, Result, ensure};
use baton_apiserver::{ApiServer, Serving};
use baton_testbed::{
    assets::{Assets, Program},
    blocking, workspace,
};
use tempfile::TempDir;
use tokio::process::Command;

pub struct Terminal {
    pub server: ApiServer,
    kubectl: PathBuf,
    folder: TempDir,
    editor: String,
    _serving: Serving,
}

/// The lines of a shown object that differ in each run.
const GENERATED: [&str; 4] = ["  uid: ", "  resourceVersion: ", "  UID: ", "  Resource Version: "];

impl Terminal {
    /// A terminal with an empty server, whose clock doesn't move.
    pub async fn open() -> Result<Self> {
        let assets = blocking(|| Assets::locate(&[Program::Kubectl])).await?;
        let now = "2026-01-01T00:00:00Z".parse()?;
        let server = ApiServer::builder().release("1.36.3".parse()?).clock(move || now).start()?;
        let serving = server.serve("127.0.0.1:0".parse()?).await?;
        let folder = TempDir::new()?;
        std::fs::write(folder.path().join("kubeconfig"), serving.kubeconfig())?;
        let kubectl = assets.path(Program::Kubectl);
        Ok(Self { server, kubectl, folder, editor: "true".to_owned(), _serving: serving })
    }

    /// Adds a file.
    pub fn file(self, name: &str, content: &str) -> Result<Self> {
        std::fs::write(self.folder.path().join(name), content)?;
        Ok(self)
    }

    /// Loads the CRD.
    pub fn workloads(self) -> Result<Self> {
        let crd = workspace().join("manifests/crd/workloads.baton.rs.yaml");
        self.server.load(&std::fs::read_to_string(crd)?)?;
        Ok(self)
    }

    /// Sets an editor that replaces a text.
    pub fn editor(mut self, from: &str, to: &str) -> Self {
        self.editor = format!("sed -i s/{from}/{to}/");
        self
    }

    /// Runs the commands of a transcript, which begin with `$`, and expects the text that follows each: what kubectl prints, and
    /// its exit code in brackets if it isn't 0.
    pub async fn shows(&self, transcript: &str) -> Result<()> {
        let mut shown = String::new();
        for line in transcript.lines() {
            if let Some(command) = line.strip_prefix("$ ") {
                let _ = writeln!(shown, "{line}");
                shown.push_str(&self.run(command).await?);
            }
        }
        let expected = transcript.trim_start_matches('\n').trim_end();
        ensure!(shown.trim_end() == expected, "expected:\n{expected}\n\nshown:\n{shown}");
        Ok(())
    }

    /// What kubectl prints, without the lines that differ in each run, and its exit code.
    async fn run(&self, command: &str) -> Result<String> {
        let folder = self.folder.path();
        let output = Command::new(&self.kubectl)
            .args(words(command.strip_prefix("kubectl ").context("only kubectl is here")?))
            .current_dir(folder)
            .env("KUBECONFIG", folder.join("kubeconfig"))
            .env("KUBECACHEDIR", folder.join("cache"))
            .env("KUBERC", "off")
            .env("KUBE_EDITOR", &self.editor)
            .env("KUBECTL_EXTERNAL_DIFF", "diff -U0 --label=live --label=merged")
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await?;
        let mut shown = String::new();
        for line in
            [&output.stdout, &output.stderr].into_iter().flat_map(|text| text.split(|byte| *byte == b'\n'))
        {
            let line = String::from_utf8_lossy(line);
            if !line.trim().is_empty() && !GENERATED.iter().any(|generated| line.starts_with(generated)) {
                let _ = writeln!(shown, "{}", line.trim_end());
            }
        }
        if let Some(code) = output.status.code().filter(|code| *code != 0) {
            let _ = writeln!(shown, "[{code}]");
        }
        Ok(shown)
    }
}

/// The arguments of a command; an argument in quotes may have spaces.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for letter in command.chars() {
        match letter {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            letter => words.last_mut().unwrap().push(letter),
        }
    }
    words
}

/// The Deployment of most tests.
pub const WEB: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app: web, tier: front}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: nginx:1.27
        env: [{name: COLOUR, value: blue}]
";
