//! `migrate`: from client-side to server-side apply and back, and from one manager's name to another.

use std::path::PathBuf;

use baton_apply::{
    Guard, LiveObject, ManagedFieldsEntry, Request,
    fieldpath::{FieldSet, Path, PathElement::Field},
    ownership::{CLIENT_SIDE_APPLY, LAST_APPLIED, Migration, applied_fields, is_client_side_apply, owners},
};
use baton_merge::Arena;
use clap::Args;
use kube::ResourceExt as _;
use serde_json::{Value as Json, json};

use super::release::ITSELF;
use crate::{
    cluster::{ClusterArgs, Connection, Reference},
    error::{CommandError, Ending, Exit},
    manifest::ManifestArgs,
    model::label,
    terminal::Terminal,
    view::WriteArgs,
    write::{KUBECTL, Opened, Steps},
};

/// The manager by which kubectl keeps the annotation of client-side apply up to date after a migration.
const KEEPS_LAST_APPLIED: &str = "kubectl-last-applied";
const LAST_APPLIED_PATH: Path<'static> =
    Path::new(&[Field("metadata"), Field("annotations"), Field(LAST_APPLIED)]);

/// Go from client-side to server-side apply and back, or rename a manager
///
/// To server-side apply: the fields of client-side apply pass to the manager `kubectl`, or to the one in --to, as with `kubectl apply
/// --server-side`. Without that, a field that is removed from the manifest stays in the object.
///
/// Back: the fields that the manager has applied are written into the annotation that client-side apply compares with, so that `kubectl
/// apply` removes fields that are removed from the manifest.
///
/// From one manager to another: the second owns all fields of the first, however they were written, as if it had applied them. With the
/// same manager twice, fields that it owns by updates become a part of what it applies; otherwise its applies conflict with them.
///
/// With --dry-run=client or server, nothing is stored, and the fields whose owners would change are shown.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kubectl baton migrate deployment/web --dry-run=client
  kubectl baton migrate -f manifests/ --to ci
  kubectl baton migrate deployment/web --to client-side
  kubectl baton migrate deployment/web --from helm --to flux
  kubectl baton migrate deployment/web --from helm --to helm")]
pub(crate) struct MigrateArgs {
    /// The object, such as deployment/web.
    #[arg(value_name = "TYPE/NAME", required_unless_present = "filename")]
    object: Option<Reference>,
    /// All objects in a file, a folder, or `-` for standard input. May be given several times.
    #[arg(short = 'f', long, value_name = "FILE", conflicts_with = "object")]
    filename: Vec<PathBuf>,
    /// `client-side`, `server-side` for the manager kubectl, or a manager. If absent, `client-side`, or `server-side` with --to client-side.
    #[arg(long, value_name = "FROM")]
    from: Option<Side>,
    /// `server-side` for the manager kubectl, `client-side`, or a manager.
    #[arg(long, value_name = "TO", default_value = SERVER_SIDE)]
    to: Side,
    #[command(flatten)]
    writes: WriteArgs,
}

const CLIENT_SIDE: &str = "client-side";
const SERVER_SIDE: &str = "server-side";

/// A way to apply.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Side {
    Client,
    /// Server-side, as this manager.
    Server(String),
}

impl From<&str> for Side {
    fn from(text: &str) -> Self {
        match text {
            CLIENT_SIDE => Self::Client,
            SERVER_SIDE => Self::Server(KUBECTL.to_owned()),
            manager => Self::Server(manager.to_owned()),
        }
    }
}

pub(crate) async fn run(args: MigrateArgs, cluster: &ClusterArgs, terminal: &mut Terminal) -> Ending {
    let MigrateArgs { object, filename, from, to, writes } = args;
    let dry_run = writes.dry_run(terminal)?;
    let usual = if to == Side::Client { Side::from(SERVER_SIDE) } else { Side::Client };
    let from = from.unwrap_or(usual);
    if from == to && to == Side::Client {
        return Err(CommandError::Input("--from and --to are both client-side".to_owned()));
    }
    let objects = match object {
        Some(reference) => vec![Opened::new(&reference, cluster).await?],
        None => opened(ManifestArgs::of(filename), cluster, terminal).await?,
    };
    let mut exit = Exit::Done;
    for opened in objects {
        let mut steps = Steps::new(&opened, dry_run);
        let left = match (&from, &to) {
            (Side::Client, Side::Server(manager)) => to_server_side(&mut steps, manager).await?,
            (Side::Server(manager), Side::Client) => to_client_side(&mut steps, manager).await?,
            (Side::Server(old), Side::Server(new)) => rename(&mut steps, old, new).await?,
            (Side::Client, Side::Client) => None,
        };
        let ended = writes.finish(steps, left.into_iter().collect(), terminal)?;
        if ended != Exit::Done {
            exit = ended;
        }
    }
    Ok(exit)
}

/// The live objects of manifests.
async fn opened(
    manifests: ManifestArgs,
    cluster: &ClusterArgs,
    terminal: &mut Terminal,
) -> Result<Vec<Opened>, CommandError> {
    let manifests = manifests.read(&mut *terminal.input)?;
    let connection = Connection::new(cluster).await?;
    let kinds = connection.kinds().await?;
    let mut opened = Vec::new();
    for manifest in manifests {
        let target = kinds.of_manifest(&manifest, &connection.namespace)?;
        opened.push(Opened::of(&connection, target).await?);
    }
    Ok(opened)
}

