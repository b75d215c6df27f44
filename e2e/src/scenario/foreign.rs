//! Writes that others send, such as kubectl or an autoscaler: found in the audit log, and held against what the merge core
//! predicts, like the scenario's own.

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
    scene::{Scene, failed},
    show::{self, Failure},
    step,
};

/// How far a request's own time may be from the one that the object bears.
const SKEW: Duration = Duration::from_secs(1);

/// What a request says beside its body.
struct Sent<'a> {
    uri: &'a str,
    /// Not later than the server began with it.
    began: Timestamp,
    dry_run: bool,
}

impl Scene {
    /// Takes note of an apply that a client of the scenario's own has sent since the subject was last seen, and that the server
    /// did. Of a body that is YAML and no JSON there is no line in the audit log: what it says has to be told here.
    pub async fn somebody_applied(&mut self, by: &str, manager: &str, intent: &str) {
        let step = self.apply_as(manager, intent);
        let write = step.write(None);
        let uri = step.request(write.as_ref()).uri;
        self.mark = self.end_of_audit_log();
        let (resource, name) = self.subject();
        let before = self.live.take();
        let after = self.read(&resource, &name).await;
        let now = Timestamp::now();
        let sent = Sent { uri: &uri, began: now.saturating_sub(PATIENCE).unwrap_or(now), dry_run: false };
        let outcome = after.as_ref().unwrap_or(&Json::Null);
        self.hold(Some(by), &sent, write, before.as_ref(), Ok(outcome));
        self.live = after;
    }

    /// Takes note of what others have written to the subject since it was last seen, and holds each write against its
    /// prediction. `by` tells what the scenario did to have it written, if anything.
    pub(super) async fn take_note_of_others(&mut self, by: Option<&str>) {
        self.take_note_of_rivals(by, 0).await;
    }

    /// As [`take_note_of_others`](Self::take_note_of_others), where so many writes at the least were done.
    pub(super) async fn take_note_of_rivals(&mut self, by: Option<&str>, at_least: usize) {
        let mark = self.end_of_audit_log();
        let (resource, name) = self.subject();
        let before = self.live.take();
        let after = self.read(&resource, &name).await;
        let lines = self.unseen(before.as_ref(), after.as_ref(), at_least).await;
        self.mark = mark;
        self.seen.extend(lines.iter().map(|line| line.text(&["auditID"]).to_owned()));
        let count = lines.len();
        // Nothing where it isn't known how the object was: a scale doesn't tell its parent.
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
                    self.hold(by, &sent, line.write(live.as_ref()), live.as_ref(), Err(refusal));
                }
                (Some(live), Ok(Some(object))) => {
                    self.hold(by, &sent, line.write(live.as_ref()), live.as_ref(), Ok(object));
                }
                _ => drop(self.stage().predict(None)),
            }
            if let (Ok(object), false) = (outcome, sent.dry_run) {
                live = object.map(Some);
            }
        }
        self.live = after;
    }

    fn hold(
        &mut self,
        by: Option<&str>,
        sent: &Sent<'_>,
        write: Option<Write>,
        before: Option<&Json>,
        outcome: Result<&Json, &Status>,
    ) {
        let (began, dry_run, resource) = (sent.began, sent.dry_run, self.resource());
        let done = write.as_ref().map(|write| Done { resource, write, before, outcome, began, dry_run });
        let predicted = self.stage().predict(done.as_ref());
        let Some(write) = write else { return };
        let manager = Manager::Named(write.manager.clone());
        let what = step::told(write.method, &manager, write.subresource);
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
        self.take_note_of(recorded);
    }

    /// The writes that led from one state of the subject to another and that nobody has taken note of yet, in the order in which
    /// they were done, once the last one of them is written down.
    async fn unseen(&self, before: Option<&Json>, after: Option<&Json>, at_least: usize) -> Vec<Line> {
        let Some(audit) = self.stage().audit().unwrap_or_else(failed) else { return Vec::new() };
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
