//! An object of a cluster, and the requests that change its owners.

use std::collections::{BTreeMap, BTreeSet};

use baton_apply::{
    ApiError, LiveObject, ManagedFieldsEntry, Outcome, Prediction, Request, Target,
    ownership::{IntentError, LAST_APPLIED, applied_fields, fields_without_value, reown},
};
use baton_merge::{
    Arena,
    fieldpath::{FieldSet, Path},
};
use kube::core::ApiResource;
use serde_json::Value as Json;

use super::{
    DryRunStrategy,
    writer::{Writer, guard},
};
use crate::{
    cluster::{ClusterArgs, ClusterError, Connection, Reference, name_of},
    error::CommandError,
    model::{FieldChange, FieldQuery, Owners, check_droppable, is_within},
};

/// An object that was read from a cluster.
pub(crate) struct Opened {
    pub(crate) target: Target,
    pub(crate) live: LiveObject,
    pub(crate) writer: Writer,
    /// The other versions of the API in which managers own its fields.
    versions: BTreeMap<String, InVersion>,
}

/// An object in another version of the API than it was read in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InVersion {
    /// It has the same fields, with the same values.
    Same,
    /// It has others.
    Different,
    /// The version isn't served.
    NotServed,
}

impl Opened {
    /// Reads an object that has to exist, and the schema of its kind.
    pub(crate) async fn new(reference: &Reference, cluster: &ClusterArgs) -> Result<Self, CommandError> {
        let connection = Connection::new(cluster).await?;
        let target = connection.kinds().await?.target(reference, &connection.namespace)?;
        Self::of(&connection, target).await
    }

    /// Reads the object of a target.
    pub(crate) async fn of(connection: &Connection, target: Target) -> Result<Self, CommandError> {
        let live = connection.read(&target).await?;
        let schemas = connection.schemas(std::slice::from_ref(&target.resource)).await?;
        let writer = Writer::new(schemas, Some(connection));
        let versions = in_other_versions(connection, &target, &live).await?;
        Ok(Self { target, live, writer, versions })
    }

    /// As kubectl names it.
    pub(crate) fn name(&self) -> String {
        name_of(&self.target)
    }

