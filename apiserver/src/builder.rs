//! The server's builder and handle.

use std::{fmt, io, net::SocketAddr, sync::Arc};

use baton_merge::{Release, yaml};
use http::{
    HeaderValue, Method,
    header::{InvalidHeaderValue, USER_AGENT},
};
use jiff::Timestamp;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Client, CustomResourceExt};
use serde_json::{Value, json};

use crate::{
    actors::{self, Actor, Actors, Load, Pods},
    audit::Audit,
    faults::{Action, ClientName, Faults},
    http::Request,
    in_process::InProcess,
    initial,
    listen::{self, Serving},
    options::Query,
    paused::{self, Repeats},
    server::{Clock, Server},
};

/// An API server inside the process.
///
/// Clones are the same server. It lives as long as any of them, a client or an open watch does.
#[derive(Clone)]
pub struct ApiServer {
    server: Arc<Server>,
    faults: Arc<Faults>,
    repeats: Arc<Repeats>,
}

impl fmt::Debug for ApiServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiServer").field("version", &self.server.store.version()).finish_non_exhaustive()
    }
}

/// Settings and initial objects of a server.
pub struct Builder {
    objects: Vec<Value>,
    release: Release,
    clock: Clock,
    history_length: usize,
    repeat_limit: usize,
    actors: Vec<Actor>,
    audit: Option<Audit>,
    like: Option<ApiServer>,
}

/// A server can't start with these settings.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The text isn't YAML or JSON.
    #[error("can't read {what}: {source}")]
    Yaml {
        /// The document.
        what: String,
        /// The cause.
        #[source]
        source: yaml::Error,
    },
    /// The document isn't an object.
    #[error("{what} is no object: it needs `apiVersion` and `kind`")]
    NoObject {
        /// The document.
        what: String,
    },
    /// The server refuses an object.
    #[error("{kind} {name:?} is refused: {message}")]
    Refused {
        /// Its kind.
        kind: String,
        /// Its name.
        name: String,
        /// The server's message.
        message: String,
    },
    /// Actors are tokio tasks, and there is no tokio runtime.
    #[error("actors need a runtime of tokio: {0}")]
    NoRuntime(#[from] tokio::runtime::TryCurrentError),
}

/// The default number of changes of each resource that are kept for watches.
const HISTORY: usize = 10_000;

/// The default limit of repeats of a request while the clock stands still: more than tests need, and a few seconds of a
/// loop.
const REPEATS: usize = 5_000;

impl ApiServer {
    /// The release of Kubernetes whose kinds, defaults and validation every server has.
    pub const RELEASE: Release = Release::new(36, 3);

    /// A server with the built-in kinds of [that release](Self::RELEASE).
    pub fn builder() -> Builder {
        Builder {
            objects: Vec::new(),
            release: Self::RELEASE,
            clock: paused::clock(),
            history_length: HISTORY,
            repeat_limit: REPEATS,
            actors: Vec::new(),
            audit: None,
            like: None,
        }
    }

    /// A client that calls the server without a socket.
    ///
    /// # Panics
    /// Outside of a tokio runtime, which kube's client needs. The server itself needs none.
    pub fn client(&self) -> Client {
        Client::new(self.service(), "default")
    }

    /// A client that rules of [faults](crate::faults) know by this name, such as one of two replicas.
    ///
    /// # Panics
    /// As [`client`](Self::client).
    pub fn client_named(&self, name: &str) -> Client {
        let name = Some(ClientName(name.into()));
        Client::new(InProcess { name, ..self.service() }, "default")
    }

    /// A client that impersonates this user. With [`Actor::AccessControl`] it may do what the user's roles allow and
    /// nothing else, so that a test runs an operator with the permissions that it is shipped with:
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use baton_apiserver::{Actor, ApiServer};
    /// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// use kube::{Api, api::ListParams};
    ///
    /// // The manifests that install the operator have this, and more.
    /// let rbac = "
    /// apiVersion: rbac.authorization.k8s.io/v1
    /// kind: Role
    /// metadata: {name: caches, namespace: default}
    /// rules: [{apiGroups: [''], resources: [configmaps], verbs: [get, list, watch]}]
    /// ---
    /// apiVersion: rbac.authorization.k8s.io/v1
    /// kind: RoleBinding
    /// metadata: {name: caches, namespace: default}
    /// roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: caches}
    /// subjects: [{kind: ServiceAccount, name: operator, namespace: caches}]
    /// ";
    /// let server = ApiServer::builder().actor(Actor::AccessControl).load(rbac)?.start()?;
    /// let operator = server.client_as("system:serviceaccount:caches:operator")?;
    ///
    /// Api::<ConfigMap>::default_namespaced(operator.clone()).list(&ListParams::default()).await?;
    /// let refused = Api::<Secret>::default_namespaced(operator).list(&ListParams::default()).await.unwrap_err();
    /// assert!(refused.to_string().contains(r#""system:serviceaccount:caches:operator" cannot list resource "secrets""#));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the name isn't a valid header value.
    ///
    /// # Panics
    /// As [`client`](Self::client).
    pub fn client_as(&self, user: &str) -> Result<Client, InvalidHeaderValue> {
        let user = Some(HeaderValue::from_str(user)?);
        Ok(Client::new(InProcess { user, ..self.service() }, "default"))
    }

