//! An object of a cluster, and writes to it that follow each other.

use std::collections::{BTreeMap, BTreeSet};

use baton_apply::{
    ApiError, Certainty, Change, LiveObject, ManagedFieldsEntry, Outcome, Prediction, Request, Target,
    ownership::{IntentError, LAST_APPLIED, applied_fields, fields_without_value, reown},
};
use baton_merge::{
    Arena,
    fieldpath::{FieldSet, Path},
};
use kube::core::ApiResource;
use serde::Serialize;
use serde_json::{Value as Json, json};

use crate::{
    Terminal,
    cluster::{ClusterArgs, ClusterError, Connection, Reference, name_of},
    failure::{Ending, Exit, Failure},
    owners::{Move, Owners, moves, moves_table},
    path::{FieldQuery, check_droppable, is_within},
    view::{self, BOLD, CYAN, ChangeKind, OutputArgs, Secrecy, shown},
    write::{DryRunStrategy, Writer, Written, WrittenReport, guard},
};

/// An object that was read from a cluster.
pub(crate) struct Opened {
    pub(crate) target: Target,
    pub(crate) live: LiveObject,
    pub(crate) writer: Writer,
    /// The other versions of the API in which managers own fields of it.
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
    pub(crate) async fn new(reference: &Reference, cluster: &ClusterArgs) -> Result<Self, Failure> {
        let connection = Connection::new(cluster).await?;
        let target = connection.kinds().await?.target(reference, &connection.namespace)?;
        Self::of(&connection, target).await
    }

    /// The same for an object whose place is known.
    pub(crate) async fn of(connection: &Connection, target: Target) -> Result<Self, Failure> {
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

    /// Writes to it, each for the object that the one before leaves.
    pub(crate) fn steps(&self, dry_run: DryRunStrategy) -> Steps<'_> {
        Steps { opened: self, dry_run, live: self.live.clone(), done: Vec::new(), exit: Exit::Done }
    }

