//! `reset`: clears the owners of an object.

use clap::Args;
use serde_json::json;

use super::release::ITSELF;
use crate::{
    cluster::{ClusterArgs, Reference},
    error::{CommandError, Ending, Exit},
    terminal::Terminal,
    view::WriteArgs,
    write::{DryRunStrategy, Opened, Steps},
};

/// Clear the managedFields of an object
///
/// The last resort. Afterwards no field has an owner: no apply conflicts, and a field that a manager leaves out of its next apply stays in
/// the object. The values stay as they are. The server refuses the write if the object has changed since it was read.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kubectl baton reset deployment/web --dry-run=client
  kubectl baton reset deployment/web --yes")]
pub(crate) struct ResetArgs {
    /// The object, such as deployment/web.
    #[arg(value_name = "TYPE/NAME")]
    object: Reference,
    /// Skip the confirmation.
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    writes: WriteArgs,
}

pub(crate) async fn run(args: ResetArgs, cluster: &ClusterArgs, terminal: &mut Terminal) -> Ending {
    let dry_run = args.writes.dry_run(terminal)?;
    let opened = Opened::new(&args.object, cluster).await?;
    if dry_run == DryRunStrategy::None && !args.yes {
        let managers = opened.live.managers().join(", ");
        let question =
            format!("Clear the owners of the fields of {}? Its managers are {managers}.", opened.name());
        match terminal.confirms(&question)? {
            Some(true) => {}
            Some(false) => {
                writeln!(terminal.out, "Nothing was changed.")?;
                return Ok(Exit::Done);
            }
            None => {
                return Err(CommandError::Input(
                    "there is no terminal to confirm on: add --yes to clear the managedFields".to_owned(),
                ));
            }
        }
    }
    let mut steps = Steps::new(&opened, dry_run);
    steps
        .write("the managedFields are cleared", async |live| {
            let clear = json!({"op": "replace", "path": "/metadata/managedFields", "value": [{}]});
            opened.patch(live, ITSELF, &clear)
        })
        .await?;
    args.writes.finish(steps, Vec::new(), terminal)
}
