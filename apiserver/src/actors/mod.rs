//! Who else is in a cluster: the controllers, the kubelets and the admission plugins that clients see the work of.
//!
//! None acts unless a test asks for it. The controllers are one task, which goes by the changes in the store and writes with
//! requests of its own. It knows the server only weakly, so that it ends with it.

mod autoscaler;
mod budgets;
mod claims;
mod client;
mod deployments;
mod garbage;
mod missing;
mod namespaces;
pub(crate) mod object;
mod pods;
mod quotas;
pub(crate) mod rbac;
mod settings;
mod settled;
mod stateful_sets;
mod view;

use std::{
    cell::Cell,
    collections::BTreeMap,
    fmt,
    str::FromStr,
    sync::{Arc, Mutex, Weak},
    time::Duration,
};

use tokio::{
    runtime::Handle,
    sync::watch,
    time::{Instant, sleep_until},
};

pub use self::settings::{Load, Pods, Readiness};
use self::view::View;
pub(crate) use self::{client::path_of, quotas::admit, settings::Settings};
use crate::server::Server;

/// What acts in a cluster besides its clients, such as a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Actor {
    /// Refuses what the roles in the server don't allow, and that users grant more than they have; makes roles of
    /// others as their `aggregationRule` says. [`ApiServer::client_as`](crate::ApiServer::client_as) is a client with the
    /// permissions of a user; a client that is nobody may do everything.
    AccessControl,
    /// Scales the targets of HorizontalPodAutoscalers, by [loads](crate::ApiServer::set_load) that a test sets.
    Autoscaler,
    /// Gives PersistentVolumeClaims their volumes, and lets both go that nothing uses any more. A claim without a class gets
    /// a volume as in a cluster with a default class; one of a class that isn't there stays pending.
    Claims,
    /// Makes the ReplicaSets of Deployments and the pods of ReplicaSets, and writes their status.
    Deployments,
    /// Writes the status of PodDisruptionBudgets, which evictions go by.
    DisruptionBudgets,
    /// Deletes what has lost its owners, and waits for dependents or orphans them.
    GarbageCollector,
    /// Empties namespaces that are deleted.
    Namespaces,
    /// Binds pods to a node, lets them run and become [ready](Pods), and ends those that are deleted. With the claims' actor,
    /// pods wait for their claims.
    Pods,
    /// Refuses what a ResourceQuota has no room for, and writes the status of quotas.
    Quotas,
    /// Makes the pods and claims of StatefulSets, one after another, and writes their status.
    StatefulSets,
}

/// A text that names no actor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no actor {0:?}: there are {names}, all and none", names = Actor::ALL.map(Actor::name).join(", "))]
pub struct UnknownActor(String);

impl Actor {
    const ALL: [Self; 10] = [
        Self::AccessControl,
        Self::Autoscaler,
        Self::Claims,
        Self::Deployments,
        Self::DisruptionBudgets,
        Self::GarbageCollector,
        Self::Namespaces,
        Self::Pods,
        Self::Quotas,
        Self::StatefulSets,
    ];

    /// All there are.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter()
    }

    /// The name, as a command line has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::AccessControl => "access-control",
            Self::Autoscaler => "autoscaler",
            Self::Claims => "claims",
            Self::Deployments => "deployments",
            Self::DisruptionBudgets => "disruption-budgets",
            Self::GarbageCollector => "garbage-collector",
            Self::Namespaces => "namespaces",
            Self::Pods => "pods",
            Self::Quotas => "quotas",
            Self::StatefulSets => "stateful-sets",
        }
    }

    /// The actors of a list such as `deployments,pods`, of `all` or of `none`.
    ///
    /// # Errors
    /// When it has another name in it.
    pub fn list(text: &str) -> Result<Vec<Self>, UnknownActor> {
        match text {
            "all" => Ok(Self::ALL.into()),
            "none" | "" => Ok(Vec::new()),
            names => names.split(',').map(str::parse).collect(),
        }
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Actor {
    type Err = UnknownActor;

    fn from_str(text: &str) -> Result<Self, UnknownActor> {
        let name = text.trim();
        Self::all().find(|actor| actor.name() == name).ok_or_else(|| UnknownActor(name.to_owned()))
    }
}

/// The actors of a server, and how tests control them.
pub(crate) struct Actors {
    playing: Vec<Actor>,
    pub(crate) settings: watch::Sender<Settings>,
    /// Held while a write is weighed against the quotas and stored.
    quotas: Mutex<()>,
    reported: missing::Reported,
}

impl Actors {
    pub(crate) fn new(mut playing: Vec<Actor>) -> Self {
        playing.sort();
        playing.dedup();
        Self {
            playing,
            settings: watch::Sender::default(),
            quotas: Mutex::default(),
            reported: Mutex::default(),
        }
    }

    pub(crate) fn play(&self, actor: Actor) -> bool {
        self.playing.contains(&actor)
    }

    fn controllers(&self) -> Vec<Box<dyn Controller>> {
        self.playing.iter().map(|actor| controller(*actor)).collect()
    }
}

/// The controller that plays an actor, as far as requests don't.
fn controller(actor: Actor) -> Box<dyn Controller> {
    match actor {
        Actor::AccessControl => Box::new(rbac::Aggregation),
        Actor::Autoscaler => Box::new(autoscaler::Autoscaler::default()),
        Actor::Claims => Box::new(claims::Claims),
        Actor::Deployments => Box::new(deployments::Deployments::default()),
        Actor::DisruptionBudgets => Box::new(budgets::DisruptionBudgets),
        Actor::GarbageCollector => Box::new(garbage::GarbageCollector),
        Actor::Namespaces => Box::new(namespaces::Namespaces),
        Actor::Pods => Box::new(pods::Kubelet::default()),
        Actor::Quotas => Box::new(quotas::Quotas),
        Actor::StatefulSets => Box::new(stateful_sets::StatefulSets::default()),
    }
}

/// An actor that goes by the changes in the store.
trait Controller: Send {
    /// Who writes, as its requests say it.
    fn user_agent(&self) -> &'static str {
        "kube-controller-manager"
    }

    /// Brings what there is closer to what is wanted. It is called again after each change, its own ones too.
    fn act(&mut self, pass: &mut Pass<'_>);
}

/// One pass over all objects.
struct Pass<'p> {
    server: &'p Arc<Server>,
    view: &'p mut View,
    settings: Settings,
    now: Instant,
    inputs: &'p mut Inputs,
}

