//! Writes objects of one cluster by the write protocol.

use std::{fmt::Debug, sync::Arc, time::Duration};

use jiff::Timestamp;
use kube::{
    Api, Client, Resource as _, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, Preconditions},
    core::ApiResource,
};
use serde::Serialize;
use serde_json::Value;

use crate::{
    ApiError, Change, Comparison, DryRun, Guard, LiveObject, Misuse, Outcome, PreparedWrite, Request,
    SchemaCache, Schemas, Target, Tries, bounded, leftovers::MOST_BEFORE,
};

/// Gets the outcome of each write, for metrics and logs.
pub trait Observer: Send + Sync {
    /// A write, or a dry run of it, ended with this outcome.
    fn ended(&self, write: &PreparedWrite, dry_run: DryRun, outcome: &Outcome);
}

/// Observes nothing.
impl Observer for () {
    fn ended(&self, _: &PreparedWrite, _: DryRun, _: &Outcome) {}
}

/// How an intent is applied.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// The field manager.
    pub manager: &'a str,
    /// Whether it takes over fields of other managers. A controller sets this: it has no user to ask about a conflict.
    pub force: bool,
    /// Whether the server refuses it if the object has changed since it was read, even if nothing can be predicted, and after any
    /// number of tries.
    pub guarded: bool,
    /// Whether it is sent even if it certainly changes nothing. Set it from time to time, to find a wrong prediction.
    pub always_send: bool,
    /// The subresource that it is applied to, such as `status`; absent for the object itself.
    pub subresource: Option<&'static str>,
    /// How often the object had changed since it was read.
    pub tries: Tries,
}

impl<'a> Options<'a> {
    /// A forced apply as this field manager.
    pub fn forced(manager: &'a str) -> Self {
        Self {
            manager,
            force: true,
            guarded: false,
            always_send: false,
            subresource: None,
            tries: Tries::default(),
        }
    }
}

/// Predicts, sends and compares. Clones share everything.
#[derive(Clone)]
pub struct Applier {
    client: Client,
    limit: Duration,
    /// Absent if nothing is predicted.
    schemas: Option<SchemaCache>,
    observer: Arc<dyn Observer>,
    clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    /// The managers by which the program writes besides.
    own_managers: Arc<[String]>,
}

impl Applier {
    /// An applier that gives each request this long. Without schemas it predicts nothing, and sends everything.
    pub fn new(client: Client, schemas: Option<SchemaCache>, limit: Duration) -> Self {
        let (observer, clock) = (Arc::new(()), Arc::new(Timestamp::now));
        Self { client, limit, schemas, observer, clock, own_managers: Arc::default() }
    }

    /// The same, with an observer of how each write ends.
    #[must_use]
    pub fn observed_by(self, observer: impl Observer + 'static) -> Self {
        Self { observer: Arc::new(observer), ..self }
    }

    /// The same, with another clock than the system's, for the times that are predicted in `managedFields`.
    #[must_use]
    pub fn with_clock(self, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self { clock: Arc::new(clock), ..self }
    }