    /// The owners in a state of the object.
    pub(crate) fn owners<'a>(&'a self, arena: &'a Arena, live: &'a LiveObject) -> Owners<'a> {
        let schema = self.writer.schemas.fields_at(arena, &self.target, live, Path::default());
        Owners::of(arena, live).with_schema(schema.unwrap_or_default())
    }

    /// Calls `act` with the owners in a state of the object, and the path of a field, which isn't a part of a value that is owned as a whole.
    pub(crate) fn at<T>(
        &self,
        live: &LiveObject,
        query: &FieldQuery,
        act: impl FnOnce(&Owners<'_>, Path<'_>) -> Result<T, CommandError>,
    ) -> Result<T, CommandError> {
        let arena = Arena::new();
        let owners = self.owners(&arena, live);
        let path = ownable(&owners, query)?;
        act(&owners, path)
    }

    /// The value of a field in a state of the object, as it may be shown.
    pub(crate) fn value(live: &LiveObject, query: &FieldQuery) -> Option<String> {
        let arena = Arena::new();
        let owners = Owners::of(&arena, live);
        owners.shown_at(owners.path(query).ok()?)
    }

    /// An apply, as a manager, of what it has applied and of a field as it is.
    pub(crate) fn apply_with(
        &self,
        live: &LiveObject,
        manager: &str,
        query: &FieldQuery,
    ) -> Result<Request, CommandError> {
        let arena = Arena::new();
        let path = ownable(&self.owners(&arena, live), query)?;
        let more = self.writer.schemas.fields_at(&arena, &self.target, live, path)?;
        self.own(&arena, live, manager, applied_fields(&arena, live, manager).union(&arena, more))
    }

    /// An apply, as a manager, of what it has applied except a field. The manager loses the fields that the server doesn't store, too.
    pub(crate) fn apply_without(
        &self,
        live: &LiveObject,
        manager: &str,
        query: &FieldQuery,
    ) -> Result<Request, CommandError> {
        let arena = Arena::new();
        self.reapply(live, manager, self.applied_without(&arena, live, manager, query)?)
    }

    /// The values that are removed, or get their defaults, when a manager applies what it has applied except a field: by the server's
    /// response to a dry run, or else by the prediction. Where that is uncertain, only those of the field.
    pub(crate) async fn lost_without(
        &self,
        live: &LiveObject,
        manager: &str,
        (query, path): (&FieldQuery, &str),
        dry_run: DryRunStrategy,
    ) -> Result<Vec<FieldChange>, CommandError> {
        let request = async |live: Option<&LiveObject>| {
            self.apply_without(live.ok_or_else(|| self.is_gone())?, manager, query)
        };
        let written = self.writer.try_out(Some(live.clone()), dry_run, request).await?;
        let mut lost = match &written.outcome {
            Some(Outcome::Stored { object, .. }) => written.other_values(object),
            None => written.changes(),
            // A refusal has no values.
            Some(_) => self.writer.predict(written.write.request.clone(), Some(live)).changes(),
        };
        let is_uncertain = match (&written.outcome, &written.write.prediction) {
            (None, Ok(Prediction::Stored(stored))) => stored.certainty.doubt().is_some(),
            _ => false,
        };
        lost.retain(|lost| {
            lost.loses_a_value()
                // The server updates this one with what `kubectl` applies.
                && !lost.path.contains(LAST_APPLIED)
                && (!is_uncertain || is_within(&lost.path, path) || is_within(path, &lost.path))
        });
        Ok(lost)
    }

    pub(super) fn is_gone(&self) -> CommandError {
        CommandError::Input(format!("{} is gone", self.name()))
    }

    /// A request after which a manager doesn't own a field that it has applied. The value stays.
    pub(crate) fn disown(
        &self,
        live: &LiveObject,
        manager: &str,
        query: &FieldQuery,
    ) -> Result<Request, CommandError> {
        let arena = Arena::new();
        self.own(&arena, live, manager, self.applied_without(&arena, live, manager, query)?)
    }

    /// A request after which a manager also owns these fields as if it had applied them. None of them has a value.
    pub(crate) fn own_as_well(
        &self,
        live: &LiveObject,
        manager: &str,
        fields_v1: &Json,
    ) -> Result<Request, CommandError> {
        let arena = Arena::new();
        let fields = FieldSet::from_fields_v1(&arena, fields_v1);
        let fields = fields.map_err(|error| CommandError::Format("managedFields", error.into()))?;
        self.own(&arena, live, manager, applied_fields(&arena, live, manager).union(&arena, fields))
    }

    /// The fields that a manager has applied, except one, and that have no value, such as a Secret's `stringData`: FieldsV1, or none.
    pub(crate) fn unstored_without(
        &self,
        live: &LiveObject,
        manager: &str,
        query: &FieldQuery,
    ) -> Result<Option<Json>, CommandError> {
        let arena = Arena::new();
        let fields = self.applied_without(&arena, live, manager, query)?;
        let fields = fields_without_value(&arena, live, fields).map_err(IntentError::from)?;
        Ok((!fields.is_empty()).then(|| fields.to_fields_v1()))
    }

    fn applied_without<'a>(
        &'a self,
        arena: &'a Arena,
        live: &'a LiveObject,
        manager: &str,
        query: &FieldQuery,
    ) -> Result<FieldSet<'a>, CommandError> {
        let path = ownable(&self.owners(arena, live), query)?;
        check_droppable(path)?;
        let own = applied_fields(arena, live, manager);
        Ok(own.recursive_difference(arena, FieldSet::of_paths(arena, [path])))
    }

    /// A JSON patch that the server refuses in another state of the object.
    pub(crate) fn patch(
        &self,
        live: &LiveObject,
        manager: &'static str,
        operation: &Json,
    ) -> Result<Request, CommandError> {
        let request = Request::patch(self.target.clone(), &live.revision(), manager, [operation.clone()]);
        request.map_err(|error| CommandError::Format("a JSON patch", error.into()))
    }

    /// The versions of the API in which the object has the same fields, beginning with the one in which it was read.
    pub(crate) fn versions(&self) -> Vec<&str> {
        let same = self.versions.iter().filter(|(_, it)| **it == InVersion::Same);
        let same = same.map(|(version, _)| version.as_str());
        [self.target.resource.api_version.as_str()].into_iter().chain(same).collect()
    }

    /// Whether a version in which managers own fields is served.
    pub(crate) fn is_served(&self, version: &str) -> bool {
        self.versions.get(version) != Some(&InVersion::NotServed)
    }

    /// Fails if a manager owns fields in a version in which the object has other fields. `way_out` says what to do, by the plural of the
    /// kind and that version.
    pub(crate) fn check_version(
        &self,
        manager: &str,
        version: &str,
        way_out: impl FnOnce(&str, &str) -> String,
    ) -> Result<(), CommandError> {
        if self.versions().contains(&version) {
            return Ok(());
        }
        let own = &self.target.resource.api_version;
        let problem = if self.is_served(version) {
            let way_out = way_out(&self.target.resource.plural, version);
            format!("where the object has other fields than in {own}; {way_out}")
        } else {
            format!(
                "which isn't served. Have the server forget all owners: kubectl baton reset {}. The next apply then needs \
                 --force-conflicts, since before-first-apply owns the fields",
                self.name()
            )
        };
        Err(CommandError::Input(format!("{manager} owns fields in {version}, {problem}")))
    }

    /// A request after which a manager owns just these fields as if it had applied them: an apply, or a patch of the manager's entry if some
    /// fields have no value.
    fn own<'a>(
        &self,
        arena: &'a Arena,
        live: &'a LiveObject,
        manager: &str,
        fields: FieldSet<'a>,
    ) -> Result<Request, CommandError> {
        let unstored = fields_without_value(arena, live, fields).map_err(IntentError::from)?;
        if !unstored.is_empty()
            && let Some(request) = reown(&self.target, live, manager.to_owned(), &self.versions(), fields)
        {
            return Ok(request);
        }
        self.reapply(live, manager, fields)
    }

    /// An apply of these fields as they are, not forced.
    fn reapply(
        &self,
        live: &LiveObject,
        manager: &str,
        fields: FieldSet<'_>,
    ) -> Result<Request, CommandError> {
        let arena = Arena::new();
        let owners = Owners::of(&arena, live);
        if let Some(own) = owners.managers.iter().find(|own| own.applies() && own.name == manager) {
            self.check_version(manager, &own.api_version, |kind, version| {
                let (group, version) = version.split_once('/').unwrap_or(("", version));
                format!("name the object in that version: {kind}.{version}.{group}/{}", self.target.name)
            })?;
        }
        let intent = self.writer.schemas.intent(&self.target, live, fields)?;
        Ok(Request::apply(self.target.clone(), intent, manager.to_owned(), false, &guard(live, manager)))
    }
}

