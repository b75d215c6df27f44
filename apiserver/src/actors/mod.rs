//! Controllers, kubelets and admission plugins: the actors of a cluster besides its clients.
//!
//! By default none is active. All controllers run in one task, which follows the changes in the store and writes through
//! ordinary requests. It holds the server weakly, so that it ends with the server.

mod autoscaler;
mod budgets;
mod claim;
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

/// A component of the cluster besides the API server, such as a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Actor {
    /// RBAC: refuses what roles don't allow, prevents escalation, and aggregates `ClusterRoles`.
    /// [`ApiServer::client_as`](crate::ApiServer::client_as) makes a client with a user's permissions; a client without a
    /// user may do everything.
    AccessControl,
    /// Scales the targets of HorizontalPodAutoscalers, by the [loads](crate::ApiServer::set_load) that a test sets.
    Autoscaler,
    /// Binds PersistentVolumeClaims to volumes, and deletes unused claims and volumes. A claim without a class gets a
    /// volume as in a cluster with a default class; a claim whose class doesn't exist stays pending.
    Claims,
    /// Creates the ReplicaSets of Deployments and the pods of ReplicaSets, and writes their status.
    Deployments,
    /// Writes the status of PodDisruptionBudgets, which limits evictions.
    DisruptionBudgets,
    /// Deletes or orphans the dependents of deleted objects.
    GarbageCollector,
    /// Empties namespaces that are deleted.
    Namespaces,
    /// Binds pods to a node, runs them, makes them [ready](Pods), and stops deleted ones. With the `Claims` actor, pods
    /// wait for their claims.
    Pods,
    /// Refuses writes that exceed a ResourceQuota, and writes the status of quotas.
    Quotas,
    /// Creates the pods and claims of StatefulSets, one after another, and writes their status.
    StatefulSets,
}

/// An unknown name of an actor.
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

    /// All actors.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter()
    }

    /// The name on a command line.
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
    /// For an unknown name.
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
    active: Vec<Actor>,
    pub(crate) settings: watch::Sender<Settings>,
    /// Held from the check of the quotas until the object is stored.
    quotas: Mutex<()>,
    reported: missing::Reported,
}

impl Actors {
    pub(crate) fn new(mut active: Vec<Actor>) -> Self {
        active.sort();
        active.dedup();
        Self {
            active,
            settings: watch::Sender::default(),
            quotas: Mutex::default(),
            reported: Mutex::default(),
        }
    }

    pub(crate) fn is_active(&self, actor: Actor) -> bool {
        self.active.contains(&actor)
    }

    fn controllers(&self) -> Vec<Box<dyn Controller>> {
        self.active.iter().map(|actor| controller(*actor)).collect()
    }
}

/// The controller of an actor. Some do part of their work inside requests.
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

/// An actor that follows the changes in the store.
trait Controller: Send {
    /// The `User-Agent` of its requests.
    fn user_agent(&self) -> &'static str {
        "kube-controller-manager"
    }

    /// Reconciles. Called again after each change, also after its own.
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

/// Inputs of a controller's last pass.
#[derive(Default)]
struct Inputs {
    user_agent: &'static str,
    /// The resources that it listed, each with the version of its last change.
    listed: BTreeMap<String, u64>,
    /// Whether it read anything else, so that its inputs aren't known.
    asked: Cell<bool>,
    /// When it is due again, even without a change.
    wake: Option<Instant>,
}

impl Inputs {
    /// Whether all inputs are as they were, and no time is due.
    fn are_unchanged(&self, server: &Server, now: Instant) -> bool {
        !self.asked.get()
            && self.wake.is_none_or(|wake| wake > now)
            && self.listed.iter().all(|(resource, changed)| server.store.changed(resource) == *changed)
    }
}

/// The delay before a refused request is retried.
const RETRY: Duration = Duration::from_secs(1);

impl Pass<'_> {
    /// Requests a pass at this time, even without a change.
    fn wake_at(&mut self, at: Instant) {
        self.inputs.wake = Some(self.inputs.wake.map_or(at, |wake| wake.min(at)));
    }

    /// Requests a pass after a short delay.
    fn retry(&mut self) {
        self.wake_at(self.now + RETRY);
    }
}

/// Starts the controllers of a server.
///
/// # Errors
/// Without a tokio runtime.
pub(crate) fn start(server: &Arc<Server>) -> Result<(), tokio::runtime::TryCurrentError> {
    let controllers = server.actors.controllers();
    if !controllers.is_empty() {
        let changes = server.store.changes();
        let settings = server.actors.settings.subscribe();
        // The task ends with the server, and must not keep it alive.
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
        // Marked as seen before the pass, so that no change is missed.
        changes.mark_unchanged();
        has_new_settings |= settings.has_changed().unwrap_or(true);
        let current = settings.borrow_and_update().clone();
        let Some(server) = server.upgrade() else { return };
        let now = Instant::now();
        // A controller may depend on any kind.
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
        // Lets clients run, even while controllers have more to do.
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
