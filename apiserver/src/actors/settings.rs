//! What a test sets for the actors: whether pods become ready, and how busy they are.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use serde_json::Value;
use tokio::sync::watch;

/// When pods become ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Readiness {
    /// As soon as they run.
    #[default]
    AtOnce,
    /// So long after they were made, in tokio's time.
    After(Duration),
    /// Not at all.
    Never,
}

/// How busy the pods of a workload are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Load {
    /// All pods together use so many thousandths of a processor, however many they are.
    Millicores(u32),
    /// Each pod uses so many percent of the CPU that it requests, however many they are. A container without a request has no
    /// such usage, and the target isn't scaled.
    Percent(u32),
}

/// A workload: its namespace, kind and name.
pub(super) type Target = (String, String, String);

type Labels = BTreeMap<String, String>;

/// The settings of the actors.
#[derive(Clone, Default)]
pub(crate) struct Settings {
    readiness: Readiness,
    /// The latest come last.
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

/// How the pods of a server with [`Actor::Pods`](crate::Actor::Pods) fare.
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

    /// When pods become ready from now on. Those that are ready stay so.
    pub fn set_readiness(&self, readiness: Readiness) {
        self.settings.send_modify(|settings| settings.readiness = readiness);
    }

    /// When pods with these labels become ready. What is set later counts, where several are set for a pod.
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
