//! Transcripts on disk: every line holds what the merge core is asked about one write, and what a server made of it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use baton_merge_driver::Session;
use baton_testbed::{
    Json,
    prediction::{Accuracy, judge},
    workspace,
};

/// The OpenAPI documents that are kept, relative to the workspace.
const DOCUMENTS: &str = "merge/tests/data/openapi";

/// One write: `{"request":{…},"server":{…}}`, and for readers, which `write` it was, and of which `sequence`.
///
/// `request` is a line of the merge driver protocol. `server` is `{"code":200,"changed":…}` with the `object` or its
/// `managedFields` where something was stored, or `{"code":…,"reason":…,"message":…}`, with `conflicts` where there are any.
#[derive(Clone, Debug)]
pub struct Step(Json);

impl Step {
    pub(super) fn new(sequence: &str, write: &str, request: Json, server: Json) -> Self {
        let step = Json::object().with("sequence", sequence).with("write", write);
        Self(step.with("request", request).with("server", server))
    }

    fn text(&self, path: &[&str]) -> &str {
        self.0.at(path).and_then(Json::as_str).unwrap_or_default()
    }

    /// The sequence that it belongs to.
    pub fn sequence(&self) -> &str {
        self.text(&["sequence"])
    }

    /// How it was written, and where to.
    pub fn write(&self) -> &str {
        self.text(&["write"])
    }

    /// The kind of the object.
    pub fn kind(&self) -> &str {
        self.text(&["request", "gvk", "kind"])
    }

    /// What is asked.
    pub fn request(&self) -> &Json {
        self.0.get("request").unwrap_or(&Json::Null)
    }

    /// What the server answered.
    pub fn server(&self) -> &Json {
        self.0.get("server").unwrap_or(&Json::Null)
    }

    /// Asks the merge core, and judges what it predicts.
    pub fn predict(&self, core: &mut Session) -> (Json, Accuracy) {
        let prediction = core.answer(&self.request().to_string()).parse().unwrap_or(Json::Null);
        let accuracy = judge(self.request(), self.server(), &prediction);
        (prediction, accuracy)
    }

    /// The step as one line.
    pub fn line(&self) -> String {
        self.0.to_string()
    }

    /// The step with the workspace's own copy of the OpenAPI document in its request, in place of the server's.
    #[must_use]
    pub fn with_committed_document(mut self) -> Self {
        let text = |name| self.text(&["request", "gvk", name]);
        let (group, version) = (text("group"), text("version"));
        let name = if group.is_empty() { version.to_owned() } else { format!("{group}__{version}") };
        if let Some(request) = self.0.get_mut("request")
            && request.get("openapi").is_some()
        {
            request.set("openapi", Json::object().with("file", format!("{DOCUMENTS}/{name}.json")));
        }
        self
    }
}

/// The folder of the recorded transcripts.
pub fn folder() -> PathBuf {
    workspace().join("merge/tests/transcripts")
}

/// The steps of every `*.jsonl` in a folder, in the order of names.
pub fn read(folder: &Path) -> Result<Vec<Step>> {
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>();
    let mut files = entries.with_context(|| format!("can't read {}", folder.display()))?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort();
    let mut steps = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).with_context(|| format!("can't read {}", path.display()))?;
        for (i, line) in text.lines().enumerate() {
            let step = line.parse().with_context(|| format!("line {} of {}", i + 1, path.display()))?;
            steps.push(Step(step));
        }
    }
    Ok(steps)
}
