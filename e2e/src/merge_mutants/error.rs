//! What can keep a mutation from being judged. That nobody catches it is a result, not an error.

use std::path::PathBuf;

use crate::merge_diff;

/// Why mutations could not be judged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The source has changed under a mutation.
    #[error(
        "the mutation `{name}` replaces a text that merge/src/{file} has {times} times instead of once; \
         write it anew for the source as it is now"
    )]
    Stale {
        /// The mutation.
        name: &'static str,
        /// The file below `merge/src`.
        file: &'static str,
        /// How often the text is there.
        times: usize,
    },
    /// A broken core has to build, or it shows nothing.
    #[error("the merge core doesn't build with the mutation `{name}`:\n{output}")]
    Build {
        /// The mutation.
        name: &'static str,
        /// What the compiler said.
        output: String,
    },
    /// The manifest of the workspace has no list of members on a line of its own.
    #[error("{} has no line `members = […]`, so a workspace of the merge core alone can't be made", path.display())]
    NoMembers {
        /// The manifest.
        path: PathBuf,
    },
    /// Cargo could not be started.
    #[error("can't start cargo; is it in the PATH?")]
    Cargo(#[source] std::io::Error),
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
    /// The oracle or a driver could not be asked.
    #[error(transparent)]
    Peer(#[from] merge_diff::Error),
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
