//! `handover`: passes a field on through a temporary manager.

use baton_apply::ownership::hand_over;
use clap::Args;

use super::release::stop_applying;
use crate::{
    Terminal,
    cluster::{ClusterArgs, Reference},
    failure::{Ending, Failure},
    opened::Opened,
    owners::{Manager, labels},
    path::FieldQuery,
    view::OutputArgs,
    write::DryRunArgs,
};

/// What the names of temporary managers begin with.
const TEMPORARY: &str = "handover-to-";

/// Pass a field on to a controller, without its value ever being lost
///
/// A temporary manager applies the value that the field has, never forced. From then on a manager can leave the field out of its
/// manifest, and the field keeps its value; without that, the server would reset it. Once the new owner writes another value, the
/// temporary manager loses the field.
///
/// The last step is that the old owner stops applying the field. --release-from does it here, by applying all that this manager
/// has applied but the field. Its manifest has to lose the field too, before it is applied again.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kubectl baton handover deployment/web --field .spec.replicas
  kubectl baton handover deployment/web --field .spec.replicas --to hpa --release-from kubectl
  kubectl baton handover svc/web --field '.spec.ports[name=http].targetPort' --to router --dry-run=client")]
pub(crate) struct HandoverArgs {
    /// The object, such as deployment/web.
    #[arg(value_name = "TYPE/NAME")]
    object: Reference,
    /// The field.
    #[arg(long, value_name = "PATH")]
    field: FieldQuery,
    /// Who is to own it: `hpa`, or the manager's name. The temporary manager is called after it.
    #[arg(long, value_name = "MANAGER", default_value = "hpa")]
    to: String,
    /// Then have this manager apply what it has applied, without the field.
    #[arg(long, value_name = "MANAGER")]
    release_from: Option<String>,
    #[command(flatten)]
    dry_run: DryRunArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) async fn run(args: HandoverArgs, cluster: &ClusterArgs, terminal: &mut Terminal) -> Ending {
    let HandoverArgs { object, field, to, release_from, dry_run, output } = args;
    let dry_run = dry_run.get(terminal)?;
    let opened = Opened::new(&object, cluster).await?;
    let temporary = format!("{TEMPORARY}{to}");
    let (path, owners) = opened.at(&opened.live, &field, |owners, path| {
        let owners: Vec<Manager> = owners.at(path).into_iter().cloned().collect();
        Ok((path.to_string(), owners))
    })?;
    if let Some(manager) = &release_from
        && !owners.iter().any(|owner| owner.applies() && owner.name == *manager)
    {
        return Err(Failure::Input(format!(
            "{manager} doesn't apply {path}; its owners: {}",
            labels(&owners)
        )));
    }
    let mut steps = opened.steps(dry_run);
    steps
        .write(format!("{temporary} applies {path} as it is"), async |live| {
            opened.at(live, &field, |_, path| {
                let request = hand_over(opened.target.clone(), live, path, temporary.clone());
                request.ok_or_else(|| Failure::Input(format!("{path} has no value to hand over")))
            })
        })
        .await?;
    if let Some(manager) = &release_from {
        stop_applying(&mut steps, &opened, (&field, path.as_str()), manager, false, terminal).await?;
    }
    let left = owners.iter().filter(|owner| owner.name != temporary && owner.name != to).map(|owner| match release_from {
        Some(ref manager) if owner.applies() && owner.name == *manager => {
            format!("Remove {path} from the manifest of {manager}, before it is applied again.")
        }
        _ if owner.applies() => format!(
            "Remove {path} from the manifest of {manager} and apply that. Or now: kubectl baton handover {object} --field {field} \
             --to {to} --release-from {manager}{flags}",
            manager = owner.name,
            field = crate::view::quoted(field.as_str()),
            flags = cluster.flags(),
        ),
        _ => format!("{} has written {path}, and keeps it until another manager writes another value.", owner.label()),
    });
    let left = left.collect();
    steps.finish(left, output, terminal)
}
