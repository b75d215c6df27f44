//! `diff`: the changes of an apply, as YAML.

use anstyle::Style;
use baton_apply::{LiveObject, Secrecy, Target};
use clap::Args;
use serde_json::Value as Json;
use similar::TextDiff;

use crate::{
    cluster::ClusterArgs,
    error::{CommandError, Ending, Exit},
    model::{ChangeKind, FieldChange},
    terminal::{BOLD, CYAN, GREEN, PLAIN, RED, Terminal},
    view::{OutputArgs, changes_table, write_warnings, yaml},
    write::{DryRunStrategy, IntentArgs, Written, WrittenReport},
};

/// Stands for a value that isn't shown, and that differs from the one before.
const HIDDEN_NEW: &str = "(hidden, another value)";

/// Show what an apply of these manifests would change
///
/// The difference comes from a server dry run. With --live, or if you lack the permission for that, it is predicted here. Below the
/// difference of each object are the fields that would be taken over from other managers, the fields that would be released, and the
/// conflicts. An object with conflicts is shown as if they were overwritten. If the server refuses an object for another reason, its
/// message is shown.
///
/// Values of Secrets aren't shown. Environment variables and arguments are, as kubectl diff shows them.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes, as those of kubectl diff:
  0  no difference
  1  a difference, or a conflict
  2  the server refuses a manifest, the command line or a manifest is wrong, or there is no such kind
  3  the cluster can't be reached, or doesn't allow it

Examples:
  kubectl baton diff -f web.yaml
  kubectl baton diff -f manifests/ -R --field-manager ci
  kubectl baton diff -f web.yaml --live saved.yaml")]
pub(crate) struct DiffArgs {
    #[command(flatten)]
    intents: IntentArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) async fn run(args: DiffArgs, cluster: &ClusterArgs, terminal: &mut Terminal) -> Ending {
    let (writer, intents) = args.intents.read(cluster, terminal).await?;
    let manager = &args.intents.field_manager;
    let (mut reports, mut texts) = (Vec::new(), Vec::new());
    for intent in intents {
        let live = intent.live.as_ref();
        let plain = writer.predict(intent.request(live, manager, false), live);
        let forced = writer
            .try_out(intent.live.clone(), DryRunStrategy::Server, async |live| {
                Ok(intent.request(live, manager, true))
            })
            .await?;
        texts.push(text(&intent.target, live, &forced)?);
        let (plain, forced) = (plain.report(DryRunStrategy::Client), forced.report(DryRunStrategy::Client));
        reports.push(if forced.is_refused() {
            WrittenReport { changes: plain.changes, ..forced }
        } else {
            WrittenReport { certainty: forced.certainty, warnings: forced.warnings, ..plain }
        });
    }
    let is_different = |(report, text): (&WrittenReport, &String)| {
        !text.is_empty()
            || !matches!(report.result, "changed" | "unchanged")
            || report.changes.iter().any(changes_owners)
    };
    let differs = reports.iter().zip(&texts).any(is_different);
    args.output.print(terminal, &reports, |terminal| {
        for (report, text) in reports.iter().zip(&texts) {
            for line in text.lines() {
                let style = style(line);
                writeln!(terminal.out, "{style}{line}{style:#}")?;
            }
            let changes = report.changes.iter().filter(|change| changes_owners(change));
            changes_table(changes).write(&mut *terminal.out, "")?;
            write_warnings(report, terminal)?;
            if report.is_refused() {
                writeln!(terminal.out, "{}: {RED}refused{RED:#}", report.object)?;
            }
            for line in report.notes() {
                writeln!(terminal.out, "{line}")?;
            }
        }
        Ok(())
    })?;
    Ok(match differs {
        _ if reports.iter().any(WrittenReport::is_refused) => Exit::Input,
        true => Exit::Differs,
        false => Exit::Done,
    })
}

/// Whether a change is one of owners, too.
fn changes_owners(change: &FieldChange) -> bool {
    !change.from.is_empty() || change.kind == ChangeKind::Released
}

/// The difference of an object as YAML; empty if there is none.
fn text(target: &Target, before: Option<&LiveObject>, written: &Written) -> Result<String, CommandError> {
    let secrecy = Secrecy::of(&target.resource);
    let yaml = |object: &LiveObject, stands_for: &dyn Fn(&[&str], &Json) -> &'static str| {
        let json = object.as_json().map_err(CommandError::format("JSON"))?;
        yaml(&printable(json.clone(), secrecy, stands_for))
    };
    let Some(after) = written.after() else { return Ok(String::new()) };
    let marked = |path: &[&str], value: &Json| {
        let is_same = before.and_then(|before| before.get(path)) == Some(value);
        if is_same { Secrecy::HIDDEN } else { HIDDEN_NEW }
    };
    let after = yaml(after, &marked)?;
    let before = before.map(|before| yaml(before, &|_, _| Secrecy::HIDDEN)).transpose()?.unwrap_or_default();
    let diff = TextDiff::from_lines(&before, &after);
    let names = [format!("live/{target}"), format!("applied/{target}")].map(|name| name.replace(' ', "/"));
    Ok(diff.unified_diff().context_radius(3).header(&names[0], &names[1]).to_string())
}

/// An object without the metadata that only the server writes, and with a text in place of each value of a Secret. `stands_for` is called
/// with the path of the value.
fn printable(
    mut object: Json,
    secrecy: Secrecy,
    stands_for: impl Fn(&[&str], &Json) -> &'static str,
) -> Json {
    if let Some(metadata) = object.get_mut("metadata").and_then(Json::as_object_mut) {
        for name in ["managedFields", "resourceVersion", "generation", "uid", "creationTimestamp"] {
            metadata.remove(name);
        }
    }
    if secrecy == Secrecy::Secret {
        for part in [&["data"][..], &["stringData"], &["metadata", "annotations"]] {
            let values = part.iter().try_fold(&mut object, |value, name| value.get_mut(name));
            for (name, value) in values.and_then(Json::as_object_mut).into_iter().flatten() {
                let is_shown =
                    part.len() > 1 && value.as_str().is_none_or(|text| !secrecy.hides_annotation(name, text));
                if !is_shown {
                    *value = stands_for(&[part, &[name.as_str()]].concat(), value).into();
                }
            }
        }
    }
    object
}

fn style(line: &str) -> Style {
    match line.as_bytes() {
        [b'-', b'-', b'-', ..] | [b'+', b'+', b'+', ..] => BOLD,
        [b'-', ..] => RED,
        [b'+', ..] => GREEN,
        [b'@', ..] => CYAN,
        _ => PLAIN,
    }
}
