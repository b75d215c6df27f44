//! The two servers: a real one, and the one inside this process, whose clock follows the times in the real one's responses.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use anyhow::ensure;
use baton_apiserver::{Actor, ApiServer, Builder, Release};
use baton_merge::yaml;
use baton_testbed::{
    ControlPlane, Error, Json, PATIENCE, crd,
    raw::{self, Reply, Request},
    wait_for, workspace,
    writes::Kind,
};
use jiff::Timestamp;
use kube::Client;

use super::{normal::Names, requests::Asked};

/// The one controller that pods need, and none that writes to compared objects.
const CONTROLLERS: &str = "--controllers=serviceaccount-controller";
/// A time so much later than now isn't from the real server.
const NOT_NOW: i64 = 3600;

/// A real server and one inside this process.
pub struct Pair {
    control_plane: ControlPlane,
    pub(super) real: Client,
    pub(super) ours: Client,
    release: Release,
    /// The time of our server's clock, in seconds since 1970.
    clock: Arc<AtomicI64>,
    newest: i64,
}

impl Pair {
    /// Starts both, with the same custom resources.
    ///
    /// # Errors
    /// When one of them doesn't start.
    pub async fn start() -> anyhow::Result<Self> {
        let control_plane =
            ControlPlane::options().without_nodes().controller_manager_arg(CONTROLLERS).start().await?;
        let release: Release = control_plane.version().await?.parse()?;
        let clock = Arc::new(AtomicI64::new(Timestamp::now().as_second()));
        let server = server(release, &clock).start()?;
        for file in Kind::all().iter().filter_map(|kind| kind.crd.as_ref()) {
            let file = workspace().join(file);
            crd::install(&control_plane, &file).await?;
            server.load(&std::fs::read_to_string(&file)?)?;
        }
        let real = control_plane.admin().await?;
        let newest = Timestamp::now().as_second();
        Ok(Self { control_plane, real, ours: server.client(), release, clock, newest })
    }

    /// Replaces the server inside the process by an empty one with access control, and returns the client of the one before.
    pub(super) fn control_access(&mut self) -> anyhow::Result<Client> {
        let controlled = server(self.release, &self.clock).actor(Actor::AccessControl).start()?;
        Ok(std::mem::replace(&mut self.ours, controlled.client()))
    }

    /// Sends a read to each until it succeeds.
    pub(super) async fn until_it_succeeds(&self, asked: &Asked) -> anyhow::Result<()> {
        for client in [&self.real, &self.ours] {
            wait_for(&asked.uri, PATIENCE, async || {
                let reply = asked.request(&Names::default()).send(client).await?;
                Ok::<_, Error>(if reply.code < 300 { Ok(()) } else { Err(reply.text) })
            })
            .await?;
        }
        Ok(())
    }

    /// The folder of the real one, to inspect its files.
    pub fn dir(&self) -> &std::path::Path {
        self.control_plane.dir()
    }

