//! `owners`: the fields of an object as a tree, with the owners of each.

use std::path::{Path, PathBuf};

use baton_apply::LiveObject;
use baton_merge::{Arena, fieldpath, value::Value};
use clap::Args;
use kube::ResourceExt as _;
use serde::Serialize;
use serde_json::{Value as Json, json};

use crate::{
    cluster::{ClusterArgs, Connection, Reference, name_of},
    error::{CommandError, Ending, Exit},
    manifest,
    model::{FieldQuery, Manager, OwnedField, Owners, check_entries, fields, labels, moves},
    terminal::{CYAN, DIM, PLAIN, Terminal, YELLOW},
    view::{Cell, OutputArgs, Table, manager_cells, moves_table},
};

/// Show who owns which field of an object
///
/// Prints the fields of the object as a tree, with the owners of each and their last write. Brackets show how a manager wrote if not by
/// server-side apply of the object itself: `(Update)`, `(Update scale)`. A dash marks a field without an owner: the server filled it in,
/// or it was written before there was server-side apply.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kubectl baton owners deployment/web
  kubectl baton owners deployment/web --path '.spec.template.spec.containers[name=app]'
  kubectl get deployment web -o yaml --show-managed-fields > before.yaml
  kubectl baton owners deployment/web --diff before.yaml")]
pub(crate) struct OwnersArgs {
    /// The object, such as deployment/web.
    #[arg(value_name = "TYPE/NAME", required_unless_present = "diff")]
    object: Option<Reference>,
    /// Show only this field and the fields in it.
    #[arg(long)]
    path: Option<FieldQuery>,
    /// Show the fields whose owners changed since this saved state. With a second file, compare the two, without a cluster.
    #[arg(long, value_name = "FILE", num_args = 1..=2)]
    diff: Option<Vec<PathBuf>>,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) async fn run(args: OwnersArgs, cluster: &ClusterArgs, terminal: &mut Terminal) -> Ending {
    let saved = args.diff.unwrap_or_default();
    let saved = saved.into_iter().map(|file| read(&file)).collect::<Result<Vec<_>, _>>()?;
    let live = match &args.object {
        None => None,
        Some(reference) => {
            let connection = Connection::new(cluster).await?;
            let target = connection.kinds().await?.target(reference, &connection.namespace)?;
            let live = connection.read(&target).await?;
            Some((connection, target, live))
        }
    };
    match (&saved[..], &live) {
        ([], Some((connection, target, live))) => {
            if let Err(problem) = check_entries(live) {
                terminal.warn(format_args!("{}: {problem}", name_of(target)))?;
            }
            let kinds = std::slice::from_ref(&target.resource);
            let schemas = if may_have_wholes(live) { connection.schemas(kinds).await.ok() } else { None };
            let (arena, schemas) = (Arena::new(), schemas.unwrap_or_default());
            let schema = schemas.fields_at(&arena, target, live, fieldpath::Path::default());
            let owners = Owners::of(&arena, live).with_schema(schema.unwrap_or_default());
            show(live, &owners, args.path.as_ref(), args.output, terminal)
        }
        ([before], Some((_, target, after))) => {
            let unreadable = |problem| CommandError::Input(format!("{}: {problem}", name_of(target)));
            check_entries(after).map_err(unreadable)?;
            compare(before, after, args.path.as_ref(), args.output, terminal)
        }
        ([before, after], None) => compare(before, after, args.path.as_ref(), args.output, terminal),
        _ => {
            Err(CommandError::Input("compare TYPE/NAME with one saved state, or two saved states".to_owned()))
        }
    }
}

/// Whether a manager owns a map or a list without owning anything in it. The schema tells whether it owns the whole.
fn may_have_wholes(live: &LiveObject) -> bool {
    let arena = Arena::new();
    fields(&Owners::of(&arena, live)).iter().any(|field| {
        let is_filled = match field.value {
            Some(Value::Map(map)) => !map.is_empty(),
            Some(Value::List(items)) => !items.is_empty(),
            _ => false,
        };
        is_filled && !field.has_fields && !field.owners.is_empty()
    })
}

