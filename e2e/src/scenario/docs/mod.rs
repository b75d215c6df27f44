//! The documents with generated parts, which are written from the scenarios: the [table] of all promises, and the [tutorial].

pub mod table;
pub mod tutorial;

use std::{env, fs, path::PathBuf};

use baton_testbed::{Error, workspace};

/// Why a document can't be rendered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RenderError {
    /// It names a scenario that doesn't exist, or wasn't played.
    #[error("there is no scenario {0}: see `cargo test -p baton-e2e --test seeds -- --list`")]
    NoScenario(String),
    /// It asks for steps that a scenario doesn't have.
    #[error("{0} has no such steps: it has {1}")]
    NoSteps(String, usize),
    /// A begin mark without an end mark.
    #[error("<!-- scenario {0} --> has no <!-- end -->")]
    NoEnd(String),
    /// A line of the table isn't a row with four cells.
    #[error("this line isn't a row with four cells: {0}")]
    NoRow(String),
}

/// If this environment variable is set, documents are written instead of compared.
pub const WRITE_DOCS: &str = "BATON_WRITE_DOCS";

/// A document in the folder `docs`.
#[derive(Clone, Debug)]
pub struct File {
    path: PathBuf,
    name: &'static str,
}

impl File {
    /// The document of this name, such as `seeds.md`.
    pub fn of(name: &'static str) -> Self {
        Self { path: workspace().join("docs").join(name), name }
    }

    /// Its text; empty if the file doesn't exist.
    pub fn read(&self) -> Result<String, Error> {
        match fs::read_to_string(&self.path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
            outcome => outcome.map_err(Error::file("read", &self.path)),
        }
    }

    /// The difference to this text, if there is one. With [`WRITE_DOCS`] set, the text is written instead.
    pub fn outdated(&self, wanted: &str) -> Result<Option<String>, Error> {
        let found = self.read()?;
        if found == wanted {
            return Ok(None);
        }
        if env::var_os(WRITE_DOCS).is_none_or(|value| value.is_empty()) {
            let name = format!("docs/{}", self.name);
            let diff = similar::TextDiff::from_lines(&found, wanted);
            return Ok(Some(diff.unified_diff().header(&name, "as it was played").to_string()));
        }
        fs::write(&self.path, wanted).map_err(Error::file("write", &self.path))?;
        Ok(None)
    }
}
