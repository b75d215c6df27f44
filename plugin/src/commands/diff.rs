//! `diff`: what an apply would change.

use anstyle::Style;
use baton_apply::LiveObject;
use baton_merge::yaml;
use clap::Args;
use serde_json::Value as Json;
use similar::TextDiff;

use crate::{
    Terminal,
    cluster::ClusterArgs,
    failure::{Ending, Exit, Failure},
    intents::IntentArgs,
    view::{
        BOLD, CYAN, Change, ChangeKind, GREEN, HIDDEN_NEW, OutputArgs, PLAIN, RED, Secrecy, Table, printable,
    },
    write::{DryRunStrategy, Written, WrittenReport},
};

/// Show what an apply of these manifests would change
///
/// What the server would store, by a server dry run; where you may not do that, and with --live, as it is predicted here. After the
/// difference of each object come the fields that would be taken from other managers, those that would be released, and the conflicts.
/// An object with conflicts is shown as it would be if they were overwritten. What the server refuses for another reason has its message.
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
            || report.changes.iter().any(told)
    };
    let differs = reports.iter().zip(&texts).any(is_different);
    args.output.output.print(terminal, &reports, |terminal| {
        for (report, text) in reports.iter().zip(&texts) {
            for line in text.lines() {
                let style = style(line);
                writeln!(terminal.out, "{style}{line}{style:#}")?;
            }
            let mut table = Table::headless();
            report.changes.iter().filter(|change| told(change)).for_each(|change| change.row(&mut table));
            table.write(&mut *terminal.out, "")?;
            report.write_warnings(terminal)?;
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

/// Whether a change is of owners too.
fn told(change: &Change) -> bool {
    !change.from.is_empty() || change.kind == ChangeKind::Released
}

/// The difference of an object as YAML; empty if there is none.
fn text(
    target: &baton_apply::Target,
    before: Option<&LiveObject>,
    written: &Written,
) -> Result<String, Failure> {
    let secrecy = Secrecy::of(&target.resource);
    let yaml = |object: &Json, stands_for: &dyn Fn(&[&str], &Json) -> &'static str| {
        let object = without_the_servers(printable(object, secrecy, stands_for));
        yaml::to_string(&object).map_err(|error| Failure::Format("YAML", error.into()))
    };
    let Some(after) = written.after() else { return Ok(String::new()) };
    let marked = |path: &[&str], value: &Json| {
        let is_same = before.and_then(|before| before.get(path)) == Some(value);
        if is_same { Secrecy::HIDDEN } else { HIDDEN_NEW }
    };
    let tree = |object: &LiveObject| {
        object.as_json().cloned().map_err(|error| Failure::Format("JSON", error.into()))
    };
    let after = yaml(&tree(after)?, &marked)?;
    let before =
        before.map(|before| yaml(&tree(before)?, &|_, _| Secrecy::HIDDEN)).transpose()?.unwrap_or_default();
    let diff = TextDiff::from_lines(&before, &after);
    let names = [format!("live/{target}"), format!("applied/{target}")].map(|name| name.replace(' ', "/"));
    Ok(diff.unified_diff().context_radius(3).header(&names[0], &names[1]).to_string())
}

/// An object without what the server alone writes, and changes with each write.
fn without_the_servers(mut object: Json) -> Json {
    if let Some(metadata) = object.get_mut("metadata").and_then(Json::as_object_mut) {
        for name in ["resourceVersion", "generation", "uid", "creationTimestamp"] {
            metadata.remove(name);
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
