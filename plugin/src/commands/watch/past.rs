//! The past of an object, from Events and audit logs.

use std::{
    fs::File,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    time::Duration,
};

use baton_apply::{ApiError, LiveObject, Target, with_timeout};
use jiff::Timestamp;
use k8s_openapi::api::{core::v1::ObjectReference, events::v1::Event};
use kube::{Api, ResourceExt as _, api::ListParams};
use serde::Deserialize;
use serde_json::Value as Json;

use super::{Line, Watched};
use crate::{cluster::Connection, error::CommandError, manifest::ManifestError};

/// The Events about an object, the oldest first.
pub(super) async fn of_events(
    connection: &Connection,
    live: &LiveObject,
    since: Duration,
) -> Result<Vec<Line>, CommandError> {
    let first = Timestamp::now() - since;
    let namespace = live.namespace().unwrap_or_else(|| "default".to_owned());
    let api: Api<Event> = Api::namespaced(connection.client.clone(), &namespace);
    let events = with_timeout(connection.limit(), api.list(&ListParams::default())).await;
    let events = events.map_err(|error: ApiError| connection.failed("list the Events", error))?;
    let kind = live.get(&["kind"]).and_then(Json::as_str);
    let is_it = |reference: &ObjectReference| match &reference.uid {
        Some(uid) => Some(uid) == live.uid().as_ref(),
        None => reference.kind.as_deref() == kind && reference.name.as_deref() == Some(&live.name_any()),
    };
    let mut lines: Vec<(Timestamp, Line)> = events
        .into_iter()
        .filter(|event| [&event.regarding, &event.related].into_iter().flatten().any(is_it))
        .filter_map(|event| {
            let time = last_time(&event).filter(|time| *time >= first)?;
            let reporter = event.reporting_controller.unwrap_or_default();
            let [reason, note] = [event.reason, event.note].map(Option::unwrap_or_default);
            let note = format!("{reporter}: {reason}: {note}");
            Some((time, Line::note(super::at(time), note)))
        })
        .collect();
    lines.sort_by_key(|(time, _)| *time);
    Ok(lines.into_iter().map(|(_, line)| line).collect())
}

fn last_time(event: &Event) -> Option<Timestamp> {
    let repeated = event.series.as_ref().map(|series| series.last_observed_time.0);
    let once = event.event_time.as_ref().map(|time| time.0);
    let old = event.deprecated_last_timestamp.as_ref().map(|time| time.0);
    repeated.or(once).or(old)
}

/// An entry of an audit log, in the version `audit.k8s.io/v1`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AuditEvent {
    stage: String,
    verb: String,
    stage_timestamp: String,
    user: Option<User>,
    object_ref: Option<ObjectRef>,
    response_object: Option<Json>,
}

#[derive(Deserialize)]
struct User {
    username: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ObjectRef {
    resource: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
    api_group: Option<String>,
}

impl AuditEvent {
    /// Whether it is a write of the object that has ended.
    fn is_about(&self, target: &Target) -> bool {
        let reads = ["get", "list", "watch"];
        let is_it = |about: &ObjectRef| {
            about.resource.as_deref() == Some(&target.resource.plural)
                && about.api_group.as_deref().unwrap_or_default() == target.resource.group
                && about.namespace == target.namespace
                && about.name.as_deref() == Some(&target.name)
        };
        self.stage == "ResponseComplete"
            && !reads.contains(&self.verb.as_str())
            && self.object_ref.as_ref().is_some_and(is_it)
    }
}

/// The entries of audit logs about an object: changes of owners if the policy records responses, or else the users that wrote.
pub(super) fn of_audit_logs(
    files: &[PathBuf],
    target: &Target,
    watched: &Watched<'_>,
) -> Result<Vec<Line>, CommandError> {
    let (mut lines, mut last) = (Vec::new(), None);
    for file in files {
        of_audit_log(file, target, watched, &mut last, &mut lines)
            .map_err(|source| ManifestError::Read { path: file.display().to_string(), source })?;
    }
    Ok(lines)
}

fn of_audit_log(
    file: &Path,
    target: &Target,
    watched: &Watched<'_>,
    last: &mut Option<LiveObject>,
    lines: &mut Vec<Line>,
) -> std::io::Result<()> {
    for text in BufReader::new(File::open(file)?).lines() {
        // A line that was cut off, or another kind of entry.
        let Ok(event) = serde_json::from_str::<AuditEvent>(&text?) else { continue };
        if !event.is_about(target) {
            continue;
        }
        let time = event.stage_timestamp.clone();
        let time = time.parse().map_or(time, super::at);
        // The response to a write of a subresource is another kind.
        let object = event.response_object.filter(|object| object["kind"] == *target.resource.kind);
        match object.and_then(|object| LiveObject::from_json(object).ok()) {
            Some(object) => {
                if let Some(before) = last.as_ref() {
                    lines.extend(watched.moves(before, &object, &time));
                }
                *last = Some(object);
            }
            None => {
                let user = event.user.and_then(|user| user.username).unwrap_or_default();
                let note = format!("{user}: {} (the log has no object)", event.verb);
                lines.push(Line::note(time, note));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use kube::core::ApiResource;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_audit_log_has_changes_of_owners_and_the_user_of_a_write_without_a_recorded_object() {
        let object = |manager: &str, replicas: i32| {
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": replicas}, "metadata": {
                "name": "web", "namespace": "shop", "managedFields": [{
                    "manager": manager, "operation": "Apply", "apiVersion": "apps/v1", "time": "2026-01-02T03:04:05Z",
                    "fieldsV1": {"f:spec": {"f:replicas": {}}},
                }],
            }})
        };
        let entry = |verb: &str, name: &str, object: Json| {
            json!({
                "kind": "Event", "stage": "ResponseComplete", "verb": verb, "stageTimestamp": "2026-01-02T03:04:06.5Z",
                "user": {"username": "ann"}, "responseObject": object,
                "objectRef": {"resource": "deployments", "namespace": "shop", "name": name, "apiGroup": "apps"},
            })
        };
        let mut file = tempfile::NamedTempFile::new().unwrap();
        for entry in [
            entry("patch", "web", object("ci", 1)),
            entry("patch", "other", object("ops", 1)),
            entry("get", "web", object("ops", 1)),
            entry("patch", "web", Json::Null),
            entry("patch", "web", object("hpa", 2)),
        ] {
            writeln!(file, "{entry}").unwrap();
        }
        writeln!(file, "{{\"kind\": \"Ev").unwrap();
        let kind = ApiResource::erase::<k8s_openapi::api::apps::v1::Deployment>(&());
        let target = Target::new(kind, Some("shop".to_owned()), "web");
        let lines = of_audit_logs(&[file.path().to_owned()], &target, &Watched(None)).unwrap();
        let lines: Vec<Json> = lines.iter().map(|line| serde_json::to_value(line).unwrap()).collect();
        assert_eq!(
            lines[0],
            json!({"time": "2026-01-02T03:04:07Z", "note": "ann: patch (the log has no object)"})
        );
        let shown = |pointer: &str| lines[1].pointer(pointer).cloned();
        assert_eq!(shown("/path"), Some(json!(".spec.replicas")));
        assert_eq!(
            (shown("/lost/0/manager"), shown("/gained/0/manager")),
            (Some(json!("ci")), Some(json!("hpa")))
        );
        assert_eq!((shown("/old"), shown("/new")), (Some(json!("1")), Some(json!("2"))));
        assert_eq!(lines.len(), 2);
    }
}
