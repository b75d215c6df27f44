//! The rows in Go, done and measured by the oracle in its own process.

use std::{
    fmt::Display,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::Duration,
};

use serde_json::{Value as Json, json};

use super::{Error, Row, objects::Subject, sample::Sample};

/// The oracle as `oracle bench`; see `bench.go` for what it is asked. Stopped when dropped.
pub struct Go {
    command: String,
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Go {
    /// Starts it, with one thread for Go code and its garbage collector together: what is measured is the work that an
    /// op makes, and a collector with processors to itself makes more.
    ///
    /// # Errors
    /// When it can't be started.
    pub fn start(oracle: &Path) -> Result<Self, Error> {
        let command = format!("{} bench", oracle.display());
        let failed =
            |problem: &dyn Display| Error::Go { command: command.clone(), problem: problem.to_string() };
        let mut child = Command::new(oracle)
            .arg("bench")
            .env("GOMAXPROCS", "1")
            // Whatever the shell has set: as a server has it.
            .env_remove("GOGC")
            .env_remove("GOMEMLIMIT")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| failed(&error))?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(stdin), Some(stdout)) => Ok(Self { command, child, stdin, stdout: BufReader::new(stdout) }),
            _ => Err(failed(&"it has no pipes")),
        }
    }

    /// Hands an object over.
    ///
    /// # Errors
    /// When Go can't take it.
    pub fn load(&mut self, subject: &Subject) -> Result<(), Error> {
        let (member, path) = subject.types.source();
        let gvk = &subject.gvk;
        self.ask(&json!({"load": {
            "name": subject.name,
            member: path,
            "gvk": {"group": gvk.group, "version": gvk.version, "kind": gvk.kind},
            "live": subject.live,
            "manager": subject.applier,
            "intent": subject.intent,
            "next": subject.next,
            "updater": subject.updater,
            "updated": subject.updated,
        }}))?;
        Ok(())
    }

    /// What a row makes of an object.
    ///
    /// # Errors
    /// When Go refuses it.
    pub fn check(&mut self, subject: &Subject, row: Row) -> Result<Json, Error> {
        let mut answer = self.ask(&json!({"check": {"object": subject.name, "row": row.name()}}))?;
        Ok(answer["result"].take())
    }

    /// Repeats a row for about so long.
    ///
    /// # Errors
    /// When Go refuses it.
    pub fn sample(&mut self, subject: &Subject, row: Row, duration: Duration) -> Result<Sample, Error> {
        let run = json!({"object": subject.name, "row": row.name(), "millis": duration.as_millis()});
        let answer = self.ask(&json!({"run": run}))?;
        serde_json::from_value(answer).map_err(|error| self.failed(error))
    }

    fn ask(&mut self, request: &Json) -> Result<Json, Error> {
        let mut line = request.to_string();
        line.push('\n');
        let sent = self.stdin.write_all(line.as_bytes());
        sent.map_err(|error| self.failed(error))?;
        line.clear();
        match self.stdout.read_line(&mut line) {
            Ok(0) => Err(self.failed("it ended")),
            Ok(_) => serde_json::from_str(&line).map_err(|error| self.failed(error)),
            Err(error) => Err(self.failed(error)),
        }
    }

    fn failed(&self, problem: impl Display) -> Error {
        Error::Go { command: self.command.clone(), problem: problem.to_string() }
    }
}

impl Drop for Go {
    fn drop(&mut self) {
        // Both fail only when the process has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
