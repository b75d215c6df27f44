//! The field manager chain between a request and the updater.
//!
//! In the order in which a request passes it, after `internal/fieldmanager.go` of apimachinery's `managedfields`: version
//! check, last-applied annotation, skip-non-applied, cap, identity, time stamps, strip, structured merge.

use jiff::Timestamp;

use super::{
    Refusal,
    entries::{self, Managed, ManagerId, Operation, Requested},
    last_applied, objects,
};
use crate::{
    fieldpath::{FieldSet, Path, PathElement::Field},
    schema::TypeId,
    typed::{Context, Duplicates, Invalid, Typed},
    updater::{Converter, Filter, Outcome, UpdateError, Updater, VersionedSet},
    value::Value,
};

/// The most updaters; the oldest ones are merged.
const MAX_UPDATE_MANAGERS: usize = 10;
/// The manager of merged updaters.
const ANCIENT_CHANGES: &str = "ancient-changes";
/// The manager of all fields before the first apply.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";
/// The writer of an update while it is computed. No entry has this identity: each has a version.
const CURRENT_OPERATION: ManagerId<'static> = ManagerId {
    manager: "current-operation",
    operation: Operation::Update,
    api_version: "",
    subresource: "",
};

/// Fields that are never owned: the object's identity, and those that the server sets.
const STRIPPED: &[Path<'static>] = &[
    Path::new(&[Field("apiVersion")]),
    Path::new(&[Field("kind")]),
    Path::new(&[Field("metadata")]),
    Path::new(&[Field("metadata"), Field("name")]),
    Path::new(&[Field("metadata"), Field("namespace")]),
    Path::new(&[Field("metadata"), Field("creationTimestamp")]),
    Path::new(&[Field("metadata"), Field("selfLink")]),
    Path::new(&[Field("metadata"), Field("uid")]),
    Path::new(&[Field("metadata"), Field("clusterName")]),
    Path::new(&[Field("metadata"), Field("generation")]),
    Path::new(&[Field("metadata"), Field("managedFields")]),
    Path::new(&[Field("metadata"), Field("resourceVersion")]),
];

/// The field manager of a kind, or of one of its subresources.
pub(super) struct Chain<'c, 'a> {
    pub(super) context: Context<'a>,
    pub(super) converter: &'c dyn Converter<'a>,
    /// The written kind, which for `scale` isn't the parent's.
    pub(super) api_version: &'a str,
    pub(super) kind: &'a str,
    pub(super) type_id: TypeId,
    pub(super) subresource: &'a str,
    /// The reset fields, by version.
    pub(super) resets: Vec<(&'a str, Filter<'a>)>,
    /// The zero value of the kind.
    pub(super) zero: Value<'a>,
    pub(super) now: Timestamp,
}

/// An object without its `managedFields`, and these.
pub(super) struct Written<'a> {
    pub(super) object: Value<'a>,
    pub(super) owners: Managed<'a>,
    /// The owners before the write, as they were read.
    pub(super) before: Managed<'a>,
    /// Whether the server stores other entries, which can't be read or aren't as a server writes them.
    pub(super) is_incomplete: bool,
}

type Outcomes<'a> = Result<(Option<Value<'a>>, Managed<'a>), Refusal<'a>>;

impl<'c, 'a> Chain<'c, 'a> {
    fn updater(&self) -> Updater<'c, 'a> {
        Updater::new(self.context.arena, self.converter).with_filters(self.resets.iter().cloned())
    }