    /// Who owns what in a state of the object.
    pub(crate) fn owners<'a>(&'a self, arena: &'a Arena, live: &'a LiveObject) -> Owners<'a> {
        let schema = self.writer.schemas.fields_at(arena, &self.target, live, Path::default());
        Owners::of(arena, live).with_schema(schema.unwrap_or_default())
    }

    /// Does something with a path that a person means in a state of the object. The field has owners of its own, or none.
    pub(crate) fn at<T>(
        &self,
        live: &LiveObject,
        query: &FieldQuery,
        act: impl FnOnce(&Owners<'_>, Path<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let arena = Arena::new();
        let owners = self.owners(&arena, live);
        let path = ownable(&owners, query)?;
        act(&owners, path)
    }

    /// The value of a field in a state of the object, as it may be shown.
    pub(crate) fn value(live: &LiveObject, query: &FieldQuery, secrecy: Secrecy) -> Option<String> {
        let arena = Arena::new();
        let owners = Owners::of(&arena, live);
        let path = owners.path(query).ok()?;
        Some(shown(secrecy, path, path.find(owners.object)?))
    }

    /// A request by which a manager applies what it has applied, and a field as it is.
    pub(crate) fn apply_with(
        &self,
        live: &LiveObject,
        manager: &str,
        query: &FieldQuery,
    ) -> Result<Request, Failure> {
        let arena = Arena::new();
        let path = ownable(&self.owners(&arena, live), query)?;
        let more = self.writer.schemas.fields_at(&arena, &self.target, live, path)?;
        self.own(&arena, live, manager, applied_fields(&arena, live, manager).union(&arena, more))
    }

    /// An apply by which a manager applies what it has applied but a field. It loses the fields that the server doesn't store, too.
    pub(crate) fn apply_without(
        &self,
        live: &LiveObject,
        manager: &str,
        query: &FieldQuery,
    ) -> Result<Request, Failure> {
        let arena = Arena::new();
        self.reapply(live, manager, self.applied_without(&arena, live, manager, query)?)
    }

    /// The values that go, or get their defaults, where a manager applies what it has applied but a field: what the server says to a
    /// dry run, or else the prediction. Where that is uncertain, those of the field alone.
    pub(crate) async fn lost_without(
        &self,
        live: &LiveObject,
        manager: &str,
        (query, path): (&FieldQuery, &str),
        dry_run: DryRunStrategy,
    ) -> Result<Vec<view::Change>, Failure> {
        let request = async |live: Option<&LiveObject>| {
            self.apply_without(live.ok_or_else(|| self.is_gone())?, manager, query)
        };
        let written = self.writer.try_out(Some(live.clone()), dry_run, request).await?;
        let changes = match &written.outcome {
            Some(Outcome::Stored { object, .. }) => written.other_values(object),
            None => written.changes(),
            // A refusal says nothing of values.
            Some(_) => self.writer.predict(written.write.request.clone(), Some(live)).changes(),
        };
        let mut lost = lost(changes);
        let is_uncertain = match (&written.outcome, &written.write.prediction) {
            (None, Ok(Prediction::Stored(stored))) => matches!(stored.certainty, Certainty::Unknown(_)),
            _ => false,
        };
        lost.retain(|lost| {
            // The server keeps this one up to date with what `kubectl` applies.
            !lost.path.contains(LAST_APPLIED)
                && (!is_uncertain || is_within(&lost.path, path) || is_within(path, &lost.path))
        });
        Ok(lost)
    }

    fn is_gone(&self) -> Failure {
        Failure::Input(format!("{} is gone", self.name()))
    }

    /// A request by which a manager no longer owns a field that it has applied, whose value stays.
    pub(crate) fn disown(
        &self,
        live: &LiveObject,
        manager: &str,
        query: &FieldQuery,
    ) -> Result<Request, Failure> {
        let arena = Arena::new();
        self.own(&arena, live, manager, self.applied_without(&arena, live, manager, query)?)
    }

    /// A request by which a manager has applied these fields as well, none of which has a value.
    pub(crate) fn own_as_well(
        &self,
        live: &LiveObject,
        manager: &str,
        fields_v1: &Json,
    ) -> Result<Request, Failure> {
        let arena = Arena::new();
        let fields = FieldSet::from_fields_v1(&arena, fields_v1);
        let fields = fields.map_err(|error| Failure::Format("managedFields", error.into()))?;
        self.own(&arena, live, manager, applied_fields(&arena, live, manager).union(&arena, fields))
    }

    /// What a manager has applied but a field, of that what the object has no value for, such as a Secret's `stringData`: FieldsV1,
    /// if there is any.
    pub(crate) fn unstored_without(
        &self,
        live: &LiveObject,
        manager: &str,
        query: &FieldQuery,
    ) -> Result<Option<Json>, Failure> {
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
    ) -> Result<FieldSet<'a>, Failure> {
        let path = ownable(&self.owners(arena, live), query)?;
        check_droppable(path)?;
        let own = applied_fields(arena, live, manager);
        Ok(own.recursive_difference(arena, FieldSet::of_paths(arena, [path])))
    }

    /// A JSON patch of just this state of the object.
    pub(crate) fn patch(
        &self,
        live: &LiveObject,
        manager: &'static str,
        operation: &Json,
    ) -> Result<Request, Failure> {
        let version = live.revision().resource_version;
        let test = json!({"op": "test", "path": "/metadata/resourceVersion", "value": version});
        let operations = serde_json::from_value(json!([test, operation]));
        let operations = operations.map_err(|error| Failure::Format("a JSON patch", error.into()))?;
        let change = Change::Patch { operations, manager: manager.into() };
        Ok(Request { target: self.target.clone(), change })
    }

    /// The versions of the API in which the object has the same fields. The first is that in which it was read.
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
    ) -> Result<(), Failure> {
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
        Err(Failure::Input(format!("{manager} owns fields in {version}, {problem}")))
    }

    /// A request by which a manager has applied just these fields as they are. If some have no value that it could apply, that is a
    /// patch of its entry.
    fn own<'a>(
        &self,
        arena: &'a Arena,
        live: &'a LiveObject,
        manager: &str,
        fields: FieldSet<'a>,
    ) -> Result<Request, Failure> {
        let unstored = fields_without_value(arena, live, fields).map_err(IntentError::from)?;
        if !unstored.is_empty()
            && let Some(request) = reown(&self.target, live, manager.to_owned(), &self.versions(), fields)
        {
            return Ok(request);
        }
        self.reapply(live, manager, fields)
    }

    /// An apply of these fields as they are, not forced.
    fn reapply(&self, live: &LiveObject, manager: &str, fields: FieldSet<'_>) -> Result<Request, Failure> {
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

/// What the object is in the other versions of the API in which managers own fields of it.
async fn in_other_versions(
    connection: &Connection,
    target: &Target,
    live: &LiveObject,
) -> Result<BTreeMap<String, InVersion>, Failure> {
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

/// An object without what differs between two versions of the same fields.
fn without_version(object: &LiveObject) -> Option<Json> {
    let mut object = object.as_json().ok()?.clone();
    object.as_object_mut()?.remove("apiVersion");
    object["metadata"].as_object_mut()?.remove("managedFields");
    Some(object)
}

/// The path of a field that isn't inside one that is owned as a whole.
fn ownable<'a>(owners: &Owners<'a>, query: &FieldQuery) -> Result<Path<'a>, Failure> {
    let path = owners.path(query)?;
    match owners.whole_above(path) {
        None => Ok(path),
        Some(whole) => {
            Err(Failure::Input(format!("{path} has no owner of its own: {whole} is owned as a whole")))
        }
    }
}