/// The object in the other versions of the API in which managers own its fields.
async fn in_other_versions(
    connection: &Connection,
    target: &Target,
    live: &LiveObject,
) -> Result<BTreeMap<String, InVersion>, CommandError> {
    let own = &target.resource;
    let entries = live.managed_fields();
    let others: BTreeSet<_> = entries.iter().map(ManagedFieldsEntry::api_version).collect();
    let mut versions = BTreeMap::new();
    for other in others.into_iter().filter(|other| *other != own.api_version) {
        let (group, version) = other.split_once('/').unwrap_or(("", other));
        let resource = ApiResource {
            group: group.to_owned(),
            version: version.to_owned(),
            api_version: other.to_owned(),
            ..own.clone()
        };
        let found = match connection.find(&Target { resource, ..target.clone() }).await {
            Ok(Some(found)) if without_version(&found) == without_version(live) => InVersion::Same,
            Ok(Some(_)) => InVersion::Different,
            Ok(None) => InVersion::NotServed,
            // A path that isn't served has no status.
            Err(ClusterError::Request { source: ApiError::Response(status), .. }) if status.code == 404 => {
                InVersion::NotServed
            }
            Err(error) => return Err(error.into()),
        };
        versions.insert(other.to_owned(), found);
    }
    Ok(versions)
}

/// An object without the members that differ in each version.
fn without_version(object: &LiveObject) -> Option<Json> {
    let mut object = object.as_json().ok()?.clone();
    object.as_object_mut()?.remove("apiVersion");
    object["metadata"].as_object_mut()?.remove("managedFields");
    Some(object)
}

/// The path of a field that isn't inside one that is owned as a whole.
fn ownable<'a>(owners: &Owners<'a>, query: &FieldQuery) -> Result<Path<'a>, CommandError> {
    let path = owners.path(query)?;
    match owners.whole_above(path) {
        None => Ok(path),
        Some(whole) => {
            Err(CommandError::Input(format!("{path} has no owner of its own: {whole} is owned as a whole")))
        }
    }
}