    fn service(&self) -> InProcess {
        let Self { server, faults, repeats } = self.clone();
        InProcess { server, faults, repeats, name: None, user: None }
    }

    /// The faults of requests, with [rules](Faults::set) that a test sets.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Controls pods, on a server with [`Actor::Pods`].
    pub fn pods(&self) -> Pods<'_> {
        Pods::new(&self.server.actors.settings)
    }

    /// Sets the load of a workload's pods, for [`Actor::Autoscaler`]. There are no metrics without a load, nor without
    /// running pods, which need [`Actor::Pods`] or a status that the test writes. The condition `ScalingActive` reports
    /// what is missing.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), baton_apiserver::StartError> {
    /// use baton_apiserver::{Actor, ApiServer, Load};
    ///
    /// let server = ApiServer::builder().actor(Actor::Autoscaler).start()?;
    /// server.set_load("default", "Deployment", "web", Load::Percent(90));
    /// server.set_load("default", "Deployment", "web", None);
    /// # Ok(())
    /// # }
    /// ```
    pub fn set_load(&self, namespace: &str, kind: &str, name: &str, load: impl Into<Option<Load>>) {
        let load = load.into();
        self.server.actors.settings.send_modify(|settings| settings.set_load(namespace, kind, name, load));
    }

    /// Restarts the server: all watches end. Without its history, as after a compaction, no watch can resume.
    pub fn restart(&self, keeps_history: bool) {
        if !keeps_history {
            self.server.store.forget_history();
        }
        self.faults.cut_watches();
    }

    /// Serves HTTP on an address. Use a loopback address: everyone who reaches it may do everything.
    ///
    /// # Errors
    /// When it can't listen on the address.
    pub async fn serve(&self, address: SocketAddr) -> io::Result<Serving> {
        listen::serve(self.service(), address).await
    }

    /// Creates objects, as `kubectl create` does.
    ///
    /// # Errors
    /// When the text can't be read, or the server refuses an object.
    pub fn load(&self, yaml: &str) -> Result<(), StartError> {
        documents(yaml)?.iter().try_for_each(|object| self.create(object, ""))
    }

    /// Creates the objects of every cluster.
    fn begin(&self) -> Result<(), StartError> {
        initial::store(&self.server);
        if self.server.actors.is_active(Actor::AccessControl) {
            let roles = documents(actors::rbac::BOOTSTRAP)?;
            roles.iter().try_for_each(|role| self.create(role, "kube-apiserver"))?;
        }
        Ok(())
    }

    fn create(&self, object: &Value, user_agent: &'static str) -> Result<(), StartError> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (kind, name) = (text(&object["kind"]), text(&object["metadata"]["name"]));
        let refused =
            |message: String| StartError::Refused { kind: kind.clone(), name: name.clone(), message };
        let api_version = text(&object["apiVersion"]);
        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
        let registry = self.server.registry();
        let resource = registry.of_kind(group, version, &kind);
        let resource =
            resource.ok_or_else(|| refused(format!("there is no such kind in {api_version:?}")))?;
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or("default");
        let path = actors::path_of(resource, namespace, "", "");
        let mut headers = http::HeaderMap::new();
        headers.insert(USER_AGENT, HeaderValue::from_static(user_agent));
        let request = Request {
            method: Method::POST,
            path,
            query: Query::of(Some("fieldValidation=Strict")),
            headers,
            body: object.to_string().into(),
        };
        let response = self.server.handle(&request);
        if response.code < 300 {
            return Ok(());
        }
        let status: Value =
            response.body.as_whole().and_then(|body| serde_json::from_slice(body).ok()).unwrap_or_default();
        Err(refused(text(&status["message"])))
    }
}

impl Builder {
    /// Adds a CRD, from its Rust type.
    #[must_use]
    pub fn crd<K: CustomResourceExt>(self) -> Self {
        self.crd_object(&K::crd())
    }

    /// Adds a CRD.
    #[must_use]
    pub fn crd_object(mut self, definition: &CustomResourceDefinition) -> Self {
        // The serialized type lacks `apiVersion` and `kind`.
        let mut object = serde_json::to_value(definition).unwrap_or_default();
        object["apiVersion"] = "apiextensions.k8s.io/v1".into();
        object["kind"] = "CustomResourceDefinition".into();
        self.objects.push(object);
        self
    }

    /// Adds the objects of a YAML text in their order, CRDs among them.
    ///
    /// # Errors
    /// When the text can't be read.
    pub fn load(mut self, yaml: &str) -> Result<Self, StartError> {
        self.objects.extend(documents(yaml)?);
        Ok(self)
    }