/// Writes to an object that follow each other.
pub(crate) struct Steps<'o> {
    opened: &'o Opened,
    dry_run: DryRunStrategy,
    /// The object after the last one.
    pub(crate) live: LiveObject,
    done: Vec<Step>,
    exit: Exit,
}

/// A write, for programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Step {
    /// What it does, in words.
    #[serde(rename = "step")]
    what: String,
    #[serde(flatten)]
    written: WrittenReport,
    /// Which fields change hands.
    moves: Vec<Move>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    object: String,
    steps: Vec<Step>,
    /// What people still have to do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_to_do: Vec<String>,
}

impl Steps<'_> {
    /// Does the next write, unless an earlier one was refused. `request` makes it for the object as it was read last.
    pub(crate) async fn write(
        &mut self,
        step: impl Into<String>,
        mut request: impl AsyncFnMut(&LiveObject) -> Result<Request, Failure>,
    ) -> Result<(), Failure> {
        if !self.are_done() {
            return Ok(());
        }
        let dry_run = self.next_dry_run();
        let before = Some(self.live.clone());
        let written = self
            .opened
            .writer
            .write(before, dry_run, async |live| request(live.ok_or_else(|| self.opened.is_gone())?).await);
        let written = match written.await {
            // What was written before is to be shown.
            Err(failure) if !self.done.is_empty() => {
                let written = WrittenReport::failed(self.opened.name(), dry_run, failure.line());
                self.exit = written.exit();
                self.done.push(Step { what: step.into(), written, moves: Vec::new() });
                return Ok(());
            }
            written => written?,
        };
        let mut report = written.report(dry_run);
        // What changes hands is in the moves.
        report.changes = lost(report.changes);
        self.exit = report.exit();
        // If others wrote in between, that isn't this step's doing.
        if let Some(before) = &written.before {
            self.live = before.clone();
        }
        let after = after(written)?;
        let secrecy = Secrecy::of(&self.opened.target.resource);
        let moves = after.as_ref().map(|after| {
            let arena = Arena::new();
            moves(&Owners::of(&arena, &self.live), &Owners::of(&arena, after), secrecy)
        });
        self.done.push(Step { what: step.into(), written: report, moves: moves.unwrap_or_default() });
        if let Some(after) = after {
            self.live = after;
        }
        Ok(())
    }

    /// How far the next write goes. The server tries each write alone, so that it doesn't see those before.
    pub(crate) fn next_dry_run(&self) -> DryRunStrategy {
        match self.dry_run {
            DryRunStrategy::Server if !self.done.is_empty() => DryRunStrategy::Client,
            dry_run => dry_run,
        }
    }

    /// Whether no write was refused.
    pub(crate) fn are_done(&self) -> bool {
        self.exit == Exit::Done
    }

    /// Prints what was done, and what is left to do if nothing was refused.
    pub(crate) fn finish(
        self,
        left_to_do: Vec<String>,
        output: OutputArgs,
        terminal: &mut Terminal,
    ) -> Ending {
        let left_to_do = if self.are_done() { left_to_do } else { Vec::new() };
        let report = Report { object: self.opened.name(), steps: self.done, left_to_do };
        output.output.print(terminal, &report, |terminal| {
            writeln!(terminal.out, "{BOLD}{}{BOLD:#}", report.object)?;
            for (index, Step { what, written, moves }) in report.steps.iter().enumerate() {
                write!(terminal.out, "{}. {what}: ", index + 1)?;
                written.write_result(terminal)?;
                if !moves.is_empty() {
                    moves_table(moves).write(&mut *terminal.out, "   ")?;
                }
                written.write_notes(terminal, "   ")?;
            }
            if !report.left_to_do.is_empty() {
                writeln!(terminal.out, "{CYAN}Left to do:{CYAN:#}")?;
            }
            report.left_to_do.iter().try_for_each(|one| writeln!(terminal.out, "- {one}"))
        })?;
        Ok(self.exit)
    }
}

/// The values that are removed or changed.
fn lost(mut changes: Vec<view::Change>) -> Vec<view::Change> {
    changes.retain(|change| matches!(change.kind, ChangeKind::Changed | ChangeKind::Removed));
    changes
}

/// The object that a write leaves, or would leave.
fn after(written: Written) -> Result<Option<LiveObject>, Failure> {
    let Written { before, write, outcome, .. } = written;
    match (outcome, write.prediction) {
        (Some(Outcome::Stored { object, .. }), _) => Ok(Some(object)),
        (None, Ok(Prediction::Stored(stored))) => {
            let returned = stored.returned(before.as_ref());
            Ok(Some(returned.map_err(|error| Failure::Format("an object", error.into()))?))
        }
        (None | Some(Outcome::Skipped), Ok(Prediction::NoOp)) => Ok(before),
        _ => Ok(None),
    }
}
