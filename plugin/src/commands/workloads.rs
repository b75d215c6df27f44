//! `workloads`: Workloads, and the owners of their replica counts.

use baton_apply::{ApiError, LiveObject, Target, with_timeout};
use clap::Args;
use kube::{ResourceExt as _, api::ListParams};
use serde::{Deserialize, Serialize};

use crate::{
    cluster::{ClusterArgs, ClusterError, Connection, Reference},
    error::{CommandError, Ending, Exit},
    terminal::{BOLD, CYAN, GREEN, PLAIN, RED, Terminal, YELLOW},
    view::{Cell, OutputArgs, Table},
};

/// The API group of Workloads.
pub(super) const GROUP: &str = "baton.rs";
/// Workloads on a command line.
pub(super) const WORKLOADS: &str = "workloads.baton.rs";

/// List Baton's Workloads and the owners of their replica counts
///
/// In all namespaces, or in the one of -n. TAKEOVERS counts the fields that Baton has taken over from other managers, CONTESTED the
/// children that another manager overwrites again and again, and PLAN the children that would change according to the plan.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kubectl baton workloads
  kubectl baton workloads -n shop -o yaml")]
pub(crate) struct WorkloadsArgs {
    #[command(flatten)]
    output: OutputArgs,
}

/// The parts of a Workload's status that are shown.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    replica_ownership: Option<Ownership>,
    takeovers: Vec<Takeovers>,
    children: Vec<Child>,
    plan: Vec<Planned>,
}

#[derive(Deserialize)]
struct Ownership {
    owner: String,
    phase: String,
    value: i32,
}

#[derive(Deserialize)]
struct Takeovers {
    #[serde(default)]
    count: i32,
}

#[derive(Deserialize)]
struct Planned {
    action: String,
}

#[derive(Deserialize)]
struct Child {
    state: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    namespace: String,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    replicas: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<String>,
    takeovers: i32,
    contested: usize,
    planned: usize,
}

impl Row {
    fn of(workload: &LiveObject) -> Self {
        let status: Status = workload.status().unwrap_or_default();
        let ownership = status.replica_ownership;
        Self {
            namespace: workload.namespace().unwrap_or_default(),
            name: workload.name_any(),
            replicas: ownership.as_ref().map(|ownership| ownership.value),
            owner: ownership.as_ref().map(|ownership| ownership.owner.clone()),
            phase: ownership.map(|ownership| ownership.phase),
            takeovers: status.takeovers.iter().map(|takeover| takeover.count).sum(),
            contested: status.children.iter().filter(|child| child.state == "Contested").count(),
            planned: status.plan.iter().filter(|child| child.action != "Nothing").count(),
        }
    }
}

pub(crate) async fn run(args: WorkloadsArgs, cluster: &ClusterArgs, terminal: &mut Terminal) -> Ending {
    let connection = Connection::new(cluster).await?;
    let workloads = list(&connection, cluster.namespace.clone()).await?;
    let rows: Vec<_> = workloads.iter().map(Row::of).collect();
    args.output.print(terminal, &rows, |terminal| {
        if rows.is_empty() {
            return writeln!(terminal.out, "No Workloads.");
        }
        let mut table =
            Table::new(["NAMESPACE", "NAME", "REPLICAS", "OWNER", "PHASE", "TAKEOVERS", "CONTESTED", "PLAN"]);
        for row in &rows {
            table.row(cells(row));
        }
        table.write(&mut *terminal.out, "")
    })?;
    Ok(Exit::Done)
}

/// The Workloads of a namespace, or of all.
async fn list(connection: &Connection, namespace: Option<String>) -> Result<Vec<LiveObject>, CommandError> {
    let any = Reference { kind: WORKLOADS.to_owned(), name: "any".to_owned() };
    let target = match connection.kinds().await?.target(&any, &connection.namespace) {
        Err(ClusterError::NoSuchKind { .. }) => {
            return Err(CommandError::Input(format!("Baton isn't installed: the server has no {WORKLOADS}")));
        }
        target => target?,
    };
    let api = Target { namespace, ..target }.api(connection.client.clone());
    let list = with_timeout(connection.limit(), api.list(&ListParams::default())).await;
    Ok(list.map_err(|error: ApiError| connection.failed("list the Workloads", error))?.items)
}

fn cells(row: &Row) -> [Cell; 8] {
    let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let phase = match row.phase.as_deref() {
        Some("Fixed" | "HandedOver" | "Suspended" | "Unmanaged") => GREEN,
        Some("AutoscalerConflict") => RED,
        Some(_) => YELLOW,
        None => PLAIN,
    };
    let count = |count: usize, style| match count {
        0 => "-".into(),
        count => Cell::new(count.to_string(), style),
    };
    [
        row.namespace.clone().into(),
        Cell::new(&row.name, BOLD),
        row.replicas.map_or_else(|| "-".to_owned(), |replicas| replicas.to_string()).into(),
        Cell::new(text(&row.owner), CYAN),
        Cell::new(text(&row.phase), phase),
        count(usize::try_from(row.takeovers).unwrap_or_default(), YELLOW),
        count(row.contested, RED),
        count(row.planned, YELLOW),
    ]
}
