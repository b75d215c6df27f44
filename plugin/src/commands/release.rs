//! `release`: a manager gives a field up.

use baton_apply::{
    LiveObject,
    ownership::{Release, owners_within},
};
use clap::Args;

use crate::{
    Terminal,
    cluster::{ClusterArgs, Reference},
    failure::{Ending, Failure},
    opened::{Opened, Steps},
    owners::labels,
    path::FieldQuery,
    view::{OutputArgs, Table, YELLOW},
    write::DryRunArgs,
};

/// The manager of writes that only change who owns a field, and that become no owner.
pub(super) const ITSELF: &str = "kubectl-baton";

/// How many values the error names that would be lost.
const MOST_NAMED: usize = 5;

/// Have a manager give a field up
///
/// A manager that has applied the field applies what it has applied without it, as its manifest would without the field. A manager
/// that has written the field otherwise loses it in the managedFields, and the value stays. Without another owner, an applied field
/// is removed or gets its default: then --drop is needed. With the last owned field of a map or struct, all that nobody owns in it
/// goes, too. All values that go are shown before they do.
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
    /// The field, with all that is below it.
    path: FieldQuery,
    /// The manager that gives it up.
    #[arg(long, value_name = "MANAGER")]
    from: String,
    /// Do it even if the value is lost.
    #[arg(long)]
    drop: bool,
    #[command(flatten)]
    dry_run: DryRunArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) async fn run(args: ReleaseArgs, cluster: &ClusterArgs, terminal: &mut Terminal) -> Ending {
    let ReleaseArgs { object, path, from, drop, dry_run, output } = args;
    let dry_run = dry_run.get(terminal)?;
    let opened = Opened::new(&object, cluster).await?;
    let mut steps = opened.steps(dry_run);
    let left = release(&mut steps, &opened, &path, &from, drop, terminal).await?;
    steps.finish(left, output, terminal)
}

/// The steps by which a manager gives a field up, and what is left to do.
pub(super) async fn release(
    steps: &mut Steps<'_>,
    opened: &Opened,
    query: &FieldQuery,
    manager: &str,
    may_lose_it: bool,
    terminal: &mut Terminal,
) -> Result<Vec<String>, Failure> {
    let Owned { path, has_applied, has_updated } = owned(opened, &steps.live, query, manager)?;
    let mut left = Vec::new();
    if has_applied {
        stop_applying(steps, opened, (query, path.as_str()), manager, may_lose_it, terminal).await?;
        left.push(format!("Remove {path} from the manifest of {manager}, before it is applied again."));
    }
    if has_updated {
        steps
            .write(format!("{manager} loses {path} in the managedFields"), async |live| {
                opened.at(live, query, |_, path| {
                    let own = owners_within(live, path).into_iter();
                    let own: Vec<_> = own.filter(|own| own.manager == manager).collect();
                    let request = Release::new(live, path, &own).request(opened.target.clone(), ITSELF);
                    request.map_err(|error| Failure::Format("a JSON patch", error.into()))
                })
            })
            .await?;
    }
    Ok(left)
}

/// The steps by which a manager applies its fields without one, and still owns those that have no value.
pub(super) async fn stop_applying(
    steps: &mut Steps<'_>,
    opened: &Opened,
    (query, path): (&FieldQuery, &str),
    manager: &str,
    may_lose_it: bool,
    terminal: &mut Terminal,
) -> Result<(), Failure> {
    let mut unstored = None;
    let dry_run = steps.next_dry_run();
    steps
        .write(format!("{manager} applies its fields without {path}"), async |live| {
            let lost = opened.lost_without(live, manager, (query, path), dry_run).await?;
            if lost.is_empty() {
                return opened.disown(live, manager, query);
            }
            if !may_lose_it {
                let mut named: Vec<_> = lost.iter().map(|lost| lost.path.clone()).collect();
                if named.len() > MOST_NAMED {
                    let more = named.split_off(MOST_NAMED).len();
                    named.push(format!("and {more} more"));
                }
                return Err(Failure::Input(format!(
                    "{manager} is the last owner, so that these values would go, or get their defaults: {}. Share the field first, or \
                     add --drop",
                    named.join(", ")
                )));
            }
            writeln!(terminal.err, "{YELLOW}warning:{YELLOW:#} these values go, or get their defaults:")?;
            let mut table = Table::headless();
            for lost in &lost {
                lost.row(&mut table);
            }
            table.write(&mut *terminal.err, "  ")?;
            unstored = opened.unstored_without(live, manager, query)?;
            opened.apply_without(live, manager, query)
        })
        .await?;
    if let Some(fields) = unstored {
        steps
            .write(format!("{manager} owns its fields without a value again"), async |live| {
                opened.own_as_well(live, manager, &fields)
            })
            .await?;
    }
    Ok(())
}

/// A field that a manager owns.
pub(super) struct Owned {
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
) -> Result<Owned, Failure> {
    opened.at(live, query, |owners, path| {
        let all = owners.within(path);
        let own = || all.iter().filter(|own| own.name == manager);
        if own().next().is_none() {
            let owners: Vec<_> = all.into_iter().cloned().collect();
            let owners = labels(&owners);
            return Err(Failure::Input(format!("{manager} doesn't own {path}; its owners: {owners}")));
        }
        Ok(Owned {
            path: path.to_string(),
            has_applied: own().any(|own| own.applies()),
            has_updated: own().any(|own| !own.applies()),
        })
    })
}
