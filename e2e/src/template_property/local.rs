//! The installation of tests: Baton as a process beside a control plane, observed by its audit log, metrics and log.

use std::time::Duration;

use baton_controller::decide::child::ChildKind;
use baton_testbed::{AuditEntry, Cluster, Error, Mark, PATIENCE, wait_for};
use kube::Client;
use serde_json::Value;

use super::installation::{Installation, Mismatch, News, Sent};
use super::reference::COMPARED;
use crate::{Environment, Operator, OperatorOptions};

/// Longer than Baton takes to react to a write.
const MOMENT: Duration = Duration::from_millis(250);
/// How long Baton may be busy. If it never comes to rest, its writes show that.
const BUSY: Duration = Duration::from_secs(10);
/// Logs every mismatch, not only the first of its kind; and avoids a resync.
const FLAGS: &str = "--log-format json --log info,baton_controller::reconcile::observer=debug --resync 1000h";

/// A namespace of its own, with an operator of its own.
pub struct Local {
    env: Environment,
    operator: Operator,
    /// The end of the audit log when it was last read.
    mark: Mark,
    /// The end of the operator's log when it was last read.
    log: usize,
    /// The mismatches of operators that were stopped since.
    mismatches: Vec<Mismatch>,
}

impl Local {
    /// Creates the namespace, and starts Baton.
    pub async fn start(cluster: &Cluster) -> Result<Self, Error> {
        let env = Environment::new(cluster, "template").await?;
        let mark = cluster.audit()?.mark()?;
        let operator = operator(&env).await?;
        Ok(Self { env, operator, mark, log: 0, mismatches: Vec::new() })
    }

    async fn passes(&self) -> Result<u64, Error> {
        Ok(self.operator.metrics().await?.count("baton_reconciles_total", &[]))
    }

    async fn passes_to_end(&self, count: u64) -> Result<(), Error> {
        wait_for("passes of all Workloads", PATIENCE, async || {
            let passes = self.passes().await?;
            Ok::<_, Error>(if passes >= count { Ok(()) } else { Err(format!("{passes} of {count}")) })
        })
        .await?;
        self.rest().await.map(drop)
    }

    /// Waits until no pass has ended for a moment, or until the limit. Returns how many passes have ended.
    async fn rest(&self) -> Result<u64, Error> {
        let mut before = self.passes().await?;
        let end = tokio::time::Instant::now() + BUSY;
        loop {
            tokio::time::sleep(MOMENT).await;
            let after = self.passes().await?;
            if before == after || tokio::time::Instant::now() > end {
                return Ok(after);
            }
            before = after;
        }
    }

    /// The wrong predictions that were logged since the last call.
    fn logged(&mut self) -> Vec<Mismatch> {
        let text = self.operator.logs();
        let from = self.log.min(text.len());
        let end = text.rfind('\n').map_or(0, |end| end + 1).max(from);
        self.log = end;
        text[from..end].lines().filter_map(mismatch).collect()
    }
}

async fn operator(env: &Environment) -> Result<Operator, Error> {
    // Mismatches are the subject here, and each is reported with its edit.
    env.start_operator(OperatorOptions { expect_mismatches: true, ..OperatorOptions::with_flags(FLAGS) })
        .await
}

impl Installation for Local {
    fn client(&self) -> &Client {
        &self.env.client
    }

    fn namespace(&self) -> &str {
        self.env.ns()
    }

    async fn reconcile_all(&mut self, workloads: usize) -> Result<(), Error> {
        let before = self.rest().await?;
        self.operator.reconcile_all()?;
        self.passes_to_end(before + workloads as u64).await
    }

    async fn restart(&mut self, workloads: usize) -> Result<(), Error> {
        self.operator.stop().await?;
        let logged = self.logged();
        self.mismatches.extend(logged);
        self.operator = operator(&self.env).await?;
        self.log = 0;
        self.passes_to_end(workloads as u64).await
    }

    fn news(&mut self) -> Result<News, Error> {
        let audit = self.env.cluster.audit()?;
        let (from, to) = (self.mark, audit.mark()?);
        let sent = audit.by_since(self.operator.user(), from)?.writes();
        let sent = sent.that(|write| {
            // After a conflict with a newer version of the child, Baton plans anew.
            kind(write).is_some() && !write.is_dry_run() && write.code != Some(409)
        });
        self.mark = to;
        let logged = self.logged();
        let mismatches = self.mismatches.drain(..).chain(logged).collect();
        Ok(News { sent: sent.into_iter().map(sent_by).collect(), mismatches })
    }
}

fn kind(write: &AuditEntry) -> Option<ChildKind> {
    COMPARED.into_iter().find(|kind| write.resource.as_deref() == Some(&*kind.api_resource().plural))
}

fn sent_by(write: AuditEntry) -> Sent {
    let is_apply = write.query("fieldManager").is_some() && write.verb == "patch";
    Sent {
        kind: kind(&write).map(ChildKind::name).unwrap_or_default().to_owned(),
        what: write.to_string(),
        name: write.name.unwrap_or_default(),
        body: write.request_object.filter(|_| is_apply),
    }
}

fn mismatch(line: &str) -> Option<Mismatch> {
    let line: Value = serde_json::from_str(line).ok()?;
    let fields = line.get("fields").unwrap_or(&line);
    let text = |field: &str| fields[field].as_str().unwrap_or_default().to_owned();
    text("message")
        .starts_with("prediction mismatch")
        .then(|| Mismatch { name: text("name"), what: text("differences") })
}
