//! `share`: another manager becomes an owner of a field.

use baton_apply::Secrecy;
use clap::Args;

use crate::{
    cluster::{ClusterArgs, Reference},
    error::{CommandError, Ending},
    model::FieldQuery,
    terminal::Terminal,
    view::WriteArgs,
    write::{Applied, Opened, Steps},
};

/// Make a manager an owner of a field, with its live value
///
/// The manager applies what it has applied and the field as it is, never forced. Afterwards the value stays when one of the owners releases
/// the field, and an apply of another value conflicts with the other owners.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kubectl baton share deployment/web .spec.replicas --with ci
  kubectl baton share deployment/web '.spec.template.spec.containers[name=app].image' --with ci --dry-run=server")]
pub(crate) struct ShareArgs {
    /// The object, such as deployment/web.
    #[arg(value_name = "TYPE/NAME")]
    object: Reference,
    /// The field, with the fields in it.
    path: FieldQuery,
    /// The manager that becomes an owner.
    #[arg(long, value_name = "MANAGER")]
    with: String,
    #[command(flatten)]
    writes: WriteArgs,
}

pub(crate) async fn run(args: ShareArgs, cluster: &ClusterArgs, terminal: &mut Terminal) -> Ending {
    let ShareArgs { object, path, with, writes } = args;
    let dry_run = writes.dry_run(terminal)?;
    let opened = Opened::new(&object, cluster).await?;
    let mut steps = Steps::new(&opened, dry_run);
    let left = share(&mut steps, &path, &with).await?;
    writes.finish(steps, vec![left], terminal)
}

/// The step in which a manager becomes an owner of a field. Returns what is left to do.
pub(super) async fn share(
    steps: &mut Steps<'_>,
    query: &FieldQuery,
    manager: &str,
) -> Result<String, CommandError> {
    let opened = steps.opened;
    let (path, value) = opened.at(&steps.live, query, |owners, path| {
        let value = path
            .find(owners.object)
            .ok_or_else(|| CommandError::Input(format!("{path} has no value to share")))?;
        Ok((path.to_string(), Secrecy::of(&opened.target.resource).shown(path, value)))
    })?;
    steps
        .write(format!("{manager} applies {path} as it is"), async |live| {
            Applied::of(opened, live, manager).with(query)
        })
        .await?;
    if value == Secrecy::HIDDEN {
        return Ok(format!("Add {path} to the manifest of {manager}, before it is applied again."));
    }
    Ok(format!("Add {path} to the manifest of {manager}, as {value}, before it is applied again."))
}
