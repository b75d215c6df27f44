//! The server: its state, and the dispatch of requests.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use baton_merge::Release;
use bytes::Bytes;
use http::Method;
use jiff::Timestamp;

use crate::{
    actors::{Actors, rbac},
    audit::{self, Audit},
    discover,
    http::{Body, Endpoint, FORMATS, Format, Media, Request, Response, STREAMS},
    options::{Query, has_valid_escapes},
    read,
    registry::{Registry, Resource},
    service_allocation::Allocated,
    status::Failure,
    store::{Key, Store},
    write,
};

/// The largest body, as on the real server.
pub(crate) const MAX_BODY: usize = 3 * 1024 * 1024;

/// The source of timestamps.
pub(crate) type Clock = Box<dyn Fn() -> Timestamp + Send + Sync>;

pub(crate) struct Server {
    pub(crate) store: Store,
    registry: RwLock<Arc<Registry>>,
    pub(crate) release: Release,
    pub(crate) actors: Actors,
    clock: Clock,
    audit: Option<Audit>,
    allocation: Mutex<()>,
    /// The addresses and ports of Services.
    pub(crate) services: Mutex<Allocated>,
    definitions: Mutex<()>,
}

/// The object or the collection in a request's path.
#[derive(Clone)]
pub(crate) struct RequestTarget {
    pub(crate) resource: Arc<Resource>,
    /// Empty for all namespaces, and for cluster-scoped resources.
    pub(crate) namespace: String,
    /// Empty for a collection.
    pub(crate) name: String,
    pub(crate) subresource: String,
}

impl RequestTarget {
    pub(crate) fn key(&self) -> Key {
        Key { namespace: self.namespace.clone(), name: self.name.clone() }
    }
}

impl Server {
    pub(crate) fn new(
        release: Release,
        clock: Clock,
        history_length: usize,
        actors: Actors,
        audit: Option<Audit>,
    ) -> Self {
        Self {
            store: Store::new(history_length),
            registry: RwLock::new(Arc::new(Registry::default())),
            release,
            actors,
            clock,
            audit,
            allocation: Mutex::new(()),
            services: Mutex::default(),
            definitions: Mutex::new(()),
        }
    }

    /// Copies all objects and CRDs of another server.
    pub(crate) fn become_like(&self, other: &Self) {
        self.store.become_like(&other.store);
        *self.registry.write().unwrap_or_else(PoisonError::into_inner) = other.registry();
    }