/// An object that was saved as YAML or JSON. Its entries of `managedFields` have to be readable.
fn read(file: &Path) -> Result<LiveObject, CommandError> {
    let mut objects = manifest::of_file(file)?;
    let one = objects.pop().filter(|_| objects.is_empty());
    let one = one.ok_or_else(|| CommandError::Input(format!("{}: expected one object", file.display())))?;
    let saved = one.saved()?;
    check_entries(&saved).map_err(|problem| CommandError::Input(format!("{}: {problem}", file.display())))?;
    Ok(saved)
}

/// The identity of an object in a result.
fn identity(live: &LiveObject) -> Json {
    json!({
        "apiVersion": live.get(&["apiVersion"]),
        "kind": live.get(&["kind"]),
        "namespace": live.namespace(),
        "name": live.name_any(),
    })
}

#[derive(Serialize)]
struct Report {
    object: Json,
    managers: Vec<Summary>,
    fields: Vec<ReportedField>,
}

#[derive(Serialize)]
struct Summary {
    #[serde(flatten)]
    manager: Manager,
    /// How many fields it owns.
    fields: usize,
}

#[derive(Serialize)]
struct ReportedField {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    owners: Vec<Manager>,
}

fn show(
    live: &LiveObject,
    owners: &Owners<'_>,
    path: Option<&FieldQuery>,
    output: OutputArgs,
    terminal: &mut Terminal,
) -> Ending {
    let mut fields = fields(owners);
    if let Some(query) = path {
        let path = owners.path(query)?;
        let whole = owners.whole_above(path).unwrap_or(path);
        fields.retain(|field| field.path.elements().starts_with(whole.elements()));
    }
    let value = |field: &OwnedField<'_>| {
        let value = field.value.filter(|_| !field.has_fields)?;
        Some(owners.shown(field.path, value))
    };
    let owned = |index: usize| fields.iter().filter(|field| field.owners.contains(&index)).count();
    let summary = owners.managers.iter().enumerate();
    let summary = summary.map(|(index, manager)| Summary { manager: manager.clone(), fields: owned(index) });
    let summary: Vec<_> = summary.filter(|summary| path.is_none() || summary.fields > 0).collect();
    let reported = fields.iter().map(|field| ReportedField {
        path: field.path.to_string(),
        value: value(field),
        owners: field.owners.iter().map(|index| owners.managers[*index].clone()).collect(),
    });
    let report = Report { object: identity(live), managers: summary, fields: reported.collect() };
    output.print(terminal, &report, |terminal| {
        let table = Table::new(["FIELD", "VALUE", "OWNERS", "LAST WRITE"]);
        let mut tree = Tree { owners, value: &value, table };
        tree.add(&fields, 0, 0);
        tree.table.write(&mut *terminal.out, "")?;
        writeln!(terminal.out)?;
        let unowned = fields.iter().filter(|field| field.owners.is_empty() && !field.has_fields).count();
        summary_table(&report.managers, unowned).write(&mut *terminal.out, "")
    })?;
    Ok(Exit::Done)
}

/// The rows of a tree.
struct Tree<'t, 'a> {
    owners: &'t Owners<'a>,
    value: &'t dyn Fn(&OwnedField<'a>) -> Option<String>,
    table: Table<4>,
}

