//! The errors of a test cluster.

use std::{path::PathBuf, process::ExitStatus, time::Duration};

/// The reason why a control plane, or a program beside it, isn't there or failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder could not be used.
    #[error("can't {action} {}", path.display())]
    File {
        /// A verb: `read`, `write`, `create`…
        action: &'static str,
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A program could not be started at all.
    #[error("can't start {program}; is it installed, and may it be executed?")]
    Spawn {
        /// The program, as it was named to the system.
        program: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// Go is needed to build the control plane, and isn't there or isn't the right one.
    #[error(
        "the control plane is built with Go {needed} or newer, and {problem}. Install it from https://go.dev/dl and put \
         it on the PATH, or point KUBEBUILDER_ASSETS to a folder with ready binaries ({binaries})"
    )]
    Go {
        /// The oldest release that will do.
        needed: String,
        /// What is wrong with what was found.
        problem: String,
        /// The names that are expected in `KUBEBUILDER_ASSETS`.
        binaries: String,
    },
    /// A command failed, such as that of a build.
    #[error("{command} failed with {status} in {}:\n{output}", folder.display())]
    Failed {
        /// The command line.
        command: String,
        /// Where it ran.
        folder: PathBuf,
        /// How it ended.
        status: ExitStatus,
        /// The last lines that it wrote.
        output: String,
    },
    /// A certificate or key could not be made.
    #[error("can't make the certificate of {subject}")]
    Certificate {
        /// Its user.
        subject: String,
        /// The reason.
        source: rcgen::Error,
    },
    /// A process ended while it was needed.
    #[error("{name} ended with {status}; the last lines of {}:\n{tail}", log.display())]
    Ended {
        /// The process.
        name: String,
        /// How it ended.
        status: ExitStatus,
        /// Its log.
        log: PathBuf,
        /// The last lines of it.
        tail: String,
    },
    /// Something did not happen in time.
    #[error("{what} did not happen within {} s; {state}", limit.as_secs())]
    Timeout {
        /// The awaited event.
        what: String,
        /// How long.
        limit: Duration,
        /// The state that was seen last.
        state: String,
    },
    /// Something that was to be seen without a gap may have been missed.
    #[error("some writes may have been missed, {why}. What was seen:\n{seen}")]
    Missed {
        /// Of what, when, and why it can't be found out any more.
        why: String,
        /// The events before and after.
        seen: String,
    },
    /// A kubeconfig could not be read or lacks what is needed.
    #[error("the kubeconfig {} can't be used", path.display())]
    Kubeconfig {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: kube::config::KubeconfigError,
    },
    /// A request to the API server failed.
    #[error("can't {what}")]
    Api {
        /// A verb with its object: `create the namespace x`.
        what: String,
        /// The response, or why there is none.
        source: Box<kube::Error>,
    },
    /// The control plane isn't ours, and this can be done only with one that is.
    #[error(
        "{what} needs a control plane that was started here, and this one was given; unset {} if that gave it",
        crate::GIVEN_KUBECONFIG
    )]
    GivenCluster {
        /// The request.
        what: &'static str,
    },
    /// There can be no real node on this machine.
    #[error("there can be no real node here")]
    NoNode(#[from] crate::node::Unavailable),
    /// The real node's machine is switched off, since it didn't come up again.
    #[error("the node is switched off: its last start failed")]
    NodeOff,
    /// kubectl ran and failed.
    #[error("{output}")]
    Kubectl {
        /// The command with its output.
        output: Box<crate::kubectl::Output>,
    },
    /// The output of another program can't be parsed.
    #[error("can't understand {what}")]
    Parse {
        /// The text that was read, and where.
        what: String,
        /// The reason.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl Error {
    /// For `map_err` on file operations. Names the operation and the path.
    pub fn file(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { action, path, source }
    }

    /// For `map_err` on what starts a program.
    pub fn spawn(program: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let program = program.into();
        move |source| Self::Spawn { program, source }
    }

    /// For `map_err` on requests. Names the request.
    pub fn api(what: impl Into<String>) -> impl FnOnce(kube::Error) -> Self {
        let what = what.into();
        move |source| Self::Api { what, source: Box::new(source) }
    }

    /// For `map_err` on what another program wrote.
    pub fn parse<E>(what: impl Into<String>) -> impl FnOnce(E) -> Self
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let what = what.into();
        move |source| Self::Parse { what, source: source.into() }
    }

    /// The message with those of all its causes, for places that show errors to people.
    pub fn report(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        text
    }
}