    /// The same, for a program that also writes as these managers, such as a [temporary one](crate::ownership::hand_over): what it takes
    /// from them isn't in [`Effects::takeovers`](crate::Effects::takeovers).
    #[must_use]
    pub fn writing_as<'m>(self, managers: impl IntoIterator<Item = &'m str>) -> Self {
        Self { own_managers: managers.into_iter().map(str::to_owned).collect(), ..self }
    }

    /// The schemas as they are now.
    pub fn schemas(&self) -> Arc<Schemas> {
        self.schemas.as_ref().map(SchemaCache::current).unwrap_or_default()
    }

    /// Waits until the schemas have been read once, or couldn't be read. It never returns unless
    /// [`SchemaCache::keep_current`] runs.
    pub async fn ready(&self) {
        if let Some(schemas) = &self.schemas {
            schemas.ready().await;
        }
    }

    /// Applies an intent: all that the manager wants to own, with the kind, name and namespace of the object. `live` is the
    /// object as it was read last, with its `managedFields`; `None` if there was none. If there is one after all, nothing is
    /// written, and the outcome is [`Stale`](Outcome::Stale).
    ///
    /// An apply that changes nothing isn't sent. An object is changed only if it is still the one that was read.
    pub async fn apply(
        &self,
        resource: &ApiResource,
        live: Option<&LiveObject>,
        intent: Value,
        options: Options<'_>,
    ) -> Outcome {
        self.write(request(resource, live, intent, options), live, options.always_send, options.tries).await
    }

    /// Makes any write of an object, by the same protocol. If [leftover defaults](crate::leftovers) contradict an apply, other
    /// writes come before it; if nothing is left to send after them, the outcome is that of the last one.
    pub async fn write(
        &self,
        mut request: Request,
        live: Option<&LiveObject>,
        always_send: bool,
        tries: Tries,
    ) -> Outcome {
        let (mut live, schemas) = (of_its_kind(live, &request.target), self.schemas());
        let (mut before, mut last) = (0, Outcome::Skipped);
        loop {
            let write = if before < MOST_BEFORE {
                schemas.prepare(request.clone(), live.as_ref(), tries, (self.clock)())
            } else {
                schemas.prepare_itself(request.clone(), live.as_ref(), tries, (self.clock)())
            };
            if !write.comes_before() {
                return match self.send_if_needed(&write, live.as_ref(), always_send).await {
                    Outcome::Skipped => last,
                    outcome => outcome,
                };
            }
            before += 1;
            last = self.perform(&write, live.as_ref(), DryRun::No).await;
            let Outcome::Stored { object, .. } = &last else { return last };
            if request.requires_unchanged() {
                request.require_unchanged(object);
            }
            live = Some(object.clone());
        }
    }

    async fn send_if_needed(
        &self,
        write: &PreparedWrite,
        live: Option<&LiveObject>,
        always_send: bool,
    ) -> Outcome {
        if write.is_noop() && !always_send {
            self.observer.ended(write, DryRun::No, &Outcome::Skipped);
            return Outcome::Skipped;
        }
        self.perform(write, live, DryRun::No).await
    }

    /// Has the server try an apply without storing it, and compares its response with the prediction. If another write has to
    /// come first, that one is tried.
    pub async fn dry_run(
        &self,
        resource: &ApiResource,
        live: Option<&LiveObject>,
        intent: Value,
        options: Options<'_>,
    ) -> Outcome {
        let request = request(resource, live, intent, options);
        let live = of_its_kind(live, &request.target);
        let write = self.schemas().prepare(request, live.as_ref(), options.tries, (self.clock)());
        self.perform(&write, live.as_ref(), DryRun::Yes).await
    }

    /// Sends a prepared write and returns how it ended.
    pub async fn perform(
        &self,
        write: &PreparedWrite,
        live: Option<&LiveObject>,
        dry_run: DryRun,
    ) -> Outcome {
        let response = match Misuse::of(&write.request, live) {
            Ok(()) => {
                self.send(&write.request, dry_run).await.map_err(|error| error.explained(&write.request))
            }
            Err(misuse) => Err(misuse.into()),
        };
        let mut outcome = self.schemas().settle(write, live, response, dry_run);
        if let Outcome::Stored { effects, .. } = &mut outcome {
            effects.takeovers.retain(|takeover| !self.own_managers.contains(&takeover.manager));
        }
        self.note(write, dry_run, &outcome);
        outcome
    }

    /// Reports an outcome to the observer, and has the schemas refreshed if a prediction was wrong. For code that calls
    /// [`Schemas::settle`] itself.
    pub fn note(&self, write: &PreparedWrite, dry_run: DryRun, outcome: &Outcome) {
        self.observer.ended(write, dry_run, outcome);
        if let (Outcome::Stored { comparison: Some(Comparison::Mismatch(_)), .. }, Some(schemas)) =
            (outcome, &self.schemas)
        {
            schemas.refresh_soon();
        }
    }

    /// Reads an object from the server; `None` if there is none.
    ///
    /// # Errors
    /// When the request fails.
    pub async fn read(&self, target: &Target) -> Result<Option<LiveObject>, ApiError> {
        bounded(self.limit, self.api(target).get_opt(&target.name)).await
    }

    /// Sends a request. The response is the object afterwards; `None` if it is gone.
    ///
    /// # Errors
    /// When the request fails.
    pub async fn send(&self, request: &Request, dry_run: DryRun) -> Result<Option<LiveObject>, ApiError> {
        let Request { target, change } = request;
        let dry_run = dry_run == DryRun::Yes;
        match change {
            Change::Apply { body, manager, force } => {
                let params = PatchParams { dry_run, force: *force, ..PatchParams::apply(manager) };
                self.patch(target, &params, &Patch::Apply(body)).await
            }
            Change::Patch { operations, manager } => {
                let field_manager = Some(manager.clone().into_owned());
                let params = PatchParams { dry_run, field_manager, ..PatchParams::default() };
                self.patch(target, &params, &Patch::Json::<()>(operations.clone())).await
            }
            Change::Delete(revision) => {
                let preconditions = Preconditions {
                    uid: Some(revision.uid.clone()),
                    resource_version: Some(revision.resource_version.clone()),
                };
                let params =
                    DeleteParams { dry_run, ..DeleteParams::background().preconditions(preconditions) };
                match bounded(self.limit, self.api(target).delete(&target.name, &params)).await {
                    Ok(deleted) => Ok(deleted.left().filter(lives_on)),
                    Err(error) if error.is_not_found() => Ok(None),
                    Err(error) => Err(error),
                }
            }
        }
    }

    async fn patch<P: Serialize + Debug>(
        &self,
        target: &Target,
        params: &PatchParams,
        patch: &Patch<P>,
    ) -> Result<Option<LiveObject>, ApiError> {
        let (api, name) = (self.api(target), &target.name);
        bounded(self.limit, async {
            match target.subresource {
                None => api.patch(name, params, patch).await,
                Some(subresource) => api.patch_subresource(subresource, name, params, patch).await,
            }
        })
        .await
        .map(Some)
    }

    fn api(&self, target: &Target) -> Api<LiveObject> {
        match &target.namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &target.resource),
            None => Api::all_with(self.client.clone(), &target.resource),
        }
    }
}

