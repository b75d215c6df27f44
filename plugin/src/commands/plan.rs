//! `plan`: the plan of a Workload, field by field.

use baton_apply::Target;
use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::workloads::{GROUP, WORKLOADS};
use crate::{
    cluster::{ClusterArgs, Connection, Kinds, Reference},
    error::{CommandError, Ending, Exit},
    model::{ChangeKind, FieldChange},
    terminal::{BOLD, RED, Terminal, YELLOW},
    view::{OutputArgs, changes_table},
    write::Opened,
};

/// Show what Baton would do with a Workload's children, as a difference
///
/// The plan is in the status of a Workload in the mode Preview or Paused. `+` is new, `~` gets another value, `-` is removed, `=` is
/// released. The values are the live ones.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes:
  0  nothing is planned
  1  something is planned
  2  the command line is wrong, or there is no such Workload, or it has no plan
  3  the cluster can't be reached, or doesn't allow it

Example:
  kubectl baton plan workload/web")]
pub(crate) struct PlanArgs {
    /// The Workload, such as workload/web.
    #[arg(value_name = "workload/NAME")]
    object: Reference,
    #[command(flatten)]
    output: OutputArgs,
}

/// The plan in a Workload's status.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Planned {
    plan: Vec<PlannedChild>,
}

/// The plan for a child.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct PlannedChild {
    kind: String,
    name: String,
    action: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    writes: Option<i32>,
    #[serde(default, skip_serializing)]
    sets: Vec<String>,
    #[serde(default, skip_serializing)]
    takes: Vec<PlannedTakeover>,
    #[serde(default, skip_serializing)]
    releases: Vec<String>,
    #[serde(default, skip_serializing)]
    removes: Vec<String>,
    #[serde(default)]
    dry_run: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

/// A field that Baton would take over from another manager.
#[derive(Deserialize)]
struct PlannedTakeover {
    path: String,
    manager: String,
}

pub(crate) async fn run(args: PlanArgs, cluster: &ClusterArgs, terminal: &mut Terminal) -> Ending {
    let connection = Connection::new(cluster).await?;
    let kinds = connection.kinds().await?;
    let mut reference = args.object.clone();
    // Other groups have kinds called Workload, too.
    if matches!(reference.kind.as_str(), "workload" | "workloads") {
        WORKLOADS.clone_into(&mut reference.kind);
    }
    let target = kinds.target(&reference, &connection.namespace)?;
    if (target.resource.group.as_str(), target.resource.kind.as_str()) != (GROUP, "Workload") {
        return Err(CommandError::Input(format!("{} is no Workload", args.object)));
    }
    let workload = connection.read(&target).await?;
    let plan = workload.status::<Planned>().unwrap_or_default().plan;
    if plan.is_empty() {
        return Err(CommandError::Input(format!(
            "{} has no plan: set its spec.mode to Preview or Paused to get one",
            args.object
        )));
    }
    let mut changes = Vec::new();
    for child in &plan {
        changes.push(of_child(child, &connection, &kinds, &target).await?);
    }
    let reports: Vec<_> = plan
        .iter()
        .zip(&changes)
        .map(|(child, changes)| json!({"child": child, "changes": changes}))
        .collect();
    args.output.print(terminal, &reports, |terminal| {
        for (child, changes) in plan.iter().zip(&changes) {
            head(child, terminal)?;
            changes_table(changes).write(&mut *terminal.out, "  ")?;
            for line in child.message.iter().flat_map(|message| message.lines()) {
                writeln!(terminal.out, "  {line}")?;
            }
        }
        Ok(())
    })?;
    let is_planned = plan.iter().any(|child| child.action != "Nothing");
    Ok(if is_planned { Exit::Differs } else { Exit::Done })
}

fn head(child: &PlannedChild, terminal: &mut Terminal) -> std::io::Result<()> {
    let PlannedChild { kind, name, action, writes, dry_run, .. } = child;
    write!(terminal.out, "{BOLD}{kind}/{name}{BOLD:#}: {action}")?;
    if let Some(writes) = writes {
        write!(terminal.out, ", {writes} writes")?;
    }
    match dry_run.as_str() {
        "Agreed" => write!(terminal.out, "; a dry run agrees")?,
        "Disagreed" => write!(terminal.out, "; {YELLOW}a dry run disagrees{YELLOW:#}")?,
        "Rejected" => write!(terminal.out, "; {RED}the server would reject it{RED:#}")?,
        _ => {}
    }
    writeln!(terminal.out)
}

/// The planned changes of a child.
async fn of_child(
    child: &PlannedChild,
    connection: &Connection,
    kinds: &Kinds,
    workload: &Target,
) -> Result<Vec<FieldChange>, CommandError> {
    let reference: Reference = format!("{}/{}", child.kind, child.name).parse()?;
    let target = kinds.target(&reference, workload.namespace.as_deref().unwrap_or_default())?;
    let live = connection.find(&target).await?;
    let value = |path: &str| Opened::value(live.as_ref()?, &path.parse().ok()?);
    let change = |kind, path: &String| FieldChange {
        path: path.clone(),
        kind,
        old: value(path),
        new: None,
        from: child.takes.iter().filter(|take| take.path == *path).map(|take| take.manager.clone()).collect(),
        equal: false,
    };
    let sets = child.sets.iter().map(|path| {
        let change = change(ChangeKind::Changed, path);
        if change.old.is_none() { FieldChange { kind: ChangeKind::Added, ..change } } else { change }
    });
    let is_listed = |path: &String| child.sets.contains(path) || child.removes.contains(path);
    let takes = child.takes.iter().filter(|take| !is_listed(&take.path));
    let takes = takes.map(|take| change(ChangeKind::Changed, &take.path));
    let removes = child.removes.iter().map(|path| change(ChangeKind::Removed, path));
    let releases = child.releases.iter().map(|path| change(ChangeKind::Released, path));
    Ok(sets.chain(takes).chain(removes).chain(releases).collect())
}
