//! `conflicts`: the conflicts of an apply, and how to resolve them.

use std::collections::BTreeSet;

use baton_apply::{Certainty, LiveObject, Prediction};
use clap::Args;
use serde::Serialize;

use crate::{
    cluster::{ClusterArgs, name_of},
    error::{Ending, Exit},
    model::{ChangeKind, FieldChange},
    terminal::{CYAN, DIM, RED, Terminal},
    text::quoted,
    view::{Cell, OutputArgs, Table, changes_table},
    write::{DryRunStrategy, IntentArgs},
};

/// Show the conflicts that an apply of these manifests would have, and the ways out of each
///
/// In a conflict, another manager owns a field with another value. There are up to four ways out. Overwrite the value. Release the field.
/// Share it by applying its live value, unless the server doesn't store that; sharing is always right if both values are equal in another
/// spelling, such as 1 and 1000m. Migrate, if the owner is the same manager, which has written the field by an update.
///
/// Each way is a command that is ready to be run. Several conflicts can be resolved at once by joining the flags. A server dry run finds
/// what the server would refuse even without conflicts.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes:
  0  no conflicts
  1  conflicts, or the server refuses the apply for another reason
  2  the command line or a manifest is wrong, or there is no such kind
  3  the cluster can't be reached, or doesn't allow it

Examples:
  kubectl baton conflicts -f web.yaml
  kubectl baton conflicts -f web.yaml --field-manager ci -o json")]
pub(crate) struct ConflictsArgs {
    #[command(flatten)]
    intents: IntentArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ObjectConflicts {
    /// The object: `deployment.apps/web`.
    object: String,
    /// Its conflicts.
    conflicts: Vec<ReportedConflict>,
    /// The server's message if it would refuse the apply for another reason, or the reason why that can't be predicted.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// The reason why there may be conflicts that aren't predicted.
    #[serde(skip_serializing_if = "Option::is_none")]
    uncertain: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReportedConflict {
    #[serde(flatten)]
    change: FieldChange,
    /// The commands.
    overwrite: String,
    release: String,
    /// None if there is no live value to share.
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<String>,
    /// None if the owner is another manager.
    #[serde(skip_serializing_if = "Option::is_none")]
    migrate: Option<String>,
}

pub(crate) async fn run(args: ConflictsArgs, cluster: &ClusterArgs, terminal: &mut Terminal) -> Ending {
    let (writer, intents) = args.intents.read(cluster, terminal).await?;
    let (manager, apply) = (&args.intents.field_manager, args.intents.command("apply", cluster));
    let mut reports = Vec::new();
    for intent in intents {
        let live = intent.live.as_ref();
        let written = writer.predict(intent.request(live, manager, false), live);
        let object = name_of(&intent.target);
        let (mut uncertain, mut own) = (None, BTreeSet::new());
        match &written.write.prediction {
            Ok(Prediction::Stored(stored)) => {
                if let Certainty::Unknown(reason) = stored.certainty {
                    uncertain = Some(reason);
                }
            }
            Ok(Prediction::Conflicts(conflicts)) => {
                let fields = conflicts.fields.iter();
                let fields = fields.filter(|one| one.manager == *manager && one.subresource.is_none());
                own.extend(fields.map(|one| one.path.to_string()));
            }
            _ => {}
        }
        let report = written.report(DryRunStrategy::Client);
        // The server checks conflicts first: only without them does it report other errors.
        let forced = async |live: Option<&LiveObject>| Ok(intent.request(live, manager, true));
        let forced = writer
            .try_out(intent.live.clone(), DryRunStrategy::Server, forced)
            .await?
            .report(DryRunStrategy::Client);
        let message = if forced.is_refused() {
            forced.message
        } else {
            report.message.filter(|_| report.result != "conflict")
        };
        let namespace = intent.target.namespace.as_ref().filter(|_| cluster.namespace.is_none());
        let namespace = namespace.map(|name| format!(" -n {name}")).unwrap_or_default();
        let names = format!("--from {0} --to {0}", quoted(manager));
        let migrate = format!("kubectl baton migrate {object} {names}{namespace}{}", cluster.flags());
        let conflicts = report.changes.into_iter().filter(|change| change.kind == ChangeKind::Conflict);
        let conflicts = conflicts.map(|change| {
            let way = |flag: &str| format!("{apply} {flag} {}", quoted(&change.path));
            let (overwrite, release) = (way("--overwrite"), way("--release"));
            let share = change.old.is_some().then(|| way("--share"));
            let migrate = own.contains(&change.path).then(|| migrate.clone());
            ReportedConflict { change, overwrite, release, share, migrate }
        });
        reports.push(ObjectConflicts { object, conflicts: conflicts.collect(), message, uncertain });
    }
    args.output.print(terminal, &reports, |terminal| {
        for (index, report) in reports.iter().enumerate() {
            if index > 0 {
                writeln!(terminal.out)?;
            }
            write(report, terminal)?;
        }
        Ok(())
    })?;
    let has_conflicts = reports.iter().any(|report| !report.conflicts.is_empty() || report.message.is_some());
    Ok(if has_conflicts { Exit::Differs } else { Exit::Done })
}

fn write(report: &ObjectConflicts, terminal: &mut Terminal) -> std::io::Result<()> {
    let ObjectConflicts { object, conflicts, message, uncertain } = report;
    match (conflicts.len(), message) {
        (0, None) => {
            writeln!(terminal.out, "{object}: no conflicts")?;
            return uncertain.iter().try_for_each(|reason| writeln!(terminal.out, "  uncertain: {reason}"));
        }
        (0, Some(message)) => return writeln!(terminal.out, "{object}: {message}"),
        (1, _) => writeln!(terminal.out, "{object}: {RED}1 conflict{RED:#}")?,
        (count, _) => writeln!(terminal.out, "{object}: {RED}{count} conflicts{RED:#}")?,
    }
    for conflict in conflicts {
        writeln!(terminal.out)?;
        changes_table([&conflict.change]).write(&mut *terminal.out, "")?;
        let ReportedConflict { change, overwrite, release, share, migrate } = conflict;
        let sharing = if change.equal {
            "put the equal, live value into the manifest"
        } else {
            "put the live value into the manifest"
        };
        let mut ways = vec![
            ("overwrite", "take the field over from its owner", Some(overwrite)),
            ("release", "leave the field out of the manifest", Some(release)),
            ("share", sharing, share.as_ref()),
        ];
        // It is always right.
        if change.equal {
            ways.rotate_right(1);
        }
        let merging = "the owner is the same manager: have it apply what it owns by updates";
        ways.insert(0, ("migrate", merging, migrate.as_ref()));
        let mut table = Table::headless();
        for (way, what, command) in ways {
            if let Some(command) = command {
                table.row([Cell::new(way, CYAN), Cell::new(what, DIM), command.into()]);
            }
        }
        table.write(&mut *terminal.out, "    ")?;
    }
    if let Some(message) = message {
        writeln!(terminal.out, "\n{RED}refused even without conflicts:{RED:#} {message}")?;
    }
    Ok(())
}
