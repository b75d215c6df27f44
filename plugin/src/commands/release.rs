//! `release`: a manager stops owning a field.

use baton_apply::{
    LiveObject,
    ownership::{FieldRelease, owners_within},
};
use clap::Args;

use crate::{
    cluster::{ClusterArgs, Reference},
    error::{CommandError, Ending},
    model::{FieldQuery, labels},
    terminal::Terminal,
    view::{WriteArgs, changes_table},
    write::{Applied, Opened, Steps},
};

/// The manager of writes that only change owners. It becomes no owner itself.
pub(super) const ITSELF: &str = "kubectl-baton";

/// How many lost values the error names.
const MOST_NAMED: usize = 5;

/// Release a field: a manager stops owning it
///
/// A manager that has applied the field applies what it has applied, without the field. If the manager wrote the field by an update, the
/// field is removed from its entry in the managedFields, and the value stays.
///
/// Without another owner, an applied field is removed, or gets its default; this needs --drop. With the last owned field of a map or
/// struct, the fields in it without an owner are removed, too. The values are shown before they are lost.
///
/// The manager's other fields stay its own, also those that the server doesn't store, such as a Secret's stringData.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kubectl baton release deployment/web .spec.replicas --from ci
  kubectl baton release cm/settings '.data[\"a.b\"]' --from ci --drop --dry-run=server")]
pub(crate) struct ReleaseArgs {
    /// The object, such as deployment/web.
    #[arg(value_name = "TYPE/NAME")]
    object: Reference,
    /// The field, with the fields in it.
    path: FieldQuery,
    /// The manager that releases it.
    #[arg(long, value_name = "MANAGER")]
    from: String,
    /// Do it even if the value is lost.
    #[arg(long)]
    drop: bool,
    #[command(flatten)]
    writes: WriteArgs,
}

pub(crate) async fn run(args: ReleaseArgs, cluster: &ClusterArgs, terminal: &mut Terminal) -> Ending {
    let ReleaseArgs { object, path, from, drop, writes } = args;
    let dry_run = writes.dry_run(terminal)?;
    let opened = Opened::new(&object, cluster).await?;
    let mut steps = Steps::new(&opened, dry_run);
    let left = release(&mut steps, &path, &from, drop, terminal).await?;
    writes.finish(steps, left, terminal)
}

/// The steps in which a manager releases a field. Returns what is left to do.
pub(super) async fn release(
    steps: &mut Steps<'_>,
    query: &FieldQuery,
    manager: &str,
    may_lose_it: bool,
    terminal: &mut Terminal,
) -> Result<Vec<String>, CommandError> {
    let opened = steps.opened;
    let OwnedBy { path, has_applied, has_updated } = owned(opened, &steps.live, query, manager)?;
    let mut left = Vec::new();
    if has_applied {
        stop_applying(steps, (query, path.as_str()), manager, may_lose_it, terminal).await?;
        left.push(format!("Remove {path} from the manifest of {manager}, before it is applied again."));
    }
    if has_updated {
        steps
            .write(format!("{manager} loses {path} in the managedFields"), async |live| {
                opened.at(live, query, |_, path| {
                    let own = owners_within(live, path).into_iter();
                    let own: Vec<_> = own.filter(|own| own.manager == manager).collect();
                    let request = FieldRelease::new(live, path, &own).request(opened.target.clone(), ITSELF);
                    request.map_err(CommandError::format("a JSON patch"))
                })
            })
            .await?;
    }
    Ok(left)
}

/// The steps in which a manager applies its fields except one, and keeps those without a value.
pub(super) async fn stop_applying(
    steps: &mut Steps<'_>,
    (query, path): (&FieldQuery, &str),
    manager: &str,
    may_lose_it: bool,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let opened = steps.opened;
    let (mut unstored, mut shown) = (None, Vec::new());
    let dry_run = steps.next_dry_run();
    steps
        .write(format!("{manager} applies its fields without {path}"), async |live| {
            let applied = Applied::of(opened, live, manager);
            let lost = applied.lost_without((query, path), dry_run).await?;
            if lost.is_empty() {
                return applied.disown(query);
            }
            if !may_lose_it {
                let mut named: Vec<_> = lost.iter().map(|lost| lost.path.clone()).collect();
                if named.len() > MOST_NAMED {
                    let more = named.split_off(MOST_NAMED).len();
                    named.push(format!("and {more} more"));
                }
                return Err(CommandError::Input(format!(
                    "{manager} is the last owner, so these values would be removed, or get their defaults: {}. Share the field first, or \
                     add --drop",
                    named.join(", ")
                )));
            }
            // A retry shows them again only if they are others.
            if lost != shown {
                terminal.warn("these values are removed, or get their defaults:")?;
                changes_table(&lost).write(&mut *terminal.err, "  ")?;
                shown = lost;
            }
            unstored = applied.unstored_without(query)?;
            applied.without(query)
        })
        .await?;
    if let Some(fields) = unstored {
        steps
            .write(format!("{manager} owns its fields without a value again"), async |live| {
                Applied::of(opened, live, manager).own_as_well(&fields)
            })
            .await?;
    }
    Ok(())
}

/// A field that a manager owns.
pub(super) struct OwnedBy {
    path: String,
    has_applied: bool,
    has_updated: bool,
}

/// How a manager owns a field. Fails if it doesn't.
pub(super) fn owned(
    opened: &Opened,
    live: &LiveObject,
    query: &FieldQuery,
    manager: &str,
) -> Result<OwnedBy, CommandError> {
    opened.at(live, query, |owners, path| {
        let all = owners.within(path);
        let own = || all.iter().filter(|own| own.name == manager);
        if own().next().is_none() {
            let owners: Vec<_> = all.into_iter().cloned().collect();
            let owners = labels(&owners);
            return Err(CommandError::Input(format!("{manager} doesn't own {path}; its owners: {owners}")));
        }
        Ok(OwnedBy {
            path: path.to_string(),
            has_applied: own().any(|own| own.applies()),
            has_updated: own().any(|own| !own.applies()),
        })
    })
}