/// Whether an object that a deletion returned still exists: a finalizer keeps it, in a namespace one of its spec, or its grace
/// period runs. Where it is gone, the server returns it as it was, or as marked without grace.
fn lives_on(deleted: &LiveObject) -> bool {
    let has_time = || deleted.meta().deletion_grace_period_seconds.is_some_and(|seconds| seconds > 0);
    let spec_keeps_it = || {
        let finalizers = deleted.get(&["spec", "finalizers"]).and_then(Value::as_array);
        finalizers.is_some_and(|finalizers| !finalizers.is_empty())
    };
    !deleted.finalizers().is_empty() || (deleted.is_terminating() && (has_time() || spec_keeps_it()))
}

fn of_its_kind(live: Option<&LiveObject>, target: &Target) -> Option<LiveObject> {
    let mut live = live?.clone();
    live.fill_in_kind(&target.resource);
    Some(live)
}

fn request(
    resource: &ApiResource,
    live: Option<&LiveObject>,
    intent: Value,
    options: Options<'_>,
) -> Request {
    let text = |member: &str| intent["metadata"][member].as_str().map(str::to_owned);
    let target = Target::new(resource.clone(), text("namespace"), text("name").unwrap_or_default());
    let target = Target { subresource: options.subresource, ..target };
    let guard = live.map(LiveObject::revision).map_or(Guard::Absent, |revision| {
        if options.guarded { Guard::Unchanged(revision) } else { Guard::SameObject(revision.uid) }
    });
    Request::apply(target, intent, options.manager.to_owned(), options.force, &guard)
}
