//! Fixed requests to both servers: bodies that are wrong, or unusual, in one way each. `cases/*.yaml` has them.
//!
//! [`run`](super::run) tests how writes work together, with bodies that are nearly always valid. These cases test what is refused,
//! with which message, and what is filled in.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use anyhow::Context as _;
use baton_merge::yaml;
use baton_testbed::{
    Error, Json, PATIENCE, poll,
    prediction::edit::{overlaid, remove},
    raw::{self, Request},
    wait_for,
};
use jiff::Timestamp;
use kube::Client;
use serde::Deserialize;

use super::{
    Findings,
    normal::Names,
    pair::{Pair, Response},
    played,
    requests::Asked,
    steps,
};

/// How long a CRD has to stay the same before it is settled.
const STILL: Duration = Duration::from_millis(100);
/// The finalizer of a CRD, which the server removes itself.
const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";
/// The reason of a real server whose cache of the objects didn't exist yet when it wanted to delete them. It retries with
/// increasing pauses.
const CLEANUP_FAILED: &str = "InstanceDeletionFailed";
/// How often a CRD is created until both servers have settled it in the same second.
const MOST_TRIES: usize = 30;
/// How long a CRD may take to settle.
const SETTLES: Duration = Duration::from_secs(5);

/// The files, in the order in which they are played.
const FILES: &[&str] = &[
    include_str!("cases/metadata.yaml"),
    include_str!("cases/core.yaml"),
    include_str!("cases/storage.yaml"),
    include_str!("cases/access.yaml"),
    include_str!("cases/networking.yaml"),
    include_str!("cases/workloads.yaml"),
    include_str!("cases/warnings.yaml"),
    include_str!("cases/crds.yaml"),
    include_str!("cases/custom.yaml"),
];

/// The wrong or unusual bodies of a kind.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    kind: String,
    #[serde(default)]
    group: String,
    version: String,
    plural: String,
    /// Whether its objects have no namespace.
    #[serde(default)]
    cluster: bool,
    /// A valid object.
    base: Json,
    /// The changes of it in creations.
    #[serde(default)]
    create: Vec<Json>,
    /// The changes of it in updates.
    #[serde(default)]
    update: Vec<Json>,
    /// The changes of it in updates of its status.
    #[serde(default)]
    status: Vec<Json>,
}

/// The object with values set at JSON pointers; null removes a value.
fn changed(object: &Json, change: &Json) -> Json {
    let mut object = object.clone();
    for (pointer, value) in change.members() {
        let place = pointer.split('/').skip(1).map(|name| name.replace("~1", "/").replace("~0", "~"));
        let place: Vec<_> = place.collect();
        if *value == Json::Null { remove(&mut object, &place) } else { put(&mut object, &place, value) }
    }
    object
}

fn put(json: &mut Json, place: &[String], value: &Json) {
    let Some((name, rest)) = place.split_first() else {
        *json = value.clone();
        return;
    };
    if let Json::List(items) = json {
        let position = name.parse().map_or(items.len(), |position: usize| position.min(items.len()));
        if position == items.len() {
            items.push(Json::object());
        }
        put(&mut items[position], rest, value);
    } else {
        put(json.entry(name), rest, value);
    }
}

/// Plays all cases of the kinds with this word in their name, and all sequences of `cases/steps.yaml` with it in theirs.
///
/// # Errors
/// When one of the servers can't be reached.
pub async fn run(pair: &mut Pair, word: &str, mut note: impl FnMut(&str)) -> anyhow::Result<Findings> {
    let mut findings = Findings::default();
    let mut namespaces = BTreeSet::new();
    let word = word.to_lowercase();
    for kind in all()?.iter().filter(|kind| kind.kind.to_lowercase().contains(&word)) {
        let before = (findings.compared, findings.differences.len());
        if !kind.cluster && namespaces.insert(kind.namespace()) {
            pair.open(&kind.namespace()).await?;
        }
        KindRun { pair, kind, findings: &mut findings, names: Default::default() }.all().await?;
        let (compared, differ) = (findings.compared - before.0, findings.differences.len() - before.1);
        note(&format!("{}: {compared} requests, {differ} differ", kind.kind));
    }
    steps::run(pair, &word, &mut findings).await?;
    Ok(findings)
}

/// All cases.
fn all() -> anyhow::Result<Vec<Cases>> {
    let mut all = Vec::new();
    for file in FILES {
        all.extend(yaml::from_str::<Vec<Cases>>(file).context("the cases can't be read")?);
    }
    Ok(all)
}

impl Cases {
    fn namespace(&self) -> String {
        format!("cases-{}", self.plural)
    }

    fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    fn collection(&self) -> String {
        let root = if self.group.is_empty() { "/api" } else { "/apis" };
        let within = if self.cluster { String::new() } else { format!("/namespaces/{}", self.namespace()) };
        format!("{root}/{}{within}/{}", self.api_version(), self.plural)
    }

    /// The base with its API version, kind and name.
    fn whole(&self) -> Json {
        let identity = Json::object()
            .with("apiVersion", self.api_version())
            .with("kind", self.kind.as_str())
            .with("metadata", Json::object().with("name", "web"));
        overlaid(&identity, &self.base)
    }

    /// The path of an object of this kind.
    fn path(&self, object: &Json) -> String {
        let name = object.at(&["metadata", "name"]).and_then(Json::as_str).unwrap_or_default();
        format!("{}/{name}", self.collection())
    }

    /// Whether controllers inside the real server write to it after a request.
    fn is_crd(&self) -> bool {
        self.kind == "CustomResourceDefinition"
    }
}

/// The cases of one kind being played.
struct KindRun<'p> {
    pair: &'p mut Pair,
    kind: &'p Cases,
    findings: &'p mut Findings,
    names: [Names; 2],
}

impl KindRun<'_> {
    async fn all(&mut self) -> anyhow::Result<()> {
        let (base, collection) = (self.kind.whole(), self.kind.collection());
        for case in &self.kind.create {
            let body = changed(&base, case);
            self.names = Default::default();
            if self.write("create", "POST", &collection, &body, case).await? {
                self.remove(&self.kind.path(&body)).await?;
            }
        }
        let object = self.kind.path(&base);
        let updates = self.kind.update.iter().map(|case| ("update", "", case));
        let updates: Vec<_> =
            updates.chain(self.kind.status.iter().map(|case| ("update status", "/status", case))).collect();
        let mut live = None;
        for (sort, subresource, case) in updates {
            let before = match live.take() {
                Some(live) => live,
                None => self.create(&base).await?,
            };
            let uri = format!("{object}{subresource}");
            if self.write(sort, "PUT", &uri, &changed(&before, case), case).await? {
                self.remove(&object).await?;
            } else {
                live = Some(before);
            }
        }
        self.remove(&object).await
    }

    /// Creates an object, and returns it as the real server stores it. Both servers are sent that later, so their controllers have to
    /// have written its conditions in the same second.
    async fn create(&mut self, base: &Json) -> anyhow::Result<Json> {
        let object = self.kind.path(base);
        for _ in 0..MOST_TRIES {
            self.names = Default::default();
            self.write("create", "POST", &self.kind.collection(), base, &Json::object()).await?;
            let [real, ours] = self.send("get", "GET", &object, "", &Json::object()).await?;
            if !self.kind.is_crd() || condition_times(&real.body) == condition_times(&ours.body) {
                return Ok(real.body);
            }
            self.remove(&object).await?;
        }
        anyhow::bail!("the conditions of {object} on the two servers never have the same times")
    }

    /// Sends a write, and reads the object. Returns whether a server accepted the write.
    async fn write(
        &mut self,
        sort: &str,
        method: &'static str,
        uri: &str,
        body: &Json,
        case: &Json,
    ) -> anyhow::Result<bool> {
        let [real, ours] = self.send(sort, method, uri, &body.to_string(), case).await?;
        if real.code >= 300 {
            return Ok(ours.code < 300);
        }
        let object = self.kind.path(body);
        if self.kind.is_crd() {
            for client in [&self.pair.real, &self.pair.ours] {
                settled(client, &object).await;
            }
        }
        self.send("get", "GET", &object, "", case).await?;
        Ok(true)
    }

    /// Sends a request to both servers, and notes how the responses differ.
    async fn send(
        &mut self,
        sort: &str,
        method: &'static str,
        uri: &str,
        body: &str,
        case: &Json,
    ) -> anyhow::Result<[Response; 2]> {
        let asked = Asked::plain(sort, method, uri, body);
        let (real, ours) = self.pair.send(&asked, &mut self.names).await?;
        let responses = [real.clone(), ours.clone()];
        let [real, ours] = [real, ours].map(|mut response| {
            hide_made_up(&mut response.body);
            response
        });
        let kind = &self.kind.kind;
        let excuse = |lines: &str| played::excuse(kind, false, &real, &ours, lines);
        let request = format!("{sort} {case}");
        self.findings.compare(&format!("{kind} {sort}"), [&real, &ours], kind, request, excuse);
        Ok(responses)
    }

    /// Removes the object, also if finalizers keep it.
    async fn remove(&mut self, object: &str) -> anyhow::Result<()> {
        for client in [&self.pair.real, &self.pair.ours] {
            request("DELETE", &format!("{object}?gracePeriodSeconds=0"), "").send(client).await?;
            wait_for(&format!("{object} being gone"), PATIENCE, async || {
                let Some(found) = raw::read(client, object).await? else { return Ok::<_, Error>(Ok(())) };
                if found.at(&["spec", "finalizers"]).is_some() {
                    let body = changed(&found, &Json::object().with("/spec/finalizers", Vec::new()));
                    request("PUT", &format!("{object}/finalize"), &body.to_string()).send(client).await?;
                } else if let text = found.to_string()
                    && (!text.contains(CLEANUP) || text.contains(CLEANUP_FAILED))
                {
                    let mut patch = request("PATCH", object, r#"{"metadata":{"finalizers":null}}"#);
                    patch.headers = vec![("content-type", "application/merge-patch+json".to_owned())];
                    patch.send(client).await?;
                }
                Ok(Err(found.to_string()))
            })
            .await?;
        }
        Ok(())
    }
}

