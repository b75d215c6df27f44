//! What can keep a benchmark from being made.

use std::{fmt::Display, path::PathBuf};

/// Why there is no figure.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An input could not be read.
    #[error("can't read {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// An input isn't what it should be.
    #[error("{what}: {problem}")]
    Input {
        /// Which.
        what: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The merge core refuses what a row needs.
    #[error("the merge core refuses {row} of {object}: {problem}")]
    Core {
        /// The row.
        row: &'static str,
        /// The object.
        object: &'static str,
        /// In the core's words.
        problem: String,
    },
    /// The Go side could not be talked to.
    #[error("the Go side, {command}: {problem}")]
    Go {
        /// What was started.
        command: String,
        /// What went wrong; the process says more on standard error.
        problem: String,
    },
    /// The two sides make different things of the same object.
    #[error("{row} of {object} differs\n  core {core}\n  Go   {go}")]
    Differs {
        /// The row.
        row: &'static str,
        /// The object.
        object: &'static str,
        /// What the core makes of it.
        core: String,
        /// What Go makes of it.
        go: String,
    },
}

impl Error {
    pub(crate) fn input(what: impl Into<String>, problem: impl Display) -> Self {
        Self::Input { what: what.into(), problem: problem.to_string() }
    }
}