    fn identity(&self, manager: &'a str, operation: Operation) -> ManagerId<'a> {
        ManagerId::of_writer(manager, operation, self.api_version, self.subresource)
    }

    /// Server-side apply. `live` is the live object, or the empty one for a creation.
    pub(super) fn apply(
        &self,
        live: Value<'a>,
        intent: Value<'a>,
        manager: &'a str,
        force: bool,
    ) -> Result<Written<'a>, Refusal<'a>> {
        let owners = Managed::of_live(self.context, &live)
            .map_err(|error| Refusal::Internal(format!("can't read the live object's {error}")))?;
        self.apply_owned(live, intent, owners, manager, force)
    }

    /// Server-side apply to an object with these owners.
    pub(super) fn apply_owned(
        &self,
        live: Value<'a>,
        intent: Value<'a>,
        owners: Managed<'a>,
        manager: &'a str,
        force: bool,
    ) -> Result<Written<'a>, Refusal<'a>> {
        self.check_kind(&intent)?;
        let live = self.without_managed_fields(live)?;
        let before = owners.clone();
        let mut written = self.apply_as_kubectl(live, intent, owners, manager, force)?;
        written.before = before;
        // An intent may contain a null.
        written.object = objects::without_managed_fields(self.context.arena, written.object);
        if manager == last_applied::MANAGER {
            written.object = last_applied::updated(self.context.arena, written.object, intent);
        }
        Ok(written)
    }

    /// Refuses an object of another kind or version.
    pub(super) fn check_kind(&self, intent: &Value<'a>) -> Result<(), Refusal<'a>> {
        let text = |name| intent.get(name).and_then(|value| value.as_str()).unwrap_or_default();
        if (text("apiVersion"), text("kind")) == (self.api_version, self.kind) {
            return Ok(());
        }
        let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
        Err(Refusal::BadRequest(format!("invalid object type: {group}/{version}, Kind={}", text("kind"))))
    }

    /// `kubectl` has no conflicts with its own client-side applies.
    fn apply_as_kubectl(
        &self,
        live: Value<'a>,
        intent: Value<'a>,
        owners: Managed<'a>,
        manager: &'a str,
        force: bool,
    ) -> Result<Written<'a>, Refusal<'a>> {
        let result = self.apply_tracked(live, intent, owners.clone(), manager, force);
        let (last_applied::MANAGER, Err(Refusal::Conflicts(conflicts))) = (manager, &result) else {
            return result;
        };
        let Some(allowed) = last_applied::still_live(self, live) else { return result };
        let allowed = allowed.lookup(self.context.arena);
        let refused: Vec<_> =
            conflicts.iter().filter(|conflict| !allowed.contains(conflict.path)).copied().collect();
        if refused.is_empty() {
            self.apply_tracked(live, intent, owners, manager, true)
        } else {
            Err(Refusal::Conflicts(refused))
        }
    }

    /// The first apply to an object adds a manager for all its fields.
    fn apply_tracked(
        &self,
        live: Value<'a>,
        intent: Value<'a>,
        mut owners: Managed<'a>,
        manager: &'a str,
        force: bool,
    ) -> Result<Written<'a>, Refusal<'a>> {
        if owners.fields.is_empty() {
            owners = self.update_identified(self.zero, live, owners, BEFORE_FIRST_APPLY)?;
        }
        let id = self.identity(manager, Operation::Apply);
        let (object, mut owners) = self.merge(live, intent, owners, id, force)?;
        self.strip(&mut owners, &id);
        let object = match object {
            Some(object) => {
                owners.set_time(id, Some(self.now));
                object
            }
            None => live,
        };
        Ok(Written { object, owners, before: Managed::default(), is_incomplete: false })
    }

    /// The live object for the merge, without `managedFields`, unless they alone don't fit the schema.
    fn without_managed_fields(&self, live: Value<'a>) -> Result<Value<'a>, Refusal<'a>> {
        if !entries::look_valid(&live) {
            self.typed(live, Duplicates::Allowed, "the live object")?;
        }
        Ok(objects::without_managed_fields(self.context.arena, live))
    }

    fn merge(
        &self,
        live: Value<'a>,
        intent: Value<'a>,
        owners: Managed<'a>,
        id: ManagerId<'a>,
        force: bool,
    ) -> Outcomes<'a> {
        if Managed::are_in(&intent) {
            return Err(Refusal::BadRequest("metadata.managedFields must be nil".to_owned()));
        }
        let intent = self.typed(intent, Duplicates::Forbidden, "the applied object")?;
        let live = Self::typed_beside(&intent, live, "the live object")?;
        let outcome = self.updater().apply(live, intent, self.api_version, owners.fields.clone(), &id, force);
        Self::outcome(outcome, owners)
    }

    fn outcome(
        outcome: Result<Outcome<'a, ManagerId<'a>>, UpdateError<'a, ManagerId<'a>>>,
        mut owners: Managed<'a>,
    ) -> Outcomes<'a> {
        let outcome = outcome.map_err(|error| match error {
            UpdateError::Conflicts(conflicts) => Refusal::Conflicts(conflicts),
            other => Refusal::Internal(other.to_string()),
        })?;
        owners.fields = outcome.managers;
        match outcome.object.map(|object| object.value()) {
            Some(object) if object.as_map().is_none() => {
                Err(Refusal::Internal("the merged object is no object".to_owned()))
            }
            object => Ok((object, owners)),
        }
    }

