//! `release`: a manager gives a field up.

use baton_apply::{
    Forecast, LiveObject,
    ownership::{Release, owners},
};
use clap::Args;

use crate::{
    Terminal,
    cluster::{ClusterArgs, Reference},
    failure::{Ending, Failure},
    opened::{Opened, Steps},
    owners::labels,
    path::{FieldQuery, is_within},
    view::OutputArgs,
    write::DryRunArgs,
};

/// The manager of writes that only change who owns a field, and that become no owner.
pub(super) const ITSELF: &str = "kubectl-baton";

/// Have a manager give a field up
///
/// A manager that has applied the field applies what it has applied without it, as its manifest would without the field. A manager
/// that has written the field otherwise loses it in the managedFields, and the value stays. Without another owner, an applied field
/// is removed or gets its default: then --drop is needed.
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
    let left = release(&mut steps, &opened, &path, &from, drop).await?;
    steps.finish(left, output, terminal)
}

/// The steps by which a manager gives a field up, and what is left to do.
pub(super) async fn release(
    steps: &mut Steps<'_>,
    opened: &Opened,
    query: &FieldQuery,
    manager: &str,
    may_lose_it: bool,
) -> Result<Vec<String>, Failure> {
    let Owned { path, has_applied, has_updated } = owned(&steps.live, query, manager)?;
    let mut left = Vec::new();
    if has_applied {
        steps
            .write(format!("{manager} applies its fields without {path}"), |live| {
                let request = opened.apply_without(live, manager, query)?;
                if let Ok(Forecast::Stored(stored)) = &opened.writer.predict(request.clone(), Some(live)).write.forecast
                    && !may_lose_it
                    && let Some(lost) = stored.effects.removes.iter().chain(&stored.effects.sets).find(|lost| {
                        is_within(lost.as_str(), &path) || is_within(&path, lost.as_str())
                    })
                {
                    return Err(Failure::Input(format!(
                        "nobody else owns {lost}: it would be removed, or get its default. Share it first, or add --drop"
                    )));
                }
                Ok(request)
            })
            .await?;
        left.push(format!("Remove {path} from the manifest of {manager}, before it is applied again."));
    }
    if has_updated {
        steps
            .write(format!("{manager} loses {path} in the managedFields"), |live| {
                Opened::at(live, query, |_, path| {
                    let own = owners(live, path).into_iter();
                    let own: Vec<_> = own.filter(|own| own.manager == manager).collect();
                    let request = Release::new(live, path, &own).request(opened.target.clone(), ITSELF);
                    request.map_err(|error| Failure::Format("a JSON patch", error.into()))
                })
            })
            .await?;
    }
    Ok(left)
}

/// A field that a manager owns.
pub(super) struct Owned {
    path: String,
    has_applied: bool,
    has_updated: bool,
}

/// How a manager owns a field. Fails if it doesn't.
pub(super) fn owned(live: &LiveObject, query: &FieldQuery, manager: &str) -> Result<Owned, Failure> {
    Opened::at(live, query, |owners, path| {
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
