//! Writes that others send, such as kubectl or an autoscaler: found in the audit log, and held against what the merge core
//! predicts, like the scenario's own.

use std::time::{Duration, Instant};

use super::{
    Recorded, body,
    manager::Manager,
    predict::Done,
    scene::{Scene, failed},
    show::{self, Failure},
    stage::{PATIENCE, PAUSE},
};
use crate::{
    Mark,
    merge_diff::Json,
    query,
    transcripts::{Method, Owners, Resource, Write, judge::Verdict},
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
    fn resource_version(&self) -> Option<&Json> {
        self.0.at(&["responseObject", "metadata", "resourceVersion"])
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

impl Scene {
    /// Takes note of what others have written to the subject since the last step, and holds each write against its
    /// prediction. `by` tells who, in the sentence.
    pub(super) async fn take_note_of_others(&mut self, by: &str, since: Mark) {
        let (resource, name) = self.subject();
        let before = self.live.take();
        let after = self.read(&resource, &name).await;
        let lines = self.lines_up_to(since, before.as_ref(), after.as_ref()).await;
        let mut live = before;
        let count = lines.len();
        for (i, line) in lines.iter().enumerate() {
            let response = line.0.get("responseObject").cloned().unwrap_or(Json::Null);
            let is_whole = response.get("kind").and_then(Json::as_str) == Some(&resource.kind);
            let code = line.0.at(&["responseStatus", "code"]).map(Json::to_string).unwrap_or_default();
            let is_done = code.starts_with('2');
            let is_trial = line.query("dryRun").is_some();
            // A scale doesn't tell its parent: only what comes last can be read.
            let outcome = match (is_done, is_whole) {
                (true, true) => Some(response.clone()),
                (true, false) if i + 1 == count => after.clone(),
                _ => None,
            };
            self.hold(by, line, live.as_ref(), outcome.as_ref(), &response, is_trial);
            if is_done && !is_trial {
                live = outcome;
            }
        }
        self.live = after;
    }

    fn hold(
        &mut self,
        by: &str,
        line: &Line,
        before: Option<&Json>,
        outcome: Option<&Json>,
        response: &Json,
        dry_run: bool,
    ) {
        let uri = line.text(&["requestURI"]);
        let Some(write) = line.write(before) else {
            self.stage().tally().add(None);
            return;
        };
        let began = line.text(&["requestReceivedTimestamp"]).parse().unwrap_or_default();
        let status = serde_json::from_str::<kube::core::Status>(&response.to_string());
        let status = status.unwrap_or_else(|_| kube::core::Status::failure("", ""));
        let done = Done {
            resource: self.resource(),
            write: &write,
            before: if write.method == Method::Create { None } else { before },
            outcome: outcome.ok_or(&status),
            began: jiff::Timestamp::saturating_sub(began, SKEW).unwrap_or(began),
            dry_run,
        };
        let predicted = done.predict(self.stage()).unwrap_or_else(failed);
        let verdict = predicted.as_ref().map(|predicted| &predicted.verdict);
        self.stage().tally().add(verdict);
        let sentence = format!("{by}: {} as {}", write.label(), write.manager);
        if let Some(Verdict::Mismatch(difference)) = verdict {
            let failure = Failure {
                scenario: self.title(),
                sentence: &sentence,
                problems: &[format!("predicted wrongly: {difference}")],
                live: before.unwrap_or(&Json::Null),
                request: &write.body,
                uri,
                prediction: predicted.as_ref().map_or(&Json::Null, |predicted| &predicted.prediction),
                answer: outcome.unwrap_or(response),
                code: 0,
            };
            panic!("{}", show::failure(&failure));
        }
        let refusal = outcome.is_none().then(|| status.message.clone());
        let recorded = Recorded {
            sentence,
            sent: Some(write.body),
            refusal,
            before: before.cloned(),
            after: outcome.or(before).cloned(),
        };
        self.take_note_of(recorded);
    }

    /// The writes to the subject since a mark, once the last one of them is written down.
    async fn lines_up_to(&self, since: Mark, before: Option<&Json>, after: Option<&Json>) -> Vec<Line> {
        let version = |object: &Json| object.at(&["metadata", "resourceVersion"]).cloned();
        let last = after.and_then(version).filter(|last| before.and_then(version).as_ref() != Some(last));
        let end = Instant::now() + PATIENCE;
        loop {
            let audit = self.stage().control_plane().audit().unwrap_or_else(failed);
            let lines = audit.lines_since(since).unwrap_or_else(failed);
            let mut found: Vec<_> = lines.into_iter().map(Line).collect();
            found.retain(|line| line.writes_to(self.resource(), self.namespace(), self.name()));
            let is_last = |line: &Line| line.resource_version() == last.as_ref();
            if last.is_none() || found.iter().any(is_last) {
                return found;
            }
            assert!(Instant::now() < end, "{}: nobody is known to have written {last:?}", self.title());
            tokio::time::sleep(PAUSE).await;
        }
    }
}