    fn typed(&self, value: Value<'a>, duplicates: Duplicates, what: &str) -> Result<Typed<'a>, Refusal<'a>> {
        Typed::validated(self.context, self.type_id, value, duplicates)
            .map_err(|error| Self::misfit(what, &error))
    }

    /// A value that may have duplicates, next to one that is mostly the same.
    fn typed_beside(known: &Typed<'a>, value: Value<'a>, what: &str) -> Result<Typed<'a>, Refusal<'a>> {
        known.validated_beside(value, Duplicates::Allowed).map_err(|error| Self::misfit(what, &error))
    }

    fn misfit(what: &str, error: &Invalid) -> Refusal<'a> {
        Refusal::Invalid(format!("{what} doesn't fit its schema: {error}"))
    }

    /// An object of this kind, typed; `None` if it doesn't fit.
    pub(super) fn fitting(&self, value: Value<'a>) -> Option<Typed<'a>> {
        Typed::validated(self.context, self.type_id, value, Duplicates::Forbidden).ok()
    }

    /// Any other write, which computes the owners of a known object.
    ///
    /// If they can't be computed the object is stored all the same, so this can't fail.
    pub(super) fn update(&self, live: Value<'a>, object: Value<'a>, manager: &'a str) -> Written<'a> {
        let owners = self.owners_before(&live, &object);
        self.update_owned(live, object, owners, manager)
    }

    /// Any other write, to an object with these owners.
    pub(super) fn update_owned(
        &self,
        live: Value<'a>,
        object: Value<'a>,
        owners: Managed<'a>,
        manager: &'a str,
    ) -> Written<'a> {
        let arena = self.context.arena;
        let live_uid = live.at(&["metadata", "uid"]).and_then(|uid| uid.as_str()).unwrap_or_default();
        let object = objects::without_managed_fields(arena, object);
        // An object without owners stays so, unless this write creates it.
        if owners.fields.is_empty() && !live_uid.is_empty() {
            return Written { object, before: owners.clone(), owners, is_incomplete: false };
        }
        let before = owners.clone();
        let computed = self
            .without_managed_fields(live)
            .and_then(|live| self.update_identified(live, object, owners, manager));
        let (owners, is_incomplete) = match computed {
            Ok(owners) => (owners, false),
            Err(_) if self.context.rules.failed_updates_keep_owners => self.owners_kept(live, &before),
            Err(_) => (Managed::default(), false),
        };
        Written { object, owners, before, is_incomplete }
    }

    /// The live owners, which stay if an update can't compute the new ones; and whether there are other entries.
    fn owners_kept(&self, live: Value<'a>, before: &Managed<'a>) -> (Managed<'a>, bool) {
        // A scale has no entries of its own; its owners were those of the live parent.
        if self.subresource == "scale" {
            return (before.clone(), false);
        }
        let kept = Managed::of_live(self.context, &live).unwrap_or_default();
        let has_entries = entries::managed_fields_of(&live).is_some_and(|list| !list.is_null());
        let is_incomplete = has_entries && entries::unchanged(&live, &kept.encode()).is_none();
        (kept, is_incomplete)
    }

    /// The owners before an update: those in the request, otherwise the live ones.
    fn owners_before(&self, live: &Value<'a>, object: &Value<'a>) -> Managed<'a> {
        if self.subresource.is_empty() {
            match Managed::of_request(self.context, object) {
                Requested::Reset => return Managed::default(),
                Requested::Entries(owners) if !owners.fields.is_empty() => return owners,
                _ => {}
            }
        }
        Managed::of_live(self.context, live).unwrap_or_default()
    }

    fn update_identified(
        &self,
        live: Value<'a>,
        object: Value<'a>,
        owners: Managed<'a>,
        manager: &'a str,
    ) -> Result<Managed<'a>, Refusal<'a>> {
        let id = self.identity(manager, Operation::Update);
        let object = self.typed(object, Duplicates::Allowed, "the new object")?;
        let live = Self::typed_beside(&object, live, "the live object")?;
        let updater = self.updater();
        let outcome =
            updater.update(live, object, self.api_version, owners.fields.clone(), &CURRENT_OPERATION);
        let (_, mut owners) = Self::outcome(outcome, owners)?;
        self.strip(&mut owners, &CURRENT_OPERATION);
        // The writer owns changed fields, besides those that it owned before.
        if let Some(mut owned) = owners.fields.remove(&CURRENT_OPERATION) {
            if let Some(before) = owners.fields.get(&id) {
                owned.set = owned.set.union(self.context.arena, before.set);
            }
            owners.fields.insert(id, owned);
            owners.set_time(id, Some(self.now));
        }
        self.cap(&mut owners);
        Ok(owners)
    }

    fn strip(&self, owners: &mut Managed<'a>, id: &ManagerId<'a>) {
        let Some(owned) = owners.fields.get(id).copied() else { return };
        let stripped = FieldSet::of_paths(self.context.arena, STRIPPED.iter().copied());
        let set = owned.set.difference(self.context.arena, stripped);
        if set.is_empty() {
            owners.fields.remove(id);
        } else {
            owners.fields.insert(*id, VersionedSet { set, ..owned });
        }
    }

    /// Merges the oldest updaters of a version, until there are no more than the server keeps.
    fn cap(&self, owners: &mut Managed<'a>) {
        let mut updaters: Vec<_> =
            owners.fields.iter().filter(|(_, owned)| !owned.applied).map(|(id, _)| *id).collect();
        if updaters.len() <= MAX_UPDATE_MANAGERS {
            return;
        }
        let seconds = |id: &ManagerId<'a>| owners.time(id).map_or(0, Timestamp::as_second);
        updaters.sort_by_cached_key(|id| (seconds(id), id.key()));
        let mut count = updaters.len();
        let mut firsts: Vec<(&str, ManagerId<'a>)> = Vec::new();
        for id in updaters {
            if count <= MAX_UPDATE_MANAGERS {
                return;
            }
            let Some(owned) = owners.fields.get(&id).copied() else { continue };
            let Some((_, first)) = firsts.iter().find(|(version, _)| *version == owned.version) else {
                firsts.push((owned.version, id));
                continue;
            };
            let bucket = ManagerId::of_writer(ANCIENT_CHANGES, Operation::Update, owned.version, "");
            if owners.fields.get(&bucket).is_none()
                && let Some(first) = owners.fields.remove(first)
            {
                owners.fields.insert(bucket, first);
            }
            let before = owners.fields.get(&bucket).map(|bucket| bucket.set).unwrap_or_default();
            let set = owned.set.union(self.context.arena, before);
            let time = owners.time(&id);
            owners.fields.insert(bucket, VersionedSet { set, ..owned });
            owners.fields.remove(&id);
            owners.set_time(bucket, time);
            count -= 1;
        }
    }
}
