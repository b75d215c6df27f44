//! `why`: why a field has its value, and what keeps it.

use baton_apply::Secrecy;
use baton_merge::{
    Arena,
    fieldpath::{Path, PathElement},
    value::Value,
};
use clap::Args;
use serde::Serialize;

use crate::{
    cluster::{ClusterArgs, Reference},
    error::{CommandError, Ending, Exit},
    model::{FieldQuery, Manager, check_droppable},
    terminal::{BOLD, CYAN, GREEN, RED, Terminal, YELLOW},
    view::{Cell, OutputArgs, Table, owners_table},
    write::{Applied, DryRunStrategy, Opened},
};

/// Show why a field has its value, and what would happen if a manager dropped it
///
/// Lists the owners of the field, the last writer first, with the result for the field if an owner drops it from its manifest. The result
/// is that of a server dry run or, if you lack the permission for that, a prediction.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kubectl baton why deployment/web .spec.replicas
  kubectl baton why deployment/web '.spec.template.spec.containers[name=app].image' -o json")]
pub(crate) struct WhyArgs {
    /// The object, such as deployment/web.
    #[arg(value_name = "TYPE/NAME")]
    object: Reference,
    /// The field.
    path: FieldQuery,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    object: String,
    path: String,
    /// The value that is owned as a whole and that the field is a part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    part_of: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    reason: String,
    /// The last writer first.
    owners: Vec<Manager>,
    if_dropped: Vec<Dropped>,
}

/// The result for a field if a manager drops it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Dropped {
    manager: String,
    result: Fate,
    /// The value that it gets.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    why: String,
    /// Whether the server has tried it.
    confirmed: bool,
}

/// The result for a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
enum Fate {
    Stays,
    Goes,
    Resets,
    Changes,
    Unknown,
}

pub(crate) async fn run(args: WhyArgs, cluster: &ClusterArgs, terminal: &mut Terminal) -> Ending {
    let opened = Opened::new(&args.object, cluster).await?;
    let (mut report, owned) = {
        let (arena, secrecy) = (Arena::new(), Secrecy::of(&opened.target.resource));
        let owners = opened.owners(&arena, &opened.live);
        let path = owners.path(&args.path)?;
        let whole = owners.whole_above(path);
        let owned = whole.unwrap_or(path);
        let mut managers: Vec<Manager> = owners.within(owned).into_iter().cloned().collect();
        managers.sort_by(|left, right| right.time.cmp(&left.time));
        let value = path.find(owners.object);
        let report = Report {
            object: opened.name(),
            path: path.to_string(),
            part_of: whole.map(|whole| whole.to_string()),
            value: owners.shown_at(path),
            reason: match path.elements() {
                [PathElement::Field("stringData"), PathElement::Field(key)] if secrecy == Secrecy::Secret => {
                    format!("The server doesn't store it. What it was set to is the value of .data.{key}.")
                }
                _ => reason(path, value, &managers),
            },
            owners: managers,
            if_dropped: Vec::new(),
        };
        (report, owned.to_string())
    };
    let query: FieldQuery = owned.parse()?;
    for (place, owner) in report.owners.iter().enumerate() {
        let asked = if place < MOST_ASKED { DryRunStrategy::Server } else { DryRunStrategy::Client };
        report.if_dropped.push(dropped(&opened, owner, &query, &report.owners, asked).await?);
    }
    args.output.print(terminal, &report, |terminal| write(&report, terminal))?;
    Ok(Exit::Done)
}

/// The reason of the field's value.
fn reason(path: Path<'_>, value: Option<Value<'_>>, owners: &[Manager]) -> String {
    match (value, owners) {
        (Some(_), []) if check_droppable(path).is_err() => {
            "It names the object. Nobody owns it, and it can't be changed.".to_owned()
        }
        (None, []) => "Nobody owns it, and it has no value.".to_owned(),
        (None, _) => {
            "The server doesn't store what its owners have set: it is false or 0, or another field rules it out.".to_owned()
        }
        (Some(_), []) => {
            "Nobody owns it: the server filled it in, or it was written before owners were recorded."
                .to_owned()
        }
        (Some(_), [owner]) => format!("{} set it{}.", owner.label(), at(owner)),
        (Some(_), [last, ..]) => {
            format!("{} owners agree on it; {} wrote last{}.", owners.len(), last.label(), at(last))
        }
    }
}