    /// Creates a namespace on both, with the service account that pods need.
    pub(super) async fn open(&mut self, namespace: &str) -> anyhow::Result<()> {
        self.clock.store(Timestamp::now().as_second(), Ordering::Relaxed);
        let body = format!(r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{namespace}"}}}}"#);
        for client in [&self.real, &self.ours] {
            create(client, "/api/v1/namespaces", &body).await?;
        }
        // On the real server, a controller creates it.
        let accounts = format!("/api/v1/namespaces/{namespace}/serviceaccounts");
        let account = loop {
            if let Some(account) = raw::read(&self.real, &format!("{accounts}/default")).await? {
                break account;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        };
        let made = account.at(&["metadata", "creationTimestamp"]).and_then(Json::as_str).unwrap_or_default();
        // An object that was marked as deleted may have shown a later time: when its grace period ends.
        self.newest = made.parse::<Timestamp>()?.as_second();
        self.clock.store(self.newest, Ordering::Relaxed);
        let account = r#"{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"default"}}"#;
        create(&self.ours, &accounts, account).await
    }

    /// Sends a request to both. The responses have names instead of the values that each server generates.
    pub(super) async fn send(
        &mut self,
        asked: &Asked,
        names: &mut [Names; 2],
    ) -> anyhow::Result<(Response, Response)> {
        let real = asked.request(&names[0]).send(&self.real).await?;
        let shown = newest(&real.text).filter(|newest| *newest > self.newest);
        if let Some(newest) = shown {
            self.newest = newest;
        }
        // If the response shows no new time, a new time of ours must show in the comparison. A scale shows no time at all.
        let now = match shown {
            Some(newest) => newest,
            None if asked.hides_times() => Timestamp::now().as_second(),
            None if newest(&real.text) == Some(self.newest) => self.newest,
            None => Timestamp::now().as_second() + NOT_NOW,
        };
        let now = self.marked_at(asked).await?.unwrap_or(now);
        self.clock.store(now, Ordering::Relaxed);
        let ours = asked.request(&names[1]).send(&self.ours).await?;
        Ok((names[0].response(real), names[1].response(ours)))
    }

    /// Sends the same read to both, the real one first.
    pub(super) async fn read(&self, [real, ours]: [Request; 2]) -> anyhow::Result<[Reply; 2]> {
        let (real, ours) = futures::try_join!(real.send(&self.real), ours.send(&self.ours))?;
        Ok([real, ours])
    }

    /// When the real server marked an object as deleted, which not all responses show.
    async fn marked_at(&self, asked: &Asked) -> anyhow::Result<Option<i64>> {
        if asked.method != "DELETE" {
            return Ok(None);
        }
        // Not every object can be read.
        let reply = Request::get(asked.object.as_str()).send(&self.real).await?;
        let object = reply.text.parse::<Json>().ok().filter(|_| reply.code == 200);
        let marked =
            object.as_ref().and_then(|object| object.at(&["metadata", "deletionTimestamp"])?.as_str());
        Ok(marked.and_then(newest))
    }
}

fn server(release: Release, clock: &Arc<AtomicI64>) -> Builder {
    let clock = clock.clone();
    ApiServer::builder()
        .release(release)
        .clock(move || Timestamp::from_second(clock.load(Ordering::Relaxed)).unwrap_or_default())
}

async fn create(client: &Client, uri: &str, body: &str) -> anyhow::Result<()> {
    let headers = vec![("content-type", "application/json".to_owned())];
    let request = Request { method: "POST", uri: uri.to_owned(), headers, body: body.to_owned() };
    let reply = request.send(client).await?;
    ensure!(reply.code == 201, "{uri}: {}", reply.text);
    Ok(())
}

/// A response that can be compared.
#[derive(Clone, Debug)]
pub(super) struct Response {
    pub(super) code: u16,
    pub(super) warnings: Vec<String>,
    pub(super) content_type: String,
    pub(super) body: Json,
}

impl Names {
    pub(super) fn response(&mut self, reply: Reply) -> Response {
        let Reply { code, mut warnings, content_type, text, .. } = reply;
        let mut body = body(&content_type, &text).unwrap_or_else(|| Json::string(text.trim()));
        self.name(&mut body);
        warnings.sort();
        Response { code, warnings, content_type, body }
    }
}

/// Parses a body: JSON, YAML, or the events of a watch.
fn body(content_type: &str, text: &str) -> Option<Json> {
    if content_type == "application/yaml" {
        let json: serde_json::Value = yaml::from_str(text).ok()?;
        return json.to_string().parse().ok();
    }
    if let Ok(json) = text.parse() {
        return Some(json);
    }
    let event = |line: &str| {
        let mut event: Json = line.parse().ok()?;
        // A bookmark has the version of the whole server.
        if event.get("type").and_then(Json::as_str) == Some("BOOKMARK") {
            forget_versions(&mut event);
        }
        Some(event)
    };
    // The others are sent about once a second.
    let is_timed = |line: &&str| line.contains(r#""BOOKMARK""#) && !line.contains("initial-events-end");
    Some(Json::List(text.lines().filter(|line| !is_timed(line)).map(event).collect::<Option<_>>()?))
}

fn forget_versions(json: &mut Json) {
    json.take("resourceVersion");
    match json {
        Json::Object(members) => members.iter_mut().for_each(|(_, value)| forget_versions(value)),
        Json::List(items) => items.iter_mut().for_each(forget_versions),
        _ => {}
    }
}

/// The newest time in a text that is at most a minute from now.
fn newest(text: &str) -> Option<i64> {
    let now = Timestamp::now().as_second();
    let times = text.split('"').filter(|part| part.len() == 20 && part.ends_with('Z'));
    let times = times.filter_map(|part| part.parse::<Timestamp>().ok()).map(Timestamp::as_second);
    times.filter(|time| (now - 60..=now + 60).contains(time)).max()
}