/// Migrates as `kubectl apply --server-side` does for an object that was applied client-side.
async fn to_server_side(steps: &mut Steps<'_>, manager: &str) -> Result<Option<String>, CommandError> {
    let opened = steps.opened;
    let migration =
        |live: &LiveObject| migration(opened, live, manager, "client-side apply", is_client_side_apply);
    migration(&steps.live)?;
    let annotation = steps.live.annotations().get(LAST_APPLIED).cloned();
    let is_kept =
        owners(&steps.live, LAST_APPLIED_PATH).iter().any(|owner| owner.manager == KEEPS_LAST_APPLIED);
    if let Some(annotation) = annotation.filter(|_| manager == KUBECTL && !is_kept) {
        steps
            .write(format!("{KEEPS_LAST_APPLIED} applies the annotation of client-side apply"), async |live| {
                let target = &opened.target;
                let metadata = json!({"name": target.name, "annotations": {LAST_APPLIED: annotation}});
                let intent = json!({
                    "apiVersion": target.resource.api_version, "kind": target.resource.kind, "metadata": metadata,
                });
                let guard = Guard::Unchanged(live.revision());
                Ok(Request::apply(target.clone(), intent, KEEPS_LAST_APPLIED, false, &guard))
            })
            .await?;
    }
    steps
        .write(format!("what client-side apply owns passes to {manager}"), async |live| {
            request(&migration(live)?, opened)
        })
        .await?;
    let flag = if manager == KUBECTL { String::new() } else { format!(" --field-manager {manager}") };
    Ok(Some(format!("From now on, apply it with: kubectl apply --server-side{flag}")))
}

/// Prepares an object for `kubectl apply` without `--server-side`.
async fn to_client_side(steps: &mut Steps<'_>, manager: &str) -> Result<Option<String>, CommandError> {
    let opened = steps.opened;
    steps
        .write(
            format!("what {manager} has applied is put into the annotation of client-side apply"),
            async |live| {
                let applied = last_applied(opened, live, manager)?;
                let annotate = if live.annotations().is_empty() {
                    json!({"op": "add", "path": "/metadata/annotations", "value": {LAST_APPLIED: applied}})
                } else {
                    let name = LAST_APPLIED.replace('/', "~1");
                    json!({"op": "add", "path": format!("/metadata/annotations/{name}"), "value": applied})
                };
                opened.patch(live, CLIENT_SIDE_APPLY, &annotate)
            },
        )
        .await?;
    Ok(Some("From now on, apply it with: kubectl apply".to_owned()))
}

/// The annotation of client-side apply: the fields that the manager has applied.
fn last_applied(opened: &Opened, live: &LiveObject, manager: &str) -> Result<String, CommandError> {
    let arena = Arena::new();
    let own = applied_fields(&arena, live, manager).leaves(&arena);
    let own = own.recursive_difference(&arena, FieldSet::of_paths(&arena, [LAST_APPLIED_PATH]));
    if own.is_empty() {
        return Err(CommandError::Input(format!("{manager} has applied nothing of {}", opened.name())));
    }
    let mut intent = opened.writer.schemas.intent(&opened.target, live, own)?;
    let metadata = &mut intent["metadata"];
    // As kubectl writes it.
    if metadata.get("annotations").is_none() {
        metadata["annotations"] = json!({});
    }
    if let Some(namespace) = &opened.target.namespace {
        metadata["namespace"] = Json::from(namespace.as_str());
    }
    Ok(format!("{intent}\n"))
}

async fn rename(steps: &mut Steps<'_>, old: &str, new: &str) -> Result<Option<String>, CommandError> {
    let opened = steps.opened;
    let is_old = |entry: &ManagedFieldsEntry<'_>| entry.manager() == old;
    let named = if old == new { label(old, "Update", None) } else { old.to_owned() };
    steps
        .write(format!("what {named} owns passes to {new}"), async |live| {
            request(&migration(opened, live, new, &named, is_old)?, opened)
        })
        .await?;
    Ok(Some(format!("From now on, apply it as the manager {new}.")))
}

/// The migration of the fields in these entries to the manager. Fails if there are none, or if the manager can't own them, because of the
/// version that they are in.
fn migration(
    opened: &Opened,
    live: &LiveObject,
    manager: &str,
    old: &str,
    is_old: impl Fn(&ManagedFieldsEntry<'_>) -> bool,
) -> Result<Migration, CommandError> {
    let entries = live.managed_fields();
    let is_own = |entry: &&ManagedFieldsEntry<'_>| entry.is_apply() && entry.manager() == manager;
    let of_object = || entries.iter().filter(|entry| entry.subresource().is_none());
    let own = of_object().find(is_own).map(ManagedFieldsEntry::api_version);
    for entry in of_object().filter(|entry| is_old(entry) && !is_own(entry)) {
        let version = entry.api_version();
        if own.is_some_and(|own| own != version) || !opened.is_served(version) {
            let way_out = format!("of {manager}, apply it, and release them from {old}");
            opened.check_version(old, version, |_, _| format!("put them into the manifest {way_out}"))?;
            if let Some(own) = own {
                opened.check_version(manager, own, |_, _| {
                    format!("put the fields of {old} into the manifest {way_out}")
                })?;
            }
        }
    }
    Migration::to(manager, live, &opened.versions(), is_old)
        .ok_or_else(|| CommandError::Input(format!("{old} owns nothing of {}", opened.name())))
}

fn request(migration: &Migration, opened: &Opened) -> Result<Request, CommandError> {
    let request = migration.request(opened.target.clone(), ITSELF);
    request.map_err(CommandError::format("a JSON patch"))
}