    /// Copies all objects of another server, in place of the initial ones. That is much faster than creating them, for
    /// tests that need many servers with the same objects.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use baton_apiserver::ApiServer;
    /// use k8s_openapi::api::core::v1::Namespace;
    /// use kube::Api;
    ///
    /// let first = ApiServer::builder().load("{apiVersion: v1, kind: Namespace, metadata: {name: shop}}")?.start()?;
    /// let second = ApiServer::builder().like(&first).start()?;
    /// Api::<Namespace>::all(first.client()).delete("shop", &Default::default()).await?;
    /// assert!(Api::<Namespace>::all(second.client()).get_opt("shop").await?.is_some());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn like(mut self, other: &ApiServer) -> Self {
        self.like = Some(other.clone());
        self
    }

    /// Sets the release whose merge rules apply. The kinds are the same for all releases.
    #[must_use]
    pub fn release(mut self, release: Release) -> Self {
        self.release = release;
        self
    }

    /// Sets the clock for timestamps in objects. The default is the system's clock or, if tokio's time is paused when the
    /// builder is made, one that advances with it. Timeouts of watches use tokio's time.
    #[must_use]
    pub fn clock(mut self, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        self.clock = Box::new(clock);
        self
    }

    /// Sets how many changes of each resource are kept. A watch from an earlier version gets 410.
    #[must_use]
    pub fn history(mut self, length: usize) -> Self {
        self.history_length = length;
        self
    }

    /// Sets how often a request may be repeated while tokio's paused time stands still; 5,000 by default.
    ///
    /// Paused time advances only when every task waits. A client that its own writes wake never waits, so no `sleep` and no
    /// `timeout` of a test would end. At the limit the client's task panics with the most frequent requests, and time goes
    /// on. Requests are the same if their method, path, field manager and client are. Without paused time there is no
    /// limit.
    #[must_use]
    pub fn repeat_limit(mut self, limit: usize) -> Self {
        self.repeat_limit = limit;
        self
    }

    /// Sets an audit log: `log` gets a line for each finished request and each started watch, an `audit.k8s.io/v1` Event as
    /// JSON. Writes have both bodies, except for secrets and tokens.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::sync::mpsc;
    /// use baton_apiserver::ApiServer;
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube::{Api, api::ListParams};
    ///
    /// let (log, lines) = mpsc::channel();
    /// let server = ApiServer::builder().audit(move |line| drop(log.send(line.to_owned()))).start()?;
    /// let pods: Api<Pod> = Api::default_namespaced(server.client());
    /// pods.list(&ListParams::default()).await?;
    /// assert!(lines.recv()?.contains(r#""verb":"list""#));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn audit(mut self, log: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.audit = Some(Box::new(log));
        self
    }

    /// Adds an actor. By default there is none.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), baton_apiserver::StartError> {
    /// use baton_apiserver::{Actor, ApiServer};
    ///
    /// let server = ApiServer::builder().actor(Actor::GarbageCollector).actor(Actor::Namespaces).start()?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn actor(self, actor: Actor) -> Self {
        self.actors([actor])
    }

    /// Adds several [actors](Self::actor), such as [all of them](Actor::all).
    #[must_use]
    pub fn actors(mut self, actors: impl IntoIterator<Item = Actor>) -> Self {
        self.actors.extend(actors);
        self
    }

    /// Starts the server.
    ///
    /// # Errors
    /// When an initial object is refused, or there are actors and no tokio runtime.
    pub fn start(self) -> Result<ApiServer, StartError> {
        let actors = Actors::new(self.actors);
        let server = Server::new(self.release, self.clock, self.history_length, actors, self.audit);
        let faults = Faults::new(|_| Action::Forward);
        let repeats = Arc::new(Repeats::new(self.repeat_limit));
        let server = ApiServer { server: Arc::new(server), faults: Arc::new(faults), repeats };
        match &self.like {
            Some(like) => server.server.become_like(&like.server),
            None => server.begin()?,
        }
        self.objects.iter().try_for_each(|object| server.create(object, ""))?;
        actors::start(&server.server)?;
        Ok(server)
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let objects = self.objects.len();
        f.debug_struct("Builder")
            .field("objects", &objects)
            .field("release", &self.release)
            .finish_non_exhaustive()
    }
}

/// The name of a document in messages.
fn document(position: usize) -> String {
    format!("document {}", position + 1)
}

/// The objects of a YAML text, with lists expanded.
fn documents(text: &str) -> Result<Vec<Value>, StartError> {
    let unread = |what: &str| {
        let what = what.to_owned();
        |source| StartError::Yaml { what, source }
    };
    let mut objects = Vec::new();
    for (position, one) in yaml::read_all(text).map_err(unread("the text"))?.into_iter().enumerate() {
        match one.to().map_err(unread(&document(position)))? {
            Value::Null => {}
            Value::Object(mut list) if list.get("kind") == Some(&json!("List")) => {
                if let Some(Value::Array(items)) = list.remove("items") {
                    objects.extend(items.into_iter().map(|item| (position, item)));
                }
            }
            object => objects.push((position, object)),
        }
    }
    let checked = objects.into_iter().map(|(position, object)| {
        let has = |name: &str| object[name].as_str().is_some_and(|text| !text.is_empty());
        if has("apiVersion") && has("kind") {
            Ok(object)
        } else {
            Err(StartError::NoObject { what: document(position) })
        }
    });
    checked.collect()
}