fn request(method: &'static str, uri: &str, body: &str) -> Request {
    let headers = vec![("content-type", "application/json".to_owned())];
    Request { method, uri: uri.to_owned(), headers, body: body.to_owned() }
}

/// When each condition changed last, by its type.
fn condition_times(object: &Json) -> BTreeMap<String, Option<String>> {
    let Some(Json::List(conditions)) = object.at(&["status", "conditions"]) else { return BTreeMap::new() };
    let text = |condition: &Json, name| condition.get(name).and_then(Json::as_str).map(str::to_owned);
    let of = |condition| Some((text(condition, "type")?, text(condition, "lastTransitionTime")));
    conditions.iter().filter_map(of).collect()
}

/// Waits until the server's controllers have written the status of a CRD.
async fn settled(client: &Client, object: &str) {
    let mut last = None;
    let settles = poll(SETTLES, async || {
        let text = raw::read(client, object).await.map(|found| found.map(|found| found.to_string()));
        let text = text.ok().flatten().unwrap_or_default();
        let is_settled = text.contains(r#""type":"Established""#) && last.as_ref() == Some(&text);
        last = Some(text);
        tokio::time::sleep(STILL).await;
        if is_settled { Ok(()) } else { Err(()) }
    });
    // If that takes too long, the comparison shows it.
    settles.await.unwrap_or_default();
}

/// Replaces current times and unknown identifiers by placeholders. Other tests compare times.
pub(super) fn hide_made_up(json: &mut Json) {
    match json {
        Json::Object(members) => {
            for (name, value) in members {
                hide_uids(name);
                hide_made_up(value);
                // The server's controllers write them in any order, and the order of entries depends on their times.
                if let ("conditions" | "managedFields", Json::List(items)) = (name.as_str(), value) {
                    items.sort_by_key(|item| {
                        ["type", "manager", "subresource"].map(|name| item.get(name).map(ToString::to_string))
                    });
                }
            }
        }
        Json::List(items) => items.iter_mut().for_each(hide_made_up),
        Json::String(text) => {
            let now = Timestamp::now().as_second();
            let time = text.parse::<Timestamp>().map(Timestamp::as_second);
            if time.is_ok_and(|time| (now - 60..now + 7200).contains(&time)) {
                "<now>".clone_into(text);
            }
            hide_uids(text);
        }
        _ => {}
    }
}

pub(super) fn hide_uids(text: &mut String) {
    while let Some(found) = text.as_bytes().windows(UID).position(is_uid) {
        text.replace_range(found..found + UID, "<uid>");
    }
}

/// The length of a UUID.
const UID: usize = 36;

fn is_uid(bytes: &[u8]) -> bool {
    let is_part = |(place, byte): (usize, &u8)| match place {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    bytes.iter().enumerate().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_changes_the_values_at_its_pointers() {
        let json = |text: &str| text.parse::<Json>().unwrap();
        let base = json(r#"{"a":{"b":1,"c":2},"d":[{"e":1}]}"#);
        let case = json(r#"{"/a/b":null,"/d/0/e":2,"/d/1/f":3,"/g/h~1i":4}"#);
        assert_eq!(changed(&base, &case), json(r#"{"a":{"c":2},"d":[{"e":2},{"f":3}],"g":{"h/i":4}}"#));
    }

    #[test]
    fn every_case_has_only_pointers() {
        for kind in all().unwrap() {
            for case in kind.create.iter().chain(&kind.update).chain(&kind.status) {
                let are_pointers = case.members().iter().all(|(pointer, _)| pointer.starts_with('/'));
                assert!(are_pointers, "{}: {case}", kind.kind);
            }
        }
    }
}
