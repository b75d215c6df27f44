//! Errors of commands, and the exit code of the process.

use std::{error::Error, io};

use baton_apply::{PredictionError, ownership::IntentError};

use crate::{cluster::ClusterError, manifest::ManifestError, model::PathError, offline::OfflineError};

/// The error of a command that ends without a result: one line on standard error.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    /// The cluster can't be used, or refuses something.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// A manifest can't be read.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// Nothing can be predicted without a cluster.
    #[error(transparent)]
    Offline(#[from] OfflineError),
    /// A field path is wrong.
    #[error(transparent)]
    Path(#[from] PathError),
    /// Nothing can be predicted.
    #[error("can't predict the write")]
    Prediction(#[from] PredictionError),
    /// A manager's intent can't be made.
    #[error("can't read what the manager applies")]
    Intent(#[from] IntentError),
    /// The command line makes no sense for these objects.
    #[error("{0}")]
    Input(String),
    /// The output can't be written.
    #[error("can't write the output")]
    Output(#[from] io::Error),
    /// A result can't be written as JSON or YAML.
    #[error("can't write the result as {0}")]
    Format(&'static str, #[source] Box<dyn Error + Send + Sync>),
}

impl CommandError {
    /// The error of a result that can't be written in this format.
    pub(crate) fn format<E: Into<Box<dyn Error + Send + Sync>>>(
        format: &'static str,
    ) -> impl FnOnce(E) -> Self {
        move |error| Self::Format(format, error.into())
    }

    /// The exit code.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Cluster(error) if error.is_of_the_cluster() => Exit::Cluster,
            _ => Exit::Input,
        }
    }

    /// The error with its causes, on one line.
    pub(crate) fn line(&self) -> String {
        let mut line = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            let text = error.to_string();
            if !line.contains(&text) {
                line = format!("{line}: {text}");
            }
            cause = error.source();
        }
        line.lines().map(str::trim).collect::<Vec<_>>().join(" ")
    }
}

/// The exit code of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The command is done, or there is nothing to report.
    Done = 0,
    /// There are differences or conflicts, or the server refused the write.
    Differs = 1,
    /// The command line, a manifest or a path is wrong, or there is no such kind or object.
    Input = 2,
    /// The cluster can't be reached, or doesn't allow it.
    Cluster = 3,
}

/// How a command ends.
pub(crate) type Ending = Result<Exit, CommandError>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest;

    #[test]
    fn a_cause_is_named_once() {
        let error = CommandError::from(manifest::of_text("web.yaml", "a: [").unwrap_err());
        assert_eq!(error.line(), "can't read web.yaml: yaml: line 1: unclosed bracket '['");
    }
}
