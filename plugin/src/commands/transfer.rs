//! `transfer`: a field passes from one manager to another.

use clap::Args;

use super::{
    release::{owned, release},
    share::share,
};
use crate::{
    cluster::{ClusterArgs, Reference},
    error::Ending,
    model::FieldQuery,
    terminal::Terminal,
    view::WriteArgs,
    write::{Opened, Steps},
};

/// Pass a field from one manager to another, without losing its value
///
/// First the new owner applies the field as it is, then the old owner releases it. In between both own it, so the value stays whatever
/// happens.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kubectl baton transfer deployment/web .spec.template.spec.priorityClassName --from kubectl --to platform
  kubectl baton transfer deployment/web .spec.replicas --from ci --to ops --dry-run=client")]
pub(crate) struct TransferArgs {
    /// The object, such as deployment/web.
    #[arg(value_name = "TYPE/NAME")]
    object: Reference,
    /// The field, with the fields in it.
    path: FieldQuery,
    /// The manager that releases it.
    #[arg(long, value_name = "MANAGER")]
    from: String,
    /// The manager that becomes the owner.
    #[arg(long, value_name = "MANAGER")]
    to: String,
    #[command(flatten)]
    writes: WriteArgs,
}

pub(crate) async fn run(args: TransferArgs, cluster: &ClusterArgs, terminal: &mut Terminal) -> Ending {
    let TransferArgs { object, path, from, to, writes } = args;
    let dry_run = writes.dry_run(terminal)?;
    let opened = Opened::new(&object, cluster).await?;
    owned(&opened, &opened.live, &path, &from)?;
    let mut steps = Steps::new(&opened, dry_run);
    let mut left = vec![share(&mut steps, &path, &to).await?];
    if steps.are_done() {
        left.extend(release(&mut steps, &path, &from, false, terminal).await?);
    }
    writes.finish(steps, left, terminal)
}
