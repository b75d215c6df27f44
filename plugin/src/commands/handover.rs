//! `handover`: passes a field on through a temporary manager.

use baton_apply::{
    Operation,
    ownership::{Owner, hand_over, owners},
};
use clap::Args;

use super::release::stop_applying;
use crate::{
    cluster::{ClusterArgs, Reference},
    error::{CommandError, Ending},
    model::{FieldQuery, label},
    terminal::Terminal,
    text::quoted,
    view::WriteArgs,
    write::{Opened, Steps},
};

/// The beginning of the names of temporary managers.
const TEMPORARY: &str = "handover-to-";

/// Pass a field on to a controller, without losing its value
///
/// A temporary manager applies the live value of the field, never forced. From then on the old owner can leave the field out of its
/// manifest: the field keeps its value, where the server would reset it otherwise. When the new owner writes another value, the temporary
/// manager loses the field.
///
/// In the last step the old owner releases the field. --release-from does it: it applies what this manager has applied, without the
/// field. Remove the field from the manifest, too, before that is applied again.
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
    /// The new owner: `hpa`, or a manager. The temporary manager is called after it.
    #[arg(long, value_name = "MANAGER", default_value = "hpa")]
    to: String,
    /// The old owner, which then applies what it has applied, without the field.
    #[arg(long, value_name = "MANAGER")]
    release_from: Option<String>,
    #[command(flatten)]
    writes: WriteArgs,
}

pub(crate) async fn run(args: HandoverArgs, cluster: &ClusterArgs, terminal: &mut Terminal) -> Ending {
    let HandoverArgs { object, field, to, release_from, writes } = args;
    let dry_run = writes.dry_run(terminal)?;
    let opened = Opened::new(&object, cluster).await?;
    let temporary = format!("{TEMPORARY}{to}");
    let (path, owners) =
        opened.at(&opened.live, &field, |_, path| Ok((path.to_string(), owners(&opened.live, path))))?;
    let applies = |owner: &Owner| owner.operation == Operation::Apply && owner.subresource.is_none();
    let label = |owner: &Owner| label(&owner.manager, owner.operation.as_str(), owner.subresource.as_deref());
    if let Some(manager) = &release_from
        && !owners.iter().any(|owner| applies(owner) && owner.manager == *manager)
    {
        let labels = owners.iter().map(label).collect::<Vec<_>>();
        let labels = if labels.is_empty() { "-".to_owned() } else { labels.join(", ") };
        return Err(CommandError::Input(format!("{manager} doesn't apply {path}; its owners: {labels}")));
    }
    let mut steps = Steps::new(&opened, dry_run);
    steps
        .write(format!("{temporary} applies {path} as it is"), async |live| {
            opened.at(live, &field, |_, path| {
                let request = hand_over(opened.target.clone(), live, path, temporary.clone());
                request.ok_or_else(|| CommandError::Input(format!("{path} has no value to hand over")))
            })
        })
        .await?;
    if let Some(manager) = &release_from {
        stop_applying(&mut steps, (&field, path.as_str()), manager, false, terminal).await?;
    }
    let left = owners.iter().filter(|owner| owner.manager != temporary && owner.manager != to);
    let left = left.map(|owner| match &release_from {
        Some(manager) if applies(owner) && owner.manager == *manager => {
            format!("Remove {path} from the manifest of {manager}, before it is applied again.")
        }
        _ if applies(owner) => format!(
            "Remove {path} from the manifest of {manager} and apply that. Or now: kubectl baton handover {object} --field {field} \
             --to {to} --release-from {manager}{flags}",
            manager = owner.manager,
            field = quoted(field.as_str()),
            flags = cluster.flags(),
        ),
        _ => format!("{} has written {path}, and keeps it until another manager writes another value.", label(owner)),
    });
    writes.finish(steps, left.collect(), terminal)
}
