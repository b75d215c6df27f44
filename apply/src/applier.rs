//! Writes objects of one cluster by the write protocol.

use std::{fmt::Debug, sync::Arc, time::Duration};

use jiff::Timestamp;
use kube::{
    Client, Resource,
    api::{DeleteParams, Patch, PatchParams, Preconditions},
    core::ApiResource,
};
use serde::Serialize;
use serde_json::Value;

use crate::{
    ApiError, ApplyError, ApplyOutcome, Change, Comparison, DryRun, Guard, LiveObject, Misuse, Outcome,
    PreparedWrite, Request, SchemaCache, Schemas, Target, leftovers::MOST_BEFORE, with_timeout,
    write::Preparing,
};

/// Receives the outcome of each write, for metrics and logs.
pub trait Observer: Send + Sync {
    /// A write, or a dry run of it, ended with this outcome.
    fn ended(&self, write: &PreparedWrite, dry_run: DryRun, outcome: &Outcome);
}

/// Observes nothing.
impl Observer for () {
    fn ended(&self, _: &PreparedWrite, _: DryRun, _: &Outcome) {}
}

/// The way in which an intent is applied.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    manager: &'a str,
    force: bool,
    guarded: bool,
    always_send: bool,
    subresource: Option<&'static str>,
    dry_run: DryRun,
}

impl<'a> Options<'a> {
    /// An apply as this field manager, which gets a conflict for a field that another manager owns with another value.
    pub const fn unforced(manager: &'a str) -> Self {
        Self {
            manager,
            force: false,
            guarded: false,
            always_send: false,
            subresource: None,
            dry_run: DryRun::No,
        }
    }

    /// An apply as this field manager that takes over fields of others. For a controller: it has no user to ask about a conflict.
    pub const fn forced(manager: &'a str) -> Self {
        Self { force: true, ..Self::unforced(manager) }
    }

    /// For an intent that depends on the object as it was read, such as on the owner of a field: if the object has changed since, the
    /// apply is [stale](ApplyError::Stale).
    #[must_use]
    pub const fn guarded(self) -> Self {
        Self { guarded: true, ..self }
    }

    /// Whether it is sent even if it certainly changes nothing. Set it from time to time, to find a wrong prediction.
    #[must_use]
    pub const fn always_send(self, always_send: bool) -> Self {
        Self { always_send, ..self }
    }

    /// Applies through a subresource, such as `status`.
    #[must_use]
    pub const fn subresource(self, subresource: &'static str) -> Self {
        Self { subresource: Some(subresource), ..self }
    }

    /// Makes it a dry run, which is always sent: the server does everything but store the result. If a
    /// [preparatory](crate::PreparedWrite::is_preparatory) write has to come first, only that is tried.
    #[must_use]
    pub const fn dry_run(self) -> Self {
        Self { dry_run: DryRun::Yes, ..self }
    }
}

/// How often a write is tried with a guard.
const MOST_GUARDED: u32 = 3;

/// The way in which a request is sent.
#[derive(Clone, Copy)]
struct Sending {
    dry_run: DryRun,
    always_send: bool,
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
    /// The other managers by which the program writes.
    own_managers: Arc<[String]>,
}

impl Applier {
    /// An applier that gives each request this long. Without schemas it predicts nothing, and sends everything.
    pub fn new(client: Client, schemas: Option<SchemaCache>, limit: Duration) -> Self {
        let (observer, clock) = (Arc::new(()), Arc::new(Timestamp::now));
        Self { client, limit, schemas, observer, clock, own_managers: Arc::default() }
    }

    /// Sets an observer of the outcome of each write.
    #[must_use]
    pub fn observed_by(self, observer: impl Observer + 'static) -> Self {
        Self { observer: Arc::new(observer), ..self }
    }

    /// Sets another clock than the system's, for the times that are predicted in `managedFields`.
    #[must_use]
    pub fn with_clock(self, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self { clock: Arc::new(clock), ..self }
    }

