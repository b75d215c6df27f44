//! The events of watches during a sequence, on both servers.

use std::time::Duration;

use baton_testbed::Json;
use http_body_util::BodyExt as _;
use kube::{Client, client::Body};
use tokio::{sync::mpsc, task::AbortHandle};

use super::{
    normal::{Names, compare},
    pair::Pair,
};

/// How long to wait for an event that the other server has delivered.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long to wait for more events than the other server's.
const GRACE: Duration = Duration::from_millis(50);

/// The same watch on both servers.
pub(super) struct Watches {
    real: Watch,
    ours: Watch,
}

struct Watch {
    events: mpsc::UnboundedReceiver<String>,
    task: AbortHandle,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Watches {
    pub(super) async fn open(pair: &Pair, list_uri: &str) -> anyhow::Result<Self> {
        Ok(Self {
            real: Watch::open(&pair.real, list_uri).await?,
            ours: Watch::open(&pair.ours, list_uri).await?,
        })
    }

    /// The difference.
    pub(super) async fn difference(mut self, mut names: [Names; 2]) -> Option<String> {
        let ours = self.ours.all(0).await;
        let real = self.real.all(ours.len()).await;
        let mut lines = Vec::new();
        let all_named = |names: &mut Names, events: Vec<String>| {
            let parsed = events.iter().map(|line| {
                let mut json: Json = line.parse().unwrap_or_else(|_| Json::string(line.as_str()));
                names.name(&mut json);
                json
            });
            Json::List(parsed.collect())
        };
        let (real, ours) = (all_named(&mut names[0], real), all_named(&mut names[1], ours));
        compare(&real, &ours, "", &mut lines);
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

impl Watch {
    async fn open(client: &Client, list_uri: &str) -> anyhow::Result<Self> {
        let request = http::Request::get(format!("{list_uri}&watch=true")).body(Body::empty())?;
        let mut body = client.send(request).await?.into_body();
        let (sender, events) = mpsc::unbounded_channel();
        let task = tokio::spawn(async move {
            let mut rest = Vec::new();
            while let Some(Ok(frame)) = body.frame().await {
                rest.extend_from_slice(&frame.into_data().unwrap_or_default());
                while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                    let line: Vec<u8> = rest.drain(..=end).collect();
                    if sender.send(String::from_utf8_lossy(&line).trim().to_owned()).is_err() {
                        return;
                    }
                }
            }
        });
        Ok(Self { events, task: task.abort_handle() })
    }

    /// All events so far, at least so many.
    async fn all(&mut self, least: usize) -> Vec<String> {
        let mut events = Vec::new();
        loop {
            let patience = if events.len() < least { PATIENCE } else { GRACE };
            match tokio::time::timeout(patience, self.events.recv()).await {
                Ok(Some(event)) => events.push(event),
                _ => return events,
            }
        }
    }
}
