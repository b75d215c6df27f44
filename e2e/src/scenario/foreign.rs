//! Writes of other clients, such as kubectl or an autoscaler: read from the audit log, and compared with the prediction of the
//! merge core, like the scenario's own.

use std::time::Duration;

use baton_testbed::{
    Json, PATIENCE, eventually,
    prediction::{Accuracy, Done, Write, response},
};
use jiff::Timestamp;
use kube::core::Status;

use super::{
    Recorded,
    line::{Line, in_order, resource_version},
    manager::Manager,
    show::{self, Failure},
    step,
    subject::{Subject, failed},
};

/// How far the time of a request may be from the time that the object records.
const SKEW: Duration = Duration::from_secs(1);

/// A request without its body.
struct Sent<'a> {
    uri: &'a str,
    /// Not later than the server began to process it.
    began: Timestamp,
    dry_run: bool,
}

impl Subject {
    /// Records a successful apply that a client of the scenario sent since the subject was last read. The intent is passed here: the
    /// audit log has no line for a body that is YAML, not JSON.
    pub async fn record_apply(&mut self, by: &str, manager: &str, intent: &str) {
        let step = self.apply_as(manager, intent);
        let write = step.write(None);
        let uri = step.request(write.as_ref()).uri;
        self.mark = self.end_of_audit_log();
        let (resource, name) = self.target();
        let before = self.live.take();
        let after = self.read(&resource, &name).await;
        let now = Timestamp::now();
        let sent = Sent { uri: &uri, began: now.saturating_sub(PATIENCE).unwrap_or(now), dry_run: false };
        let outcome = after.as_ref().unwrap_or(&Json::Null);
        self.check(Some(by), &sent, write, before.as_ref(), Ok(outcome));
        self.live = after;
    }

    /// Records the writes of other clients to the subject since it was last read, and compares each with its prediction. `by` is what
    /// the scenario did to cause them, if anything.
    pub(super) async fn record_others(&mut self, by: Option<&str>) {
        self.record_rivals(by, 0).await;
    }

    /// Like [`record_others`](Self::record_others), but waits for at least this many successful writes.
    pub(super) async fn record_rivals(&mut self, by: Option<&str>, at_least: usize) {
        let mark = self.end_of_audit_log();
        let (resource, name) = self.target();
        let before = self.live.take();
        let after = self.read(&resource, &name).await;
        let lines = self.unseen(before.as_ref(), after.as_ref(), at_least).await;
        self.mark = mark;
        self.seen.extend(lines.iter().map(|line| line.text(&["auditID"]).to_owned()));
        let count = lines.len();
        // Nothing where the object isn't known: the response to a write of a scale doesn't have it.
        let mut live = Some(before);
        for (i, line) in lines.iter().enumerate() {
            let response = line.0.get("responseObject").cloned().unwrap_or(Json::Null);
            let is_whole = response.get("kind").and_then(Json::as_str) == Some(&resource.kind);
            let began: Timestamp = line.text(&["requestReceivedTimestamp"]).parse().unwrap_or_default();
            let sent = Sent {
                uri: line.text(&["requestURI"]),
                began: began.saturating_sub(SKEW).unwrap_or(began),
                dry_run: line.query("dryRun").is_some(),
            };
            let outcome = match line.status() {
                Some(refusal) => Err(refusal),
                None if is_whole => Ok(Some(response)),
                None => Ok(after.clone().filter(|_| i + 1 == count)),
            };
            // Controllers write while kubectl runs.
            let by = by
                .filter(|by| !by.starts_with("kubectl") || line.text(&["userAgent"]).starts_with("kubectl/"));
            match (&live, &outcome) {
                (Some(live), Err(refusal)) => {
                    self.check(by, &sent, line.write(live.as_ref()), live.as_ref(), Err(refusal));
                }
                (Some(live), Ok(Some(object))) => {
                    self.check(by, &sent, line.write(live.as_ref()), live.as_ref(), Ok(object));
                }
                _ => drop(self.server().predict(None)),
            }
            if let (Ok(object), false) = (outcome, sent.dry_run) {
                live = object.map(Some);
            }
        }
        self.live = after;
    }

    fn check(
        &mut self,
        by: Option<&str>,
        sent: &Sent<'_>,
        write: Option<Write>,
        before: Option<&Json>,
        outcome: Result<&Json, &Status>,
    ) {
        let (began, dry_run, resource) = (sent.began, sent.dry_run, self.resource());
        let done = write.as_ref().map(|write| Done { resource, write, before, outcome, began, dry_run });
        let predicted = self.server().predict(done.as_ref());
        let Some(write) = write else { return };
        let manager = Manager::Named(write.manager.clone());
        let what = step::sentence(write.method, &manager, write.subresource);
        let sentence = by.map_or_else(|| what.clone(), |by| format!("{by}: {what}"));
        if let Some((prediction, Accuracy::Mismatch(difference))) = &predicted {
            let refusal = outcome.err().map(response::refused);
            let failure = Failure {
                scenario: self.title(),
                sentence: &sentence,
                problems: &[format!("predicted wrongly: {difference}")],
                live: before.unwrap_or(&Json::Null),
                request: &write.body,
                uri: sent.uri,
                prediction,
                response: outcome.ok().or(refusal.as_ref()).unwrap_or(&Json::Null),
                code: outcome.err().map_or(200, |status| status.code),
            };
            panic!("{}", show::failure(&failure));
        }
        let recorded = Recorded {
            sentence,
            subresource: write.subresource,
            by_others: by.is_none(),
            sent: Some(write.body),
            refusal: outcome.err().map(|status| status.message.clone()),
            before: before.cloned(),
            after: outcome.ok().or(before).cloned(),
        };
        self.keep(recorded);
    }

    /// The writes that led from one state of the subject to another and aren't recorded yet, in the order in which the server did them.
    /// Waits until the last one is in the audit log.
    async fn unseen(&self, before: Option<&Json>, after: Option<&Json>, at_least: usize) -> Vec<Line> {
        let Some(audit) = self.server().audit().unwrap_or_else(failed) else { return Vec::new() };
        let (first, last) = (before.and_then(resource_version), after.and_then(resource_version));
        let is_between = |version: u64| {
            first.is_none_or(|first| version >= first) && last.is_none_or(|last| version <= last)
        };
        let what = format!("the write of version {last:?} in {}", self.title());
        eventually(&what, async || {
            let lines = audit.lines_since(self.mark).unwrap_or_else(failed);
            let mut found: Vec<_> = lines.into_iter().map(Line).collect();
            found.retain(|line| {
                line.writes_to(self.resource(), self.namespace(), self.name())
                    && !self.seen.contains(line.text(&["auditID"]))
                    && line.resource_version().is_none_or(is_between)
            });
            let is_whole =
                last.is_none() || last == first || found.iter().any(|line| line.resource_version() == last);
            if is_whole && found.iter().filter(|line| line.is_done()).count() >= at_least {
                Ok(in_order(found))
            } else {
                Err(found.iter().map(Line::resource_version).collect::<Vec<_>>())
            }
        })
        .await
    }
}