/// What a controller went by the last time that it acted.
#[derive(Default)]
struct Inputs {
    user_agent: &'static str,
    /// The resources that it has listed, and when they had changed last.
    listed: BTreeMap<String, u64>,
    /// Whether it has asked for more than that.
    asked: Cell<bool>,
    /// When it wants to act again, even without a change.
    wake: Option<Instant>,
}

impl Inputs {
    /// Whether there is nothing new for the controller.
    fn are_unchanged(&self, server: &Server, now: Instant) -> bool {
        !self.asked.get()
            && self.wake.is_none_or(|wake| wake > now)
            && self.listed.iter().all(|(resource, changed)| server.store.changed(resource) == *changed)
    }
}

/// When to try again what the server refused.
const RETRY: Duration = Duration::from_secs(1);

impl Pass<'_> {
    /// Requests another pass at a time, even without a change until then.
    fn wake_at(&mut self, at: Instant) {
        self.inputs.wake = Some(self.inputs.wake.map_or(at, |wake| wake.min(at)));
    }

    /// Asks for another pass soon.
    fn retry(&mut self) {
        self.wake_at(self.now + RETRY);
    }
}

/// Starts the controllers of a server.
///
/// # Errors
/// When there is no runtime of tokio for them.
pub(crate) fn start(server: &Arc<Server>) -> Result<(), tokio::runtime::TryCurrentError> {
    let controllers = server.actors.controllers();
    if !controllers.is_empty() {
        let changes = server.store.changes();
        let settings = server.actors.settings.subscribe();
        // It ends when the server does, which it must not keep alive.
        drop(Handle::try_current()?.spawn(run(Arc::downgrade(server), changes, settings, controllers)));
    }
    Ok(())
}

async fn run(
    server: Weak<Server>,
    mut changes: watch::Receiver<u64>,
    mut settings: watch::Receiver<Settings>,
    mut controllers: Vec<Box<dyn Controller>>,
) {
    let mut view = View::default();
    let mut inputs: Vec<Inputs> = controllers.iter().map(|_| Inputs::default()).collect();
    let (mut kinds, mut has_new_settings) = (None, false);
    loop {
        // Marked as seen before looking, so that nothing is missed in between.
        changes.mark_unchanged();
        has_new_settings |= settings.has_changed().unwrap_or(true);
        let current = settings.borrow_and_update().clone();
        let Some(server) = server.upgrade() else { return };
        let now = Instant::now();
        // A controller may go by any kind that there is.
        let registry = server.registry();
        let has_kinds = kinds.replace(registry.clone()).is_some_and(|kinds| Arc::ptr_eq(&kinds, &registry));
        for (controller, inputs) in controllers.iter_mut().zip(&mut inputs) {
            if has_kinds && !has_new_settings && inputs.are_unchanged(&server, now) {
                continue;
            }
            *inputs = Inputs { user_agent: controller.user_agent(), ..Inputs::default() };
            controller.act(&mut Pass {
                server: &server,
                view: &mut view,
                settings: current.clone(),
                now,
                inputs,
            });
        }
        has_new_settings = false;
        let wake = inputs.iter().filter_map(|inputs| inputs.wake).min();
        drop(server);
        // Clients have their turn, even while there is more to do.
        tokio::task::yield_now().await;
        tokio::select! {
            biased;
            ended = changes.changed() => if ended.is_err() { return },
            ended = settings.changed() => {
                has_new_settings = true;
                if ended.is_err() { return }
            }
            () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actors_are_named_in_a_list() {
        assert_eq!(Actor::list("pods,deployments").unwrap(), [Actor::Pods, Actor::Deployments]);
        assert_eq!(Actor::list("all").unwrap(), Actor::ALL);
        assert_eq!(Actor::list("none").unwrap(), []);
        let error = Actor::list("pods,scheduler").unwrap_err().to_string();
        assert!(error.starts_with("there is no actor \"scheduler\": there are access-control, "), "{error}");
    }
}
