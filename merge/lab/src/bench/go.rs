//! The rows in Go, run and measured by the oracle in its own process.

use std::{path::Path, time::Duration};

use anyhow::{Context as _, Result};
use serde_json::{Value as Json, json};

use super::{Row, objects::Subject, run::Sample};
use crate::peer::{self, Peer};

/// The oracle as `oracle bench`; `bench.go` has its protocol.
pub struct Go(Peer);

impl Go {
    /// Starts it, with one thread for Go code and its garbage collector together: the work of an op counts, and a collector
    /// with processors to itself makes more. Its memory has the limits of a server's, whatever the environment sets.
    pub fn start(oracle: &Path) -> Result<Self> {
        let oracle = oracle.display().to_string();
        let command = ["env", "-u", "GOGC", "-u", "GOMEMLIMIT", "GOMAXPROCS=1", &oracle, "bench"];
        Ok(Self(peer::process(&command.map(str::to_owned))?))
    }

    /// Sends an object.
    pub fn load(&mut self, subject: &Subject) -> Result<()> {
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

    /// The result of a row for an object.
    pub fn check(&mut self, subject: &Subject, row: Row) -> Result<Json> {
        let mut answer = self.ask(&json!({"check": {"object": subject.name, "row": row.name()}}))?;
        Ok(answer["result"].take())
    }

    /// Repeats a row for about this long.
    pub fn sample(&mut self, subject: &Subject, row: Row, duration: Duration) -> Result<Sample> {
        let run = json!({"object": subject.name, "row": row.name(), "millis": duration.as_millis()});
        let answer = self.ask(&json!({"run": run}))?;
        serde_json::from_value(answer).context("the Go side has no figures")
    }

    fn ask(&mut self, request: &Json) -> Result<Json> {
        let answer = (self.0)(&[request.to_string()])?.concat();
        serde_json::from_str(&answer).with_context(|| format!("the Go side: {answer}"))
    }
}
