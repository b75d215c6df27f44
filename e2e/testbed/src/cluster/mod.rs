//! The cluster that a test runs on: a real control plane, or an API server inside this process. Tests that know no more than this
//! run on both.

mod embedded;

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use baton_apiserver::Actor;
use jiff::Timestamp;
use kube::Client;

pub use self::embedded::Embedded;
use crate::{AuditLog, ControlPlane, Error, Namespace, kubeconfig, namespace, proxy::Route};

/// When a server inside this process starts, by its own clock.
const START: Timestamp = Timestamp::constant(1_767_225_600, 0);

/// A cluster. Clones are the same.
#[derive(Clone, Debug)]
pub enum Cluster {
    /// A real control plane.
    Real(Arc<ControlPlane>),
    /// An API server inside this process, with actors in the place of controllers and nodes. It goes by tokio's clock, and so it
    /// can be used while time is paused.
    InProcess(Arc<Embedded>),
}

impl From<ControlPlane> for Cluster {
    fn from(control_plane: ControlPlane) -> Self {
        Self::Real(Arc::new(control_plane))
    }
}

impl Cluster {
    /// The [shared](ControlPlane::shared) control plane.
    ///
    /// # Panics
    /// When it can't be started.
    pub async fn shared() -> Self {
        Self::Real(ControlPlane::shared().await)
    }

    /// A new server inside this process. It starts at the same time of day as every other one.
    ///
    /// # Errors
    /// When it can't be started, which would be a bug of its crate.
    pub fn in_process() -> Result<Self, Error> {
        Self::with(START, Actor::all())
    }

    /// As [`in_process`](Self::in_process), at another time of day.
    ///
    /// # Errors
    /// As [`in_process`](Self::in_process).
    pub fn in_process_at(start: Timestamp) -> Result<Self, Error> {
        Self::with(start, Actor::all())
    }

    /// As [`in_process`](Self::in_process), without one of the controllers.
    ///
    /// # Errors
    /// As [`in_process`](Self::in_process).
    pub fn in_process_without(actor: Actor) -> Result<Self, Error> {
        Self::with(START, Actor::all().filter(|other| *other != actor))
    }

    fn with(start: Timestamp, actors: impl IntoIterator<Item = Actor>) -> Result<Self, Error> {
        static COUNT: AtomicUsize = AtomicUsize::new(1);
        let server = Embedded::start(COUNT.fetch_add(1, Ordering::Relaxed), start, actors)?;
        Ok(Self::InProcess(Arc::new(server)))
    }

    /// A cluster for one test, which changes the whole of it.
    ///
    /// # Errors
    /// When it can't be started.
    pub async fn alone(&self) -> Result<Self, Error> {
        match self {
            Self::Real(_) => ControlPlane::start().await.map(Self::from),
            Self::InProcess(_) => Self::in_process(),
        }
    }

    /// The control plane, for what only a real one has.
    ///
    /// # Panics
    /// On a server inside this process.
    pub fn real(&self) -> &ControlPlane {
        match self {
            Self::Real(control_plane) => control_plane,
            Self::InProcess(_) => panic!("this needs a real control plane"),
        }
    }

    /// A text that differs for each cluster.
    pub fn id(&self) -> String {
        match self {
            Self::Real(control_plane) => control_plane.url().to_owned(),
            Self::InProcess(server) => server.id(),
        }
    }

    /// A new client as administrator, for the current tokio runtime.
    ///
    /// # Errors
    /// When the kubeconfig can't be used.
    pub async fn admin(&self) -> Result<Client, Error> {
        match self {
            Self::Real(control_plane) => control_plane.admin().await,
            Self::InProcess(server) => Ok(server.client()),
        }
    }

    /// As [`admin`](Self::admin), with a client that sends each request once.
    pub(crate) async fn impatient(&self) -> Result<Client, Error> {
        match self {
            Self::Real(control_plane) => kubeconfig::impatient_client(control_plane.kubeconfig()).await,
            Self::InProcess(server) => Ok(server.client()),
        }
    }

    /// A new client, for the current tokio runtime, that is only the ServiceAccount `name` in `namespace`. The
    /// ServiceAccount has to exist.
    ///
    /// # Errors
    /// When it gets no token.
    pub async fn client_for(&self, namespace: &str, name: &str) -> Result<Client, Error> {
        match self {
            Self::Real(control_plane) => control_plane.client_for(namespace, name).await,
            Self::InProcess(server) => Ok(server.client_for(namespace, name, None)),
        }
    }

    /// As [`client_for`](Self::client_for), by way of a [proxy](crate::Proxy).
    ///
    /// # Errors
    /// As [`client_for`](Self::client_for).
    pub async fn client_by_way_of(
        &self,
        route: &Route,
        namespace: &str,
        name: &str,
    ) -> Result<Client, Error> {
        match (self, route) {
            (Self::InProcess(server), Route::Faults(faults)) => {
                Ok(server.client_for(namespace, name, Some(faults.clone())))
            }
            (_, Route::Url(url)) => self.real().client_by_way_of(url, namespace, name).await,
            (Self::Real(_), Route::Faults(_)) => panic!("the proxy belongs to another cluster"),
        }
    }

    /// The audit log: every request with its response.
    ///
    /// # Errors
    /// As [`ControlPlane::audit`].
    pub fn audit(&self) -> Result<AuditLog, Error> {
        match self {
            Self::Real(control_plane) => control_plane.audit(),
            Self::InProcess(server) => Ok(server.audit()),
        }
    }

    /// The time of day there.
    pub fn now(&self) -> Timestamp {
        match self {
            Self::Real(_) => Timestamp::now(),
            Self::InProcess(server) => server.now(),
        }
    }

    /// A namespace with a name that begins with `prefix` and is otherwise unique.
    ///
    /// # Errors
    /// When the server refuses it.
    pub async fn namespace(&self, prefix: &str) -> Result<Namespace, Error> {
        match self {
            Self::Real(control_plane) => control_plane.namespace(prefix).await,
            Self::InProcess(server) => {
                let name = namespace::create(server.client(), prefix).await?;
                Ok(Namespace::of_its_cluster(name))
            }
        }
    }
}
