//! `apply`: server-side apply that shows what it does.

use baton_apply::Prediction;
use clap::Args;

use crate::{
    cluster::ClusterArgs,
    error::{CommandError, Ending, Exit},
    model::FieldQuery,
    terminal::Terminal,
    view::{OutputArgs, write_object},
    write::{DryRunArgs, DryRunStrategy, Intent, IntentArgs},
};

/// Apply manifests by server-side apply, and show what that changes
///
/// Prints one line for each object, and one for each field that changes: `+` is new, `~` has another value, `-` is removed, `=` is
/// released by this manager and stays, `*` is owned by it from now on, `!` is a conflict. Values of Secrets, environment variables and
/// arguments aren't shown.
///
/// With --dry-run=client only reads are sent; with --live nothing is. With --dry-run=server the server tries the write, and its response
/// is compared with the prediction.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kubectl baton apply -f web.yaml
  kubectl baton apply -f web.yaml --field-manager ci --dry-run=client
  kubectl baton apply -f web.yaml --dry-run=server -o yaml
  kubectl baton apply -f web.yaml --live saved.yaml --dry-run=client
  kubectl baton apply -f web.yaml --release .spec.replicas")]
pub(crate) struct ApplyArgs {
    #[command(flatten)]
    intents: IntentArgs,
    /// Take over all fields that conflict.
    #[arg(long)]
    force_conflicts: bool,
    /// Take over this field if it conflicts, and no other. May be given several times.
    #[arg(long, value_name = "PATH", conflicts_with = "force_conflicts")]
    overwrite: Vec<FieldQuery>,
    /// Leave this field out of the manifests, so that this manager releases it. May be given several times.
    #[arg(long, value_name = "PATH")]
    release: Vec<FieldQuery>,
    /// Apply the live value of this field instead of that in the manifests. May be given several times.
    #[arg(long, value_name = "PATH")]
    share: Vec<FieldQuery>,
    #[command(flatten)]
    dry_run: DryRunArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) async fn run(args: ApplyArgs, cluster: &ClusterArgs, terminal: &mut Terminal) -> Ending {
    let dry_run = args.dry_run.get(terminal)?;
    if !args.intents.live.is_empty() && dry_run != DryRunStrategy::Client {
        return Err(CommandError::Input("--live only predicts: add --dry-run=client".to_owned()));
    }
    let (writer, mut intents) = args.intents.read(cluster, terminal).await?;
    edit(&mut intents, &args.release, Intent::release)?;
    edit(&mut intents, &args.share, Intent::share)?;
    let manager = &args.intents.field_manager;
    let (mut reports, mut exit) = (Vec::new(), Exit::Done);
    for intent in intents {
        let overwritten = args.overwrite.iter().filter_map(|query| intent.path(query).ok());
        let overwritten: Vec<_> = overwritten.collect();
        let written = writer
            .write(intent.live.clone(), dry_run, async |live| {
                let request = intent.request(live, manager, args.force_conflicts);
                if overwritten.is_empty() {
                    return Ok(request);
                }
                let force = match writer.predict(request.clone(), live).write.prediction {
                    Ok(Prediction::Conflicts(conflicts)) => {
                        conflicts.fields.iter().all(|conflict| overwritten.contains(&conflict.path))
                    }
                    _ => false,
                };
                Ok(if force { intent.request(live, manager, true) } else { request })
            })
            .await?;
        let report = written.report(dry_run);
        if report.exit() != Exit::Done {
            exit = report.exit();
        }
        reports.push(report);
    }
    let has_conflicts = reports.iter().any(|report| report.result == "conflict");
    let command = args.intents.command("conflicts", cluster);
    args.output.print(terminal, &reports, |terminal| {
        reports.iter().try_for_each(|report| write_object(report, terminal))?;
        if has_conflicts {
            writeln!(terminal.out, "\nThe ways out: {command}")?;
        }
        Ok(())
    })?;
    Ok(exit)
}

/// Edits each manifest that has these fields. Fails if none has one of them.
fn edit(
    intents: &mut [Intent],
    queries: &[FieldQuery],
    edit: impl Fn(&mut Intent, &FieldQuery) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    for query in queries {
        let results: Vec<_> = intents.iter_mut().map(|intent| edit(intent, query)).collect();
        if results.iter().all(Result::is_err) {
            results.into_iter().collect::<Result<(), _>>()?;
        }
    }
    Ok(())
}
