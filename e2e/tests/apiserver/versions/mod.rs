//! Kinds that are served in two versions: a real server and the one inside a process get the same requests, and send the same
//! responses.

mod autoscalers;
mod events;

use anyhow::{Context as _, Result, ensure};
use baton_apiserver::{ApiServer, Release};
use baton_testbed::{ControlPlane, raw::Request};
use kube::Client;
use serde_json::{Value, json};

const JSON: &str = "application/json";
const APPLY: &str = "application/apply-patch+yaml";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const JSON_PATCH: &str = "application/json-patch+json";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const PARTIAL: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";

/// No controller that writes to compared objects.
const CONTROLLERS: &str =
    "--controllers=namespace-controller,serviceaccount-controller,node-lifecycle-controller";

/// A request: its method, its path, the media type that it sends or accepts, and its body.
type Step = (&'static str, String, &'static str, Value);

fn get(path: impl Into<String>) -> Step {
    ("GET", path.into(), JSON, Value::Null)
}

fn get_as(form: &'static str, path: impl Into<String>) -> Step {
    ("GET", path.into(), form, Value::Null)
}

fn write(method: &'static str, path: &str, manager: &str, body: Value) -> Step {
    (method, path_of(path, manager), JSON, body)
}

fn path_of(path: &str, manager: &str) -> String {
    let separator = if path.contains('?') { '&' } else { '?' };
    format!("{path}{separator}fieldManager={manager}")
}

fn patch(sort: &'static str, path: &str, manager: &str, body: Value) -> Step {
    ("PATCH", path_of(path, manager), sort, body)
}

fn delete(path: &str, options: Value) -> Step {
    ("DELETE", path.to_owned(), JSON, options)
}

/// Sends the requests to both servers, in a namespace of their own, and compares the responses.
async fn same_responses(steps: Vec<Step>) -> Result<()> {
    let control_plane = ControlPlane::options().controller_manager_arg(CONTROLLERS).start().await?;
    let release: Release = control_plane.version().await?.parse()?;
    let (real, ours) =
        (control_plane.admin().await?, ApiServer::builder().release(release).start()?.client());
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "versions"}});
    for client in [&real, &ours] {
        let (_, response) =
            response(client, &write("POST", "/api/v1/namespaces", "test", namespace.clone())).await?;
        ensure!(response.contains("versions"), "{response}");
    }
    let mut differences = Vec::new();
    for step in &steps {
        let (expected, found) = (response(&real, step).await?, response(&ours, step).await?);
        if expected != found {
            let (method, path, _, body) = step;
            let lines = similar::TextDiff::from_lines(&expected.1, &found.1);
            let lines = lines.unified_diff().context_radius(2).to_string();
            differences.push(format!("{method} {path} {body}\n{:?} {:?}\n{lines}", expected.0, found.0));
        }
    }
    ensure!(differences.is_empty(), "{}", differences.join("\n\n"));
    Ok(())
}

/// The code and the warnings, and the body without the values that each server generates.
async fn response(client: &Client, step: &Step) -> Result<((u16, Vec<String>), String)> {
    let (method, uri, form, body) = step;
    let header = if *method == "GET" { "accept" } else { "content-type" };
    let request = Request {
        method,
        uri: uri.clone(),
        headers: vec![(header, (*form).to_owned())],
        body: if body.is_null() { String::new() } else { body.to_string() },
    };
    let reply = request.send(client).await?;
    let mut text = String::new();
    // The response to a watch has one event a line.
    for line in reply.text.lines() {
        let mut json: Value = serde_json::from_str(line).with_context(|| reply.text.clone())?;
        strip(&mut json);
        text += &serde_json::to_string_pretty(&json)?;
        text.push('\n');
    }
    Ok(((reply.code, reply.warnings), text))
}

/// Removes the values that each server generates, and those that depend on the time of the request.
fn strip(json: &mut Value) {
    const GENERATED: [&str; 4] = ["uid", "resourceVersion", "creationTimestamp", "time"];
    const AGES: [&str; 3] = ["Age", "Last Seen", "First Seen"];

    let columns = json["columnDefinitions"].as_array().cloned().unwrap_or_default();
    if let Some(rows) = json.get_mut("rows").and_then(Value::as_array_mut) {
        for cells in rows.iter_mut().filter_map(|row| row["cells"].as_array_mut()) {
            let ages =
                cells.iter_mut().zip(&columns).filter(|(_, column)| AGES.contains(&text(column, "name")));
            ages.for_each(|(cell, _)| *cell = Value::Null);
        }
    }
    // The message about a failed precondition has the live value.
    if let Some((before, _)) = text(json, "message").split_once("in record (") {
        json["message"] = before.into();
    }
    strip_members(json, &GENERATED);
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

fn strip_members(json: &mut Value, names: &[&str]) {
    match json {
        Value::Object(members) => {
            members.retain(|name, _| !names.contains(&name.as_str()));
            members.values_mut().for_each(|value| strip_members(value, names));
            // The servers sort them by time, which differs between them.
            if let Some(entries) = members.get_mut("managedFields").and_then(Value::as_array_mut) {
                entries.sort_by_cached_key(Value::to_string);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| strip_members(item, names)),
        _ => {}
    }
}

/// Reads the object, its list, its first event in a watch and its rows.
fn reads(collection: &str, name: &str) -> Vec<Step> {
    let one = format!("{collection}/{name}");
    let watch = format!("{collection}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name={name}");
    vec![
        get(&one),
        get_as(TABLE, &one),
        get_as(TABLE, format!("{one}?includeObject=Object")),
        get_as(PARTIAL, &one),
        get(collection),
        get(watch),
    ]
}
