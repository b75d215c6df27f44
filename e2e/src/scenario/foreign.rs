//! Writes that others send, such as kubectl or an autoscaler: found in the audit log, and held against what the merge core
//! predicts, like the scenario's own.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use kube::core::Status;

use super::{
    Recorded, body,
    manager::Manager,
    predict::Done,
    scene::{Scene, failed},
    show::{self, Failure},
    stage::{PATIENCE, PAUSE},
    step,
};
use crate::{
    merge_diff::Json,
    query,
    transcripts::{Method, Owners, Resource, Write, answer, judge::Verdict},
};

/// How far a request's own time may be from the one that the object bears.
const SKEW: Duration = Duration::from_secs(1);

/// A line of the audit log.
struct Line(Json);

impl Line {
    fn text(&self, path: &[&str]) -> &str {
        self.0.at(path).and_then(Json::as_str).unwrap_or_default()
    }

    /// Whether it could change this object.
    fn writes_to(&self, resource: &Resource, namespace: &str, name: &str) -> bool {
        let object = |member: &str| self.text(&["objectRef", member]);
        let by_name = |found: &str| found == name;
        let namespace = if resource.namespaced { namespace } else { "" };
        matches!(self.text(&["verb"]), "create" | "update" | "patch" | "delete")
            && object("resource") == resource.plural
            && object("apiGroup") == resource.group
            && (object("namespace") == namespace || !resource.namespaced)
            && (by_name(object("name"))
                || self
                    .0
                    .at(&["requestObject", "metadata", "name"])
                    .and_then(Json::as_str)
                    .is_some_and(by_name))
    }

    /// The version of the object that came of it.
    fn resource_version(&self) -> Option<u64> {
        self.0.get("responseObject").and_then(resource_version)
    }

    fn code(&self) -> u16 {
        let code = self.0.at(&["responseStatus", "code"]).map(Json::to_string).unwrap_or_default();
        code.parse().unwrap_or_default()
    }

    /// What a refusal says.
    fn status(&self) -> Option<Status> {
        if (200..300).contains(&self.code()) {
            return None;
        }
        let told = self.0.get("responseObject").or_else(|| self.0.get("responseStatus"));
        let status = told.and_then(|told| serde_json::from_str(&told.to_string()).ok());
        Some(status.unwrap_or_else(|| Status::failure("refused", "Unknown").with_code(self.code())))
    }

    fn query(&self, key: &str) -> Option<String> {
        query::value(self.text(&["requestURI"]), key)
    }

    /// What was sent. A deletion is none that the merge core knows.
    fn write(&self, live: Option<&Json>) -> Option<Write> {
        let body = self.0.get("requestObject")?.clone();
        let method = match self.text(&["verb"]) {
            "create" => Method::Create,
            "update" => Method::Replace,
            "patch" if matches!(body, Json::List(_)) => Method::JsonPatch,
            // Of all patches only an intent says what kind it is.
            "patch" if body.get("kind").is_some() => {
                Method::Apply { force: self.query("force").as_deref() == Some("true") }
            }
            "patch" => Method::StrategicPatch,
            _ => return None,
        };
        let manager = match self.query("fieldManager") {
            Some(name) => Manager::Named(name),
            None => Manager::UserAgent(self.text(&["userAgent"]).to_owned()),
        };
        let subresource = match self.text(&["objectRef", "subresource"]) {
            "" => "",
            "scale" => "scale",
            "status" => "status",
            other => panic!("nothing is known of the subresource {other}"),
        };
        let otherwise = match method {
            Method::Create | Method::Replace => Owners::Absent,
            _ => Owners::Kept,
        };
        Some(Write {
            method,
            subresource,
            version: self.text(&["objectRef", "apiVersion"]).to_owned(),
            manager: manager.recorded().to_owned(),
            owners: body::owners_in(&body, live, otherwise),
            body,
        })
    }
}

/// A server counts its versions.
fn resource_version(object: &Json) -> Option<u64> {
    object.at(&["metadata", "resourceVersion"])?.as_str()?.parse().ok()
}

