//! `watch`: changes of owners, as they happen.

mod past;

use std::{path::PathBuf, pin::pin, time::Duration};

use baton_apply::{ApiError, LiveObject};
use baton_merge::Arena;
use clap::Args;
use futures::TryStreamExt as _;
use jiff::{Timestamp, Unit};
use kube::runtime::{
    WatchStreamExt as _,
    watcher::{self, watch_object},
};
use serde::Serialize;
use tokio::time::{Instant, sleep_until};

use crate::{
    cluster::{ClusterArgs, Connection, Reference, duration, name_of},
    error::{CommandError, Ending, Exit},
    model::{FieldQuery, Move, Owners, labels, moves},
    terminal::{CYAN, DIM, Terminal},
    view::{Format, OutputArgs, json, moved_values, yaml},
};

/// Show changes of owners as they happen
///
/// Prints a line for each field whose owners change: the time, the field, the managers that lost and gained it, the old and the new
/// value. Values of Secrets, environment variables and arguments are never shown. The command runs until it is stopped. With -o json
/// each line is an object of its own.
///
/// --since first shows the Events about the object. --audit-log first shows the changes in an audit log of the API server; its policy has to
/// record responses.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kubectl baton watch deployment/web
  kubectl baton watch deployment/web --path .spec.replicas --since 1h
  kubectl baton watch deployment/web --audit-log /var/log/kubernetes/audit.log --timeout 1s")]
pub(crate) struct WatchArgs {
    /// The object, such as deployment/web.
    #[arg(value_name = "TYPE/NAME")]
    object: Reference,
    /// Show only this field and the fields in it.
    #[arg(long)]
    path: Option<FieldQuery>,
    /// First show the Events about the object of this last time, such as 1h.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    since: Option<Duration>,
    /// First show the changes in this audit log. May be given several times.
    #[arg(long, value_name = "FILE")]
    audit_log: Vec<PathBuf>,
    /// Stop after this time, such as 10m.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    timeout: Option<Duration>,
    #[command(flatten)]
    output: OutputArgs,
}

/// An event of an object.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    /// The time.
    time: String,
    #[serde(flatten)]
    what: LineContent,
}

impl Line {
    fn note(time: String, note: String) -> Self {
        Self { time, what: LineContent::Note { note } }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum LineContent {
    /// The owners of a field changed.
    Move(Move),
    /// Something else.
    Note { note: String },
}

/// The field that is watched; none for all fields.
struct Watched<'p>(Option<&'p FieldQuery>);

impl Watched<'_> {
    /// A line for each field whose owners changed.
    fn moves(&self, before: &LiveObject, after: &LiveObject, now: &str) -> Vec<Line> {
        let arena = Arena::new();
        let (had, have) = (Owners::of(&arena, before), Owners::of(&arena, after));
        let mut moves = moves(&had, &have);
        if let Some(query) = self.0 {
            let found = [&have, &had].into_iter().find_map(|owners| owners.path(query).ok());
            moves.retain(|one| found.is_some_and(|path| one.is_within(path)));
        }
        let line =
            |one: Move| Line { time: one.time().unwrap_or(now).to_owned(), what: LineContent::Move(one) };
        moves.into_iter().map(line).collect()
    }
}

pub(crate) async fn run(args: WatchArgs, cluster: &ClusterArgs, terminal: &mut Terminal) -> Ending {
    let connection = Connection::new(cluster).await?;
    let target = connection.kinds().await?.target(&args.object, &connection.namespace)?;
    let mut last = Some(connection.read(&target).await?);
    let watched = Watched(args.path.as_ref());
    let mut printer = Printer { format: args.output.output, terminal };
    for line in past::of_audit_logs(&args.audit_log, &target, &watched)? {
        printer.print(&line)?;
    }
    if let (Some(since), Some(live)) = (args.since, &last) {
        for line in past::of_events(&connection, live, since).await? {
            printer.print(&line)?;
        }
    }
    let end = args.timeout.map(|timeout| Instant::now() + timeout);
    let stopped = async {
        match end {
            Some(end) => sleep_until(end).await,
            None => std::future::pending().await,
        }
    };
    let mut stopped = pin!(stopped);
    let mut states =
        pin!(watch_object(target.api(connection.client.clone()), &target.name).default_backoff());
    loop {
        let state = tokio::select! {
            () = &mut stopped => return Ok(Exit::Done),
            state = states.try_next() => state,
        };
        let state = match state {
            Ok(Some(state)) => state.map(|mut live| {
                live.fill_in_kind(&target.resource);
                live
            }),
            Ok(None) => return Ok(Exit::Done),
            Err(error) => match refusal(error) {
                Some(error) => {
                    return Err(connection.failed(format!("watch {}", name_of(&target)), error).into());
                }
                // It is watched again after a while.
                None => continue,
            },
        };
        let now = at(Timestamp::now());
        let lines = match (&last, &state) {
            (Some(before), Some(after)) => watched.moves(before, after, &now),
            (Some(_), None) => vec![Line::note(now, "the object was deleted".to_owned())],
            (None, Some(_)) => vec![Line::note(now, "the object was created".to_owned())],
            (None, None) => Vec::new(),
        };
        lines.iter().try_for_each(|line| printer.print(line))?;
        last = state;
    }
}

/// The server's refusal, which a retry doesn't change.
fn refusal(error: watcher::Error) -> Option<ApiError> {
    let (watcher::Error::InitialListFailed(error) | watcher::Error::WatchStartFailed(error)) = error else {
        return None;
    };
    match error {
        kube::Error::Api(status) if matches!(status.code, 401 | 403) => Some(ApiError::Response(status)),
        _ => None,
    }
}

/// A time as the server writes it.
fn at(time: Timestamp) -> String {
    time.round(Unit::Second).unwrap_or(time).to_string()
}

/// Prints lines one by one.
struct Printer<'t> {
    format: Format,
    terminal: &'t mut Terminal,
}

impl Printer<'_> {
    fn print(&mut self, line: &Line) -> Result<(), CommandError> {
        let out = &mut self.terminal.out;
        match self.format {
            Format::Table => match &line.what {
                LineContent::Note { note } => writeln!(out, "{DIM}{}{DIM:#}  {note}", line.time)?,
                LineContent::Move(one) => {
                    let (from, to) = (labels(&one.lost), labels(&one.gained));
                    let value = moved_values(one);
                    writeln!(
                        out,
                        "{DIM}{}{DIM:#}  {CYAN}{}{CYAN:#}  {from} → {to}  {value}",
                        line.time, one.path
                    )?;
                }
            },
            Format::Json => writeln!(out, "{}", json(line, serde_json::to_string)?)?,
            Format::Yaml => write!(out, "---\n{}", yaml(line)?)?,
        }
        Ok(out.flush()?)
    }
}
