//! `reset`: clears who owns an object.

use clap::Args;
use serde_json::json;

use super::release::ITSELF;
use crate::{
    Terminal,
    cluster::{ClusterArgs, Reference},
    failure::{Ending, Exit, Failure},
    opened::Opened,
    view::OutputArgs,
    write::{DryRunArgs, DryRunStrategy},
};

/// Clear the managedFields of an object
///
/// The last resort: afterwards nobody owns a field, so that no apply conflicts, and what a manager leaves out of its next apply
/// stays in the object. The values stay as they are. The server refuses it if the object has changed since it was read.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kubectl baton reset deployment/web --dry-run=client
  kubectl baton reset deployment/web --yes")]
pub(crate) struct ResetArgs {
    /// The object, such as deployment/web.
    #[arg(value_name = "TYPE/NAME")]
    object: Reference,
    /// Don't ask.
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    dry_run: DryRunArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) async fn run(args: ResetArgs, cluster: &ClusterArgs, terminal: &mut Terminal) -> Ending {
    let dry_run = args.dry_run.get(terminal)?;
    let opened = Opened::new(&args.object, cluster).await?;
    if dry_run == DryRunStrategy::None && !args.yes {
        let managers = opened.live.managers().join(", ");
        let question =
            format!("Clear who owns the fields of {}? Its managers are {managers}.", opened.name());
        match terminal.confirms(&question)? {
            Some(true) => {}
            Some(false) => {
                writeln!(terminal.out, "Nothing was changed.")?;
                return Ok(Exit::Done);
            }
            None => {
                return Err(Failure::Input(
                    "nobody can be asked: add --yes to clear the managedFields".to_owned(),
                ));
            }
        }
    }
    let mut steps = opened.steps(dry_run);
    steps
        .write("the managedFields are cleared", async |live| {
            let clear = json!({"op": "replace", "path": "/metadata/managedFields", "value": [{}]});
            opened.patch(live, ITSELF, &clear)
        })
        .await?;
    steps.finish(Vec::new(), args.output, terminal)
}