fn at(owner: &Manager) -> String {
    owner.time.as_ref().map(|time| format!(" at {time}")).unwrap_or_default()
}

/// How many owners are tried by the server. Others are predicted.
const MOST_ASKED: usize = 8;

/// The result for the field if this owner drops it.
async fn dropped(
    opened: &Opened,
    owner: &Manager,
    query: &FieldQuery,
    owners: &[Manager],
    asked: DryRunStrategy,
) -> Result<Dropped, CommandError> {
    let manager = owner.label();
    if !owner.applies() {
        let why = "it doesn't apply the field: what it doesn't write stays".to_owned();
        return Ok(Dropped { manager, result: Fate::Stays, value: None, why, confirmed: true });
    }
    let request = Applied::of(opened, &opened.live, &owner.name).without(query);
    let request = match request {
        Ok(request) => request,
        Err(failure @ (CommandError::Input(_) | CommandError::Path(_))) => {
            let why = failure.to_string();
            return Ok(Dropped { manager, result: Fate::Unknown, value: None, why, confirmed: true });
        }
        Err(failure) => return Err(failure),
    };
    let before = Some(opened.live.clone());
    let written = opened.writer.try_out(before, asked, async |_| Ok(request.clone())).await?;
    let confirmed = written.outcome.is_some();
    let Some(after) = written.after() else {
        let why = written
            .report(DryRunStrategy::Server)
            .message
            .unwrap_or_else(|| "the server refuses it".to_owned());
        return Ok(Dropped { manager, result: Fate::Unknown, value: None, why, confirmed });
    };
    let [had, has] = [&opened.live, after].map(|object| Opened::value(object, query));
    let others: Vec<_> = owners.iter().filter(|other| *other != owner).map(Manager::label).collect();
    let (result, why) = match (&had, &has) {
        (Some(had), Some(has)) if had == has && others.is_empty() => {
            (Fate::Stays, "the server keeps it, or gives it the same default".to_owned())
        }
        (Some(had), Some(has)) if had == has => (Fate::Stays, format!("{} owns it too", others.join(", "))),
        (Some(_), Some(_)) if others.is_empty() => {
            (Fate::Resets, "the server fills in its default".to_owned())
        }
        (Some(_), Some(_)) => (Fate::Changes, format!("a part of it has no other owner than {manager}")),
        (Some(_), None) => (Fate::Goes, "nobody else owns it".to_owned()),
        (None, None) => (Fate::Stays, "it has no value that could go".to_owned()),
        (None, Some(_)) => (Fate::Resets, "the server fills in its default".to_owned()),
    };
    let value = has.filter(|_| matches!(result, Fate::Resets | Fate::Changes));
    Ok(Dropped { manager, result, value, why, confirmed })
}

fn write(report: &Report, terminal: &mut Terminal) -> std::io::Result<()> {
    let value = report.value.as_deref().unwrap_or("not there");
    writeln!(terminal.out, "{BOLD}{} of {} is {value}{BOLD:#}", report.path, report.object)?;
    if let Some(whole) = &report.part_of {
        writeln!(terminal.out, "It is a part of {whole}, which is owned as a whole.")?;
    }
    writeln!(terminal.out, "{}", report.reason)?;
    if report.owners.is_empty() {
        return Ok(());
    }
    writeln!(terminal.out)?;
    owners_table(&report.owners).write(&mut *terminal.out, "")?;
    writeln!(terminal.out)?;
    let mut table = Table::new(["IF DROPPED BY", "THE FIELD", "BECAUSE"]);
    for Dropped { manager, result, value, why, confirmed } in &report.if_dropped {
        let (result, style) = match result {
            Fate::Stays => ("stays".to_owned(), GREEN),
            Fate::Goes => ("goes".to_owned(), RED),
            Fate::Resets => (format!("resets to {}", value.as_deref().unwrap_or("its default")), YELLOW),
            Fate::Changes => (format!("becomes {}", value.as_deref().unwrap_or("another value")), YELLOW),
            Fate::Unknown => ("isn't known".to_owned(), YELLOW),
        };
        let why = if *confirmed { why.clone() } else { format!("{why} (predicted, not tried)") };
        table.row([Cell::new(manager, CYAN), Cell::new(result, style), why.into()]);
    }
    table.write(&mut *terminal.out, "")
}