    /// Names the other managers by which the program writes, such as a [temporary one](crate::ownership::hand_over). Fields that it takes
    /// over from them aren't in [`Effects::takeovers`](crate::Effects::takeovers).
    #[must_use]
    pub fn writing_as<'m>(self, managers: impl IntoIterator<Item = &'m str>) -> Self {
        Self { own_managers: managers.into_iter().map(str::to_owned).collect(), ..self }
    }

    /// The schemas as they are now.
    pub fn schemas(&self) -> Arc<Schemas> {
        self.schemas.as_ref().map(SchemaCache::current).unwrap_or_default()
    }

    /// Waits until the schemas have been read once, or couldn't be read. Never returns unless
    /// [`SchemaCache::keep_current`] runs, or [`SchemaCache::load`] has.
    pub async fn ready(&self) {
        if let Some(schemas) = &self.schemas {
            schemas.ready().await;
        }
    }

    /// Applies an intent: a typed object with all that the manager wants to own, and no more. `live` is the object as it was read
    /// last, with its `managedFields`; `None` if there was none.
    ///
    /// The intent is spelled by [`Schemas::minimal`], so fields with `null` aren't applied, nor are empty lists and maps of a built-in
    /// kind; where `null` means something, use [`apply_json`](Self::apply_json). An apply that changes nothing isn't sent. If the object
    /// has been written since it was read, it is read again and the apply is repeated, unless it is [guarded](Options::guarded).
    ///
    /// # Errors
    /// When the apply is refused, fails, or is [stale](ApplyError::Stale).
    pub async fn apply<K>(
        &self,
        live: Option<&LiveObject>,
        intent: &K,
        options: Options<'_>,
    ) -> Result<ApplyOutcome, ApplyError>
    where
        K: Resource<DynamicType: Default> + Serialize,
    {
        let resource = ApiResource::erase::<K>(&K::DynamicType::default());
        let intent = serde_json::to_value(intent).map_err(|error| Misuse::Intent(error.to_string()))?;
        let intent = self.schemas().minimal(&resource, intent);
        self.apply_json(&resource, live, intent, options).await
    }

    /// Applies an intent that is JSON, as it is. Otherwise as [`apply`](Self::apply).
    ///
    /// # Errors
    /// When the apply is refused, fails, or is [stale](ApplyError::Stale).
    pub async fn apply_json(
        &self,
        resource: &ApiResource,
        live: Option<&LiveObject>,
        intent: Value,
        options: Options<'_>,
    ) -> Result<ApplyOutcome, ApplyError> {
        let request = request(resource, live, intent, options);
        let how = Sending { dry_run: options.dry_run, always_send: options.always_send };
        let (outcome, live) = self.write_with(request, live, how).await;
        ApplyOutcome::of(outcome, live)
    }

    /// Makes any write of an object that was read, such as those of [`ownership`](crate::ownership), by the same protocol.
    ///
    /// # Errors
    /// When the write is refused, fails, or is [stale](ApplyError::Stale).
    pub async fn write(&self, request: Request, live: &LiveObject) -> Result<ApplyOutcome, ApplyError> {
        let how = Sending { dry_run: DryRun::No, always_send: false };
        let (outcome, live) = self.write_with(request, Some(live), how).await;
        ApplyOutcome::of(outcome, live)
    }

    /// Makes a write, and repeats it for the object as it is now while that needs no other decision. Returns the object too that the last
    /// try was made for.
    ///
    /// A guarded write is stored only if no other manager writes between the read and the write. If others write all the time, it
    /// might never be stored: so the last try is without the guard that only makes its prediction comparable.
    async fn write_with(
        &self,
        request: Request,
        live: Option<&LiveObject>,
        how: Sending,
    ) -> (Outcome, Option<LiveObject>) {
        let mut live = of_its_kind(live, &request.target);
        for _ in 0..MOST_GUARDED {
            let (outcome, after) = self.write_once(request.clone(), live.clone(), false, how).await;
            let is_changed = match &outcome {
                Outcome::Stale { error, expected } => !expected && !error.is_ownership_conflict(),
                _ => false,
            };
            let (true, Some(uid)) = (is_changed, request.same_object()) else { return (outcome, after) };
            match self.read(&request.target).await {
                Ok(Some(now)) if now.revision().uid == uid => live = of_its_kind(Some(&now), &request.target),
                Ok(_) => return (outcome, after),
                Err(error) if error.is_rejection() => {
                    return (Outcome::Rejected { error, expected: false }, after);
                }
                Err(error) => return (Outcome::Failed(error), after),
            }
        }
        self.write_once(request, live, true, how).await
    }

    /// Makes a write once. If [leftover defaults](crate::leftovers) contradict an apply, other writes come before it; if nothing is left
    /// to send after them, the outcome is that of the last one.
    async fn write_once(
        &self,
        mut request: Request,
        mut live: Option<LiveObject>,
        unguarded: bool,
        how: Sending,
    ) -> (Outcome, Option<LiveObject>) {
        let (schemas, mut last) = (self.schemas(), Outcome::Skipped);
        for before in 0..=MOST_BEFORE {
            let now = (self.clock)();
            let exact = before == MOST_BEFORE;
            let write =
                schemas.prepare_with(request.clone(), live.as_ref(), now, Preparing { exact, unguarded });
            let is_dry_run = how.dry_run == DryRun::Yes;
            if write.is_noop() && !write.is_preparatory() && !how.always_send && !is_dry_run {
                self.observer.ended(&write, DryRun::No, &Outcome::Skipped);
                return (last, live);
            }
            last = self.perform(&write, live.as_ref(), how.dry_run).await;
            let Outcome::Stored { object, .. } = &last else { return (last, live) };
            if !write.is_preparatory() || is_dry_run {
                return (last, live);
            }
            if request.requires_unchanged() {
                request.require_unchanged(object);
            }
            live = Some(object.clone());
        }
        (last, live)
    }

    /// Sends a prepared write; returns its outcome.
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
        with_timeout(self.limit, target.api(self.client.clone()).get_opt(&target.name)).await
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
                let field_manager = Some(manager.clone());
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
                match with_timeout(self.limit, target.api(self.client.clone()).delete(&target.name, &params))
                    .await
                {
                    Ok(deleted) => Ok(deleted.left().filter(LiveObject::lives_on)),
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
        let (api, name) = (target.api(self.client.clone()), &target.name);
        with_timeout(self.limit, async {
            match target.subresource {
                None => api.patch(name, params, patch).await,
                Some(subresource) => api.patch_subresource(subresource, name, params, patch).await,
            }
        })
        .await
        .map(Some)
    }
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
    Request::apply(target, intent, options.manager, options.force, &guard)
}
