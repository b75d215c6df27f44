//! Settings of the actors: readiness of pods, and loads.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use serde_json::Value;
use tokio::sync::watch;

/// The time at which pods become ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Readiness {
    /// As soon as they run.
    #[default]
    AtOnce,
    /// This long after their creation, in tokio's time.
    After(Duration),
    /// Never.
    Never,
}

/// The load of a workload's pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Load {
    /// All pods together use this many thousandths of a processor.
    Millicores(u32),
    /// Each pod uses this many percent of its CPU request. A container without a request has no usage, and the target isn't
    /// scaled.
    Percent(u32),
}

/// A workload: its namespace, kind and name.
pub(super) type Target = (String, String, String);

type Labels = BTreeMap<String, String>;

#[derive(Clone, Default)]
pub(crate) struct Settings {
    readiness: Readiness,
    /// Later entries take precedence.
    readiness_of: Vec<(Labels, Readiness)>,
    pub(super) loads: HashMap<Target, Load>,
}

impl Settings {
    pub(crate) fn set_load(&mut self, namespace: &str, kind: &str, name: &str, load: Option<Load>) {
        let target: Target = [namespace, kind, name].map(str::to_owned).into();
        match load {
            Some(load) => self.loads.insert(target, load),
            None => self.loads.remove(&target),
        };
    }

    /// When a pod with these labels becomes ready.
    pub(super) fn readiness(&self, labels: Option<&Value>) -> Readiness {
        let has = |(key, value): (&String, &String)| {
            labels.and_then(|labels| labels.get(key)).and_then(Value::as_str) == Some(value.as_str())
        };
        let own = self.readiness_of.iter().rev().find(|(wanted, _)| wanted.iter().all(has));
        own.map_or(self.readiness, |(_, readiness)| *readiness)
    }
}

/// Controls the pods of a server with [`Actor::Pods`](crate::Actor::Pods).
///
/// ```
/// # #[tokio::main]
/// # async fn main() -> Result<(), baton_apiserver::StartError> {
/// use std::time::Duration;
/// use baton_apiserver::{Actor, ApiServer, Readiness};
///
/// let server = ApiServer::builder().actors([Actor::Deployments, Actor::Pods]).start()?;
/// server.pods().set_readiness(Readiness::After(Duration::from_secs(20)));
/// server.pods().set_readiness_of([("app", "broken")], Readiness::Never);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Pods<'s> {
    settings: &'s watch::Sender<Settings>,
}

impl<'s> Pods<'s> {
    pub(crate) fn new(settings: &'s watch::Sender<Settings>) -> Self {
        Self { settings }
    }

    /// Sets when pods become ready from now on. Ready pods stay ready.
    pub fn set_readiness(&self, readiness: Readiness) {
        self.settings.send_modify(|settings| settings.readiness = readiness);
    }

    /// Sets when pods with these labels become ready. The latest setting that matches a pod counts.
    pub fn set_readiness_of<K: Into<String>, V: Into<String>>(
        &self,
        labels: impl IntoIterator<Item = (K, V)>,
        readiness: Readiness,
    ) {
        let labels: Labels = labels.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        self.settings.send_modify(|settings| {
            settings.readiness_of.retain(|(own, _)| *own != labels);
            settings.readiness_of.push((labels, readiness));
        });
    }
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings").field("readiness", &self.readiness).finish_non_exhaustive()
    }
}
