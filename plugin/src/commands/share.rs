//! `share`: another manager comes to own a field as well.

use clap::Args;

use crate::{
    Terminal,
    cluster::{ClusterArgs, Reference},
    failure::{Ending, Failure},
    opened::{Opened, Steps},
    path::FieldQuery,
    view::{OutputArgs, Secrecy},
    write::DryRunArgs,
};

/// Have a manager own a field as well, with the value that it has
///
/// The manager applies what it has applied, and the field as it is; never forced. Afterwards each owner can stop to apply the field
/// without its value being lost, and none can change it without a conflict with the others.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kubectl baton share deployment/web .spec.replicas --with ci
  kubectl baton share deployment/web '.spec.template.spec.containers[name=app].image' --with ci --dry-run=server")]
pub(crate) struct ShareArgs {
    /// The object, such as deployment/web.
    #[arg(value_name = "TYPE/NAME")]
    object: Reference,
    /// The field, with all that is below it.
    path: FieldQuery,
    /// The manager that comes to own it.
    #[arg(long, value_name = "MANAGER")]
    with: String,
    #[command(flatten)]
    dry_run: DryRunArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) async fn run(args: ShareArgs, cluster: &ClusterArgs, terminal: &mut Terminal) -> Ending {
    let ShareArgs { object, path, with, dry_run, output } = args;
    let dry_run = dry_run.get(terminal)?;
    let opened = Opened::new(&object, cluster).await?;
    let mut steps = opened.steps(dry_run);
    let left = share(&mut steps, &opened, &path, &with).await?;
    steps.finish(vec![left], output, terminal)
}

/// The step by which a manager comes to own a field, and what is left to do.
pub(super) async fn share(
    steps: &mut Steps<'_>,
    opened: &Opened,
    query: &FieldQuery,
    manager: &str,
) -> Result<String, Failure> {
    let (path, value) = opened.at(&steps.live, query, |owners, path| {
        let value = path
            .find(owners.object)
            .ok_or_else(|| Failure::Input(format!("{path} has no value to share")))?;
        Ok((path.to_string(), Secrecy::of(&opened.target.resource).shown(path, value)))
    })?;
    steps
        .write(format!("{manager} applies {path} as it is"), async |live| {
            opened.apply_with(live, manager, query)
        })
        .await?;
    if value == Secrecy::HIDDEN {
        return Ok(format!("Add {path} to the manifest of {manager}, before it is applied again."));
    }
    Ok(format!("Add {path} to the manifest of {manager}, as {value}, before it is applied again."))
}