impl<'a> Tree<'_, 'a> {
    /// Adds these fields, which are all below a path of so many elements. What several of them have in common is a row above them.
    fn add(&mut self, mut fields: &[OwnedField<'a>], above: usize, depth: usize) {
        while let Some(first) = fields.first() {
            let own = first.path.elements();
            let beside = own.get(..=above).unwrap_or(own);
            let is_beside = |field: &&OwnedField<'a>| field.path.elements().starts_with(beside);
            let (mut group, mut rest) = fields.split_at(fields.iter().take_while(is_beside).count());
            let has_it =
                |end: usize| group.iter().all(|field| field.path.elements().starts_with(&own[..end]));
            let shared = (above + 1..=own.len()).rev().find(|end| has_it(*end)).unwrap_or(own.len());
            let name = fieldpath::Path::new(&own[above..shared]).to_string();
            let name = format!("{:indent$}{name}", "", indent = INDENTATION * depth);
            if shared == own.len() {
                // Two items of a list may have one key, and so one path.
                let again = group.iter().skip(1).position(|field| field.path == first.path);
                let end = again.map_or(group.len(), |at| at + 1);
                (group, rest) = fields.split_at(end);
                self.field(name, first);
                self.add(&group[1..], shared, depth + 1);
            } else {
                self.table.row([Cell::new(name, DIM), "".into(), "".into(), "".into()]);
                self.add(group, shared, depth + 1);
            }
            fields = rest;
        }
    }

    fn field(&mut self, name: String, field: &OwnedField<'a>) {
        let own: Vec<_> = field.owners.iter().map(|index| self.owners.managers[*index].clone()).collect();
        let (owners, style) = match own[..] {
            [] if field.has_fields => (String::new(), PLAIN),
            [] => (labels(&own), DIM),
            [_] => (labels(&own), CYAN),
            _ => (labels(&own), YELLOW),
        };
        let value = match (&field.value, (self.value)(field)) {
            (_, Some(value)) => value,
            (Some(_), None) => String::new(),
            (None, None) => "(not stored)".to_owned(),
        };
        let last = own.iter().filter_map(|manager| manager.time.as_deref()).max().unwrap_or_default();
        self.table.row([name.into(), value.into(), Cell::new(owners, style), Cell::new(last, DIM)]);
    }
}

/// How far a level of the tree is indented.
const INDENTATION: usize = 2;

fn summary_table(managers: &[Summary], unowned: usize) -> Table<5> {
    let mut table = Table::new(["MANAGER", "OPERATION", "SUBRESOURCE", "LAST WRITE", "FIELDS"]);
    for Summary { manager, fields } in managers {
        let [name, operation, subresource, time] = manager_cells(manager);
        table.row([name, operation, subresource, time, fields.to_string().into()]);
    }
    if unowned > 0 {
        let dash = || Cell::new("-", DIM);
        table.row([Cell::new("(nobody)", DIM), dash(), dash(), dash(), unowned.to_string().into()]);
    }
    table
}

fn compare(
    before: &LiveObject,
    after: &LiveObject,
    path: Option<&FieldQuery>,
    output: OutputArgs,
    terminal: &mut Terminal,
) -> Ending {
    let arena = Arena::new();
    let (had, have) = (Owners::of(&arena, before), Owners::of(&arena, after));
    let mut moves = moves(&had, &have);
    if let Some(query) = path {
        let path = have.path(query).or_else(|_| had.path(query))?;
        moves.retain(|one| one.is_within(path));
    }
    output.print(terminal, &moves, |terminal| {
        if moves.is_empty() {
            return writeln!(terminal.out, "No owners changed.");
        }
        moves_table(&moves).write(&mut *terminal.out, "")
    })?;
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_with_one_key_are_two_rows() {
        let fields_v1 = json!({"f:spec": {"f:containers": {"k:{\"name\":\"app\"}": {
            ".": {}, "f:name": {}, "f:env": {"k:{\"name\":\"A\"}": {".": {}, "f:name": {}, "f:value": {}}},
        }}}});
        let entry = json!({"manager": "m", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields_v1});
        let env = json!([{"name": "A", "value": "1"}, {"name": "A", "value": "2"}, {"name": "A"}]);
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "managedFields": [entry]},
            "spec": {"containers": [{"name": "app", "env": env}]},
        });
        let live = LiveObject::from_json(pod).unwrap();
        let arena = Arena::new();
        let owners = Owners::of(&arena, &live);
        let mut tree = Tree { owners: &owners, value: &|_| Some(String::new()), table: Table::headless() };
        tree.add(&fields(&owners), 0, 0);
        let mut out = anstream::StripStream::new(Vec::new());
        tree.table.write(&mut out, "").unwrap();
        let text = String::from_utf8(out.into_inner()).unwrap();
        let names: Vec<_> =
            text.lines().filter_map(|line| line.trim_end().strip_suffix("m")).map(str::trim_end).collect();
        assert_eq!(
            names,
            [
                ".spec.containers[name=\"app\"]",
                "  .env[name=\"A\"]",
                "    .name",
                "    .value",
                "  .env[name=\"A\"]",
                "    .name",
                "    .value",
                "  .env[name=\"A\"]",
                "    .name",
                "    .value",
                "  .name",
            ]
        );
    }
}
