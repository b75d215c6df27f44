//! What can keep a differential run from being made. Answers, however odd, are never an error of the run.

use std::path::PathBuf;

/// Why the two sides could not be compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A command line holds no program.
    #[error("the command line of a peer is empty; name the program that speaks the merge driver protocol")]
    NoCommand,
    /// A peer could not be started.
    #[error("can't start the peer `{command}`; is it built, and may it be executed?")]
    Start {
        /// Its command line.
        command: String,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A peer ends whatever it is asked.
    #[error(
        "the peer `{command}` ended {times} times in a row without a single answer; run it by hand to see why"
    )]
    Useless {
        /// Its command line.
        command: String,
        /// How often it was started in vain.
        times: usize,
    },
    /// A file could not be used.
    #[error("can't {action} {}", path.display())]
    File {
        /// A verb: `read`, `write`…
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A file is not what it should be.
    #[error("can't understand line {line} of {}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// The line, counted from one.
        line: usize,
        /// The reason.
        source: serde_json::Error,
    },
    /// The oracle could not be found or built.
    #[error("the oracle isn't there")]
    Oracle(#[from] baton_testbed::Error),
    /// A worker of the run ended before its time.
    #[error("a job of the run panicked; the message is above")]
    Panicked,
}

impl Error {
    /// For `map_err` on everything that touches a file.
    pub(super) fn file(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { action, path, source }
    }
}
