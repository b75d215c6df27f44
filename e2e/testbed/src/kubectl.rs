//! The real kubectl, with nothing of the user's own configuration.

use std::{
    fmt,
    io::{Seek as _, Write as _},
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
};

use tokio::process::Command;

use crate::Error;

/// A call of kubectl that hasn't run yet.
#[derive(Debug)]
pub struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
    cache: PathBuf,
    args: Vec<String>,
    input: Option<String>,
}

/// The output of kubectl, and how it ended.
#[derive(Clone, Debug)]
pub struct Output {
    /// The arguments, for messages.
    pub args: Vec<String>,
    /// How it ended.
    pub status: ExitStatus,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Kubectl {
    pub(crate) fn new<A: AsRef<str>>(
        program: PathBuf,
        kubeconfig: &Path,
        cache: &Path,
        args: impl IntoIterator<Item = A>,
    ) -> Self {
        Self {
            program,
            kubeconfig: kubeconfig.to_owned(),
            cache: cache.to_owned(),
            args: args.into_iter().map(|arg| arg.as_ref().to_owned()).collect(),
            input: None,
        }
    }

    /// Standard input, for `-f -`.
    #[must_use]
    pub fn input(mut self, text: impl Into<String>) -> Self {
        self.input = Some(text.into());
        self
    }

    /// Another kubeconfig.
    #[must_use]
    pub fn kubeconfig(mut self, path: &Path) -> Self {
        path.clone_into(&mut self.kubeconfig);
        self
    }

    /// Runs it to its end. It is killed when the future is dropped.
    ///
    /// # Errors
    /// When it can't be run; not when it fails, which is for the caller to judge.
    pub async fn run(self) -> Result<Output, Error> {
        let failed = Error::spawn(self.program.to_string_lossy());
        let output = Command::new(&self.program)
            .args(&self.args)
            .env("KUBECONFIG", &self.kubeconfig)
            .env("KUBECACHEDIR", &self.cache)
            .env("KUBERC", "off")
            .stdin(input(self.input.as_deref().unwrap_or_default())?)
            .kill_on_drop(true)
            .output()
            .await
            .map_err(failed)?;
        Ok(Output {
            args: self.args,
            status: output.status,
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }
}

/// A nameless file instead of a pipe, so that nothing has to be written while kubectl reads.
fn input(text: &str) -> Result<Stdio, Error> {
    let file = || {
        let mut file = tempfile::tempfile()?;
        file.write_all(text.as_bytes())?;
        file.rewind()?;
        Ok(file)
    };
    file().map(Stdio::from).map_err(Error::file("write a file in", std::env::temp_dir()))
}

impl Output {
    /// Standard output if it succeeded, or else all about the failure.
    pub fn success(self) -> Result<String, Error> {
        if self.status.success() {
            return Ok(self.stdout);
        }
        Err(Error::Kubectl { output: Box::new(self) })
    }
}

/// As on a terminal: the command, then what it wrote.
impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "$ kubectl {}", self.args.join(" "))?;
        write!(f, "{}{}({})", self.stdout, self.stderr, self.status)
    }
}