impl Scene {
    /// Takes note of what others have written to the subject since it was last seen, and holds each write against its
    /// prediction. `by` tells what the scenario did to have it written, if anything.
    pub(super) async fn take_note_of_others(&mut self, by: Option<&str>) {
        let mark = self.end_of_audit_log();
        let (resource, name) = self.subject();
        let before = self.live.take();
        let after = self.read(&resource, &name).await;
        let lines = self.unseen(before.as_ref(), after.as_ref()).await;
        self.mark = mark;
        self.seen.extend(lines.iter().map(|line| line.text(&["auditID"]).to_owned()));
        let count = lines.len();
        // Nothing where it isn't known how the object was: a scale doesn't tell its parent.
        let mut live = Some(before);
        for (i, line) in lines.iter().enumerate() {
            let response = line.0.get("responseObject").cloned().unwrap_or(Json::Null);
            let is_whole = response.get("kind").and_then(Json::as_str) == Some(&resource.kind);
            let is_trial = line.query("dryRun").is_some();
            let outcome = match line.status() {
                Some(refusal) => Err(refusal),
                None if is_whole => Ok(Some(response)),
                None => Ok(after.clone().filter(|_| i + 1 == count)),
            };
            match (&live, &outcome) {
                (Some(live), Err(refusal)) => self.hold(by, line, live.as_ref(), Err(refusal), is_trial),
                (Some(live), Ok(Some(object))) => self.hold(by, line, live.as_ref(), Ok(object), is_trial),
                _ => self.stage().tally().add(None),
            }
            if let (Ok(object), false) = (outcome, is_trial) {
                live = object.map(Some);
            }
        }
        self.live = after;
    }

    fn hold(
        &mut self,
        by: Option<&str>,
        line: &Line,
        before: Option<&Json>,
        outcome: Result<&Json, &Status>,
        dry_run: bool,
    ) {
        let Some(write) = line.write(before) else {
            self.stage().tally().add(None);
            return;
        };
        let began: Timestamp = line.text(&["requestReceivedTimestamp"]).parse().unwrap_or_default();
        let done = Done {
            resource: self.resource(),
            write: &write,
            before: if write.method == Method::Create { None } else { before },
            outcome,
            began: began.saturating_sub(SKEW).unwrap_or(began),
            dry_run,
        };
        let predicted = done.predict(self.stage()).unwrap_or_else(failed);
        let verdict = predicted.as_ref().map(|predicted| &predicted.verdict);
        self.stage().tally().add(verdict);
        let manager = Manager::Named(write.manager.clone());
        let what = step::told(write.method, &manager, write.subresource);
        let sentence = by.map_or_else(|| what.clone(), |by| format!("{by}: {what}"));
        if let Some(Verdict::Mismatch(difference)) = verdict {
            let refusal = outcome.err().map(answer::refused);
            let failure = Failure {
                scenario: self.title(),
                sentence: &sentence,
                problems: &[format!("predicted wrongly: {difference}")],
                live: before.unwrap_or(&Json::Null),
                request: &write.body,
                uri: line.text(&["requestURI"]),
                prediction: predicted.as_ref().map_or(&Json::Null, |predicted| &predicted.prediction),
                answer: outcome.ok().or(refusal.as_ref()).unwrap_or(&Json::Null),
                code: line.code(),
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

    /// The writes that led from one state of the subject to another and that nobody has taken note of yet, once the last one of
    /// them is written down.
    async fn unseen(&self, before: Option<&Json>, after: Option<&Json>) -> Vec<Line> {
        let (first, last) = (before.and_then(resource_version), after.and_then(resource_version));
        let is_between = |version: u64| {
            first.is_none_or(|first| version >= first) && last.is_none_or(|last| version <= last)
        };
        let end = Instant::now() + PATIENCE;
        loop {
            let audit = self.stage().control_plane().audit().unwrap_or_else(failed);
            let lines = audit.lines_since(self.mark).unwrap_or_else(failed);
            let mut found: Vec<_> = lines.into_iter().map(Line).collect();
            found.retain(|line| {
                line.writes_to(self.resource(), self.namespace(), self.name())
                    && !self.seen.contains(line.text(&["auditID"]))
                    && line.resource_version().is_none_or(is_between)
            });
            if last.is_none() || last == first || found.iter().any(|line| line.resource_version() == last) {
                return found;
            }
            assert!(
                Instant::now() < end,
                "{}: nobody is known to have written version {last:?}",
                self.title()
            );
            tokio::time::sleep(PAUSE).await;
        }
    }
}
