//! An object of a cluster, with the schema of its kind and its versions.

use std::collections::{BTreeMap, BTreeSet};

use baton_apply::{ApiError, LiveObject, ManagedFieldsEntry, Request, Target};
use baton_merge::{Arena, fieldpath::Path};
use kube::core::ApiResource;
use serde_json::Value as Json;

use super::writer::Writer;
use crate::{
    cluster::{ClusterArgs, ClusterError, Connection, Reference, name_of},
    error::CommandError,
    model::{FieldQuery, Owners},
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
    /// The object has the same fields, with the same values.
    Same,
    /// The object has other fields or values.
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

    /// The object's name as kubectl prints it.
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

    pub(super) fn is_gone(&self) -> CommandError {
        CommandError::Input(format!("{} is gone", self.name()))
    }

    /// A JSON patch that the server refuses in another state of the object.
    pub(crate) fn patch(
        &self,
        live: &LiveObject,
        manager: &'static str,
        operation: &Json,
    ) -> Result<Request, CommandError> {
        let request = Request::patch(self.target.clone(), &live.revision(), manager, [operation.clone()]);
        request.map_err(CommandError::format("a JSON patch"))
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

    /// Fails if a manager owns fields in a version in which the object has other fields. `way_out` is the advice, by the plural of the
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
pub(super) fn ownable<'a>(owners: &Owners<'a>, query: &FieldQuery) -> Result<Path<'a>, CommandError> {
    let path = owners.path(query)?;
    match owners.whole_above(path) {
        None => Ok(path),
        Some(whole) => {
            Err(CommandError::Input(format!("{path} has no owner of its own: {whole} is owned as a whole")))
        }
    }
}