    /// Serializes the allocation of cluster IPs and node ports.
    pub(crate) fn allocates(&self) -> MutexGuard<'_, ()> {
        self.allocation.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    pub(crate) fn registry(&self) -> Arc<Registry> {
        self.registry.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Serializes changes of the served custom resources.
    pub(crate) fn serves_definitions(&self) -> MutexGuard<'_, ()> {
        self.definitions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_registry(&self, registry: Registry) {
        *self.registry.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(registry);
    }

    /// Responds to a request, without waiting.
    pub(crate) fn handle(self: &Arc<Self>, request: &Request) -> Response {
        let response = self.route(request).unwrap_or_else(|failure| Response::failure(&failure));
        let mut response = if response.code < 300 {
            response
        } else {
            response.in_format(Media::of_failure(request.accept()))
        };
        if request.method == Method::HEAD {
            response.body = Body::whole(Bytes::new());
        }
        if let Some(audit) = &self.audit {
            audit(&audit::event(self, request, &response).to_string());
        }
        response
    }

    fn route(self: &Arc<Self>, request: &Request) -> Result<Response, Failure> {
        if !has_valid_escapes(&request.path) {
            return Ok(Response::plain(400, "400 Bad Request"));
        }
        rbac::User::check_impersonation(request)?;
        rbac::check(self, request)?;
        if let Some(response) = discover::respond(self, request)? {
            return Ok(response);
        }
        let target = match self.target(&request.path) {
            // Only the handlers of built-in resources respond with a `Status`.
            Err(_) if !Registry::is_built_in(&request.path) => {
                return Ok(Response::plain(404, "404 page not found\n"));
            }
            target => target?,
        };
        let response = self.at(request, &target).and_then(|response| {
            let is_done = response.code < 300;
            Ok(if is_done { response.in_format(media(request, &target)?.format) } else { response })
        });
        let mut response = response.unwrap_or_else(|failure| Response::failure(&failure));
        // A missing subresource has no warning.
        if target.subresource.is_empty() || target.resource.subresource(&target.subresource).is_some() {
            response.warnings.extend(target.resource.deprecation());
        }
        Ok(response)
    }

    fn at(self: &Arc<Self>, request: &Request, target: &RequestTarget) -> Result<Response, Failure> {
        if request.method == Method::HEAD && !target.resource.is_custom() {
            return Err(Failure::method_not_allowed());
        }
        check_name(&target.name)?;
        match (&request.method, target.name.is_empty(), target.subresource.as_str()) {
            (_, _, subresource) if !subresource.is_empty() => self.at_subresource(request, target),
            (&Method::GET | &Method::HEAD, true, _) => {
                let verb = if is_watch(&request.query) { "watch" } else { "list" };
                allowed(target, verb)?;
                read::collection(self, request, target)
            }
            (&Method::GET | &Method::HEAD, false, _) => {
                allowed(target, "get")?;
                read::one(self, request, target)
            }
            (&Method::POST, true, _) => {
                allowed(target, "create")?;
                if target.resource.namespaced
                    && !target.resource.is_custom()
                    && !request.path.contains("/namespaces/")
                {
                    return Err(Failure::method_not_allowed());
                }
                match rbac::review(self, request, target)? {
                    Some(response) => Ok(response),
                    None if target.resource.is("", "Binding") => write::bind(self, request, target),
                    None => write::create(self, request, target),
                }
            }
            (&Method::PUT, false, _) => {
                allowed(target, "update")?;
                write::update(self, request, target)
            }
            (&Method::PATCH, false, _) => {
                allowed(target, "patch")?;
                write::patch(self, request, target)
            }
            (&Method::DELETE, false, _) => {
                allowed(target, "delete")?;
                write::delete(self, request, target)
            }
            (&Method::DELETE, true, _) => {
                allowed(target, "deletecollection")?;
                write::delete_collection(self, request, target)
            }
            (&Method::PUT | &Method::PATCH, true, _) if target.resource.is_custom() => {
                if request.method == Method::PATCH {
                    write::check_patch_type(request, target)?;
                }
                Err(Failure::bad_request("name must be provided"))
            }
            _ if target.resource.is_custom() => Err(Failure::unsupported_method(&target.resource, "")),
            _ => Err(Failure::method_not_allowed()),
        }
    }

    fn at_subresource(
        self: &Arc<Self>,
        request: &Request,
        target: &RequestTarget,
    ) -> Result<Response, Failure> {
        let verb = match request.method {
            Method::GET | Method::HEAD => "get",
            Method::PUT => "update",
            Method::PATCH => "patch",
            Method::POST => "create",
            Method::DELETE => "delete",
            _ => return Err(Failure::method_not_allowed()),
        };
        let Some(subresource) = target.resource.subresource(&target.subresource) else {
            let RequestTarget { resource, name, .. } = target;
            return Err(if resource.is_custom() {
                Failure::not_found(resource, name)
            } else {
                Failure::no_such_path()
            });
        };
        if !subresource.verbs.iter().any(|own| own == verb) {
            return Err(Failure::method_not_allowed());
        }
        match (target.subresource.as_str(), verb) {
            ("status" | "scale" | "finalize" | "ephemeralcontainers" | "resize" | "approval", "get") => {
                read::one(self, request, target)
            }
            ("status" | "scale" | "finalize" | "ephemeralcontainers" | "resize" | "approval", "update") => {
                write::update(self, request, target)
            }
            ("status" | "scale" | "ephemeralcontainers" | "resize" | "approval", "patch") => {
                write::patch(self, request, target)
            }
            ("eviction", "create") => write::evict(self, request, target),
            ("binding", "create") => write::bind(self, request, target),
            (name, _) => {
                let message =
                    format!("{name} of {} isn't implemented by this server", target.resource.qualified());
                Err(Failure::new(501, "NotImplemented", message))
            }
        }
    }

    /// The target in a path.
    fn target(&self, path: &str) -> Result<RequestTarget, Failure> {
        let path = path.strip_prefix('/').unwrap_or_default();
        let parts: Vec<&str> = path.strip_suffix('/').unwrap_or(path).split('/').collect();
        let (group, version, rest) = match parts.as_slice() {
            ["api", version, rest @ ..] => ("", *version, rest),
            ["apis", group, version, rest @ ..] => (*group, *version, rest),
            _ => return Err(Failure::no_such_path()),
        };
        let registry = self.registry();
        let (namespace, rest) = match rest {
            // The namespace itself, and its subresources.
            ["namespaces", _] | ["namespaces", _, "status" | "finalize"] => ("", rest),
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
            _ => ("", rest),
        };
        let [plural, rest @ ..] = rest else { return Err(Failure::no_such_path()) };
        let resource = registry.resource(group, version, plural).ok_or_else(Failure::no_such_path)?;
        let (name, subresource) = match rest {
            [] => ("", String::new()),
            [name] => (*name, String::new()),
            [name, subresource @ ..] => (*name, subresource.join("/")),
        };
        let is_at_home =
            namespace.is_empty() != resource.namespaced || name.is_empty() && namespace.is_empty();
        if parts.contains(&"namespaces") && namespace.is_empty() && resource.namespaced && !name.is_empty() {
            return Err(Failure::bad_request("Namespace parameter required."));
        }
        if !is_at_home || rest.iter().any(|part| part.is_empty()) {
            return Err(Failure::no_such_path());
        }
        let unescaped = |text: &str| percent_decoded(text);
        Ok(RequestTarget {
            resource: resource.clone(),
            namespace: unescaped(namespace),
            name: unescaped(name),
            subresource,
        })
    }
}

fn is_watch(query: &Query) -> bool {
    query.flag("watch").unwrap_or(false)
}

fn allowed(target: &RequestTarget, verb: &str) -> Result<(), Failure> {
    if target.resource.allows(verb) { Ok(()) } else { Err(Failure::method_not_allowed()) }
}

/// A segment of a path, unescaped. Bytes that aren't UTF-8 stay escaped.
pub(crate) fn percent_decoded(text: &str) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    // In a path, a plus sign isn't a space.
    let escaped = text.replace('+', "%2B");
    form_urlencoded::parse(format!("={escaped}").as_bytes())
        .next()
        .map_or_else(String::new, |(_, value)| value.into_owned())
}

/// Refuses names that could be path segments.
fn check_name(name: &str) -> Result<(), Failure> {
    let why = match name {
        "." => "may not be '.'",
        ".." => "may not be '..'",
        _ if name.contains('/') => return Err(Failure::no_such_path()),
        _ if name.contains('%') => "may not contain '%'",
        _ => return Ok(()),
    };
    Err(Failure::bad_request(format!("Name parameter invalid: {name:?}: {why}")))
}

/// The form and format of a response.
pub(crate) fn media(request: &Request, target: &RequestTarget) -> Result<Media, Failure> {
    let is_list = request.method == Method::GET && target.name.is_empty();
    if !target.resource.is_custom() {
        let streams = if is_list { STREAMS.as_slice() } else { &[] };
        Media::check_routed(request.accept(), &[FORMATS.as_slice(), streams].concat())?;
    }
    let media = Media::accepted(request.accept(), Endpoint::Objects)?;
    if is_list && media.format == Format::Yaml && is_watch(&request.query) {
        return Err(Failure::not_acceptable(&STREAMS.join(", ")));
    }
    Ok(media)
}
