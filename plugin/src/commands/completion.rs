//! `completion` and `manual`: scripts of shells and manual pages, generated from the command line.

use std::{env, ffi::OsString, path::PathBuf};

use clap::{Args, Command, FromArgMatches as _};
use clap_complete::{Shell, engine, generate};
use kube::{ResourceExt, api::ListParams};

use crate::{
    cluster::{ClusterArgs, Connection, Reference},
    error::{Ending, Exit},
    terminal::Terminal,
};

/// The binary, for completion that goes without kubectl.
const BINARY: &str = "kubectl-baton";

/// Print the completion script of a shell
///
/// The script completes the name `kubectl-baton`. For `kubectl baton`, put the program `kubectl_complete-baton` into a folder of the PATH:
/// kubectl calls it.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  source <(kubectl baton completion bash)")]
pub(crate) struct CompletionArgs {
    /// The shell.
    shell: Shell,
}

pub(crate) fn run(args: &CompletionArgs, command: Command, terminal: &mut Terminal) -> Ending {
    let mut script = Vec::new();
    generate(args.shell, &mut command.bin_name(BINARY), BINARY, &mut script);
    terminal.out.write_all(&script)?;
    Ok(Exit::Done)
}

/// Candidates for the next word of a command line, in the form that kubectl reads from plugins.
#[derive(Debug, Args)]
pub(crate) struct CompleteArgs {
    /// The words after `kubectl baton`, to the word that is being written.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// Don't offer files: cobra's `ShellCompDirectiveNoFileComp`.
const NO_FILES: &str = ":4";
/// Offer files, too.
const FILES: &str = ":0";

pub(crate) async fn complete(
    args: CompleteArgs,
    mut command: Command,
    cluster: &ClusterArgs,
    terminal: &mut Terminal,
) -> Ending {
    let mut words = vec![OsString::from(BINARY)];
    words.extend(args.words);
    if let Some(objects) = objects(&words, command.clone(), cluster).await {
        objects.iter().try_for_each(|object| writeln!(terminal.out, "{object}"))?;
        writeln!(terminal.out, "{NO_FILES}")?;
        return Ok(Exit::Done);
    }
    let last = words.len().saturating_sub(1);
    let found = engine::complete(&mut command, words, last, env::current_dir().ok().as_deref())?;
    for candidate in &found {
        let help = candidate.get_help().map(ToString::to_string).unwrap_or_default();
        let help = help.lines().next().unwrap_or_default();
        writeln!(terminal.out, "{}\t{help}", candidate.get_value().to_string_lossy())?;
    }
    writeln!(terminal.out, "{}", if found.is_empty() { FILES } else { NO_FILES })?;
    Ok(Exit::Done)
}

/// The objects of the kind in the last word, as `deployment/web`. None if the word names no object, or the cluster can't be read. Flags
/// before the command are in `cluster`.
async fn objects(words: &[OsString], command: Command, cluster: &ClusterArgs) -> Option<Vec<String>> {
    let [line @ .., last] = words else { return None };
    let before = line.last()?;
    let is_value_of_flag = before.to_string_lossy().starts_with('-');
    let (kind, start) = last.to_str()?.split_once('/').filter(|_| !is_value_of_flag)?;
    let matches = command.ignore_errors(true).try_get_matches_from(line).ok()?;
    let (_, matches) = matches.subcommand()?;
    let has = |flag| matches.try_contains_id(flag).unwrap_or_default();
    let connection = if ["namespace", "context", "kubeconfig"].into_iter().any(has) {
        Connection::new(&ClusterArgs::from_arg_matches(matches).ok()?).await.ok()?
    } else {
        Connection::new(cluster).await.ok()?
    };
    let any = Reference { kind: kind.to_owned(), name: "any".to_owned() };
    let target = connection.kinds().await.ok()?.target(&any, &connection.namespace).ok()?;
    let found = target.api(connection.client).list_metadata(&ListParams::default()).await.ok()?;
    let names = found.items.iter().map(ResourceExt::name_any).filter(|name| name.starts_with(start));
    Some(names.map(|name| format!("{kind}/{name}")).collect())
}

/// Write the manual pages into a folder
#[derive(Debug, Args)]
pub(crate) struct ManualArgs {
    /// The folder, which has to exist.
    folder: PathBuf,
}

pub(crate) fn manual(args: &ManualArgs, command: Command) -> Ending {
    clap_mangen::generate_to(command.bin_name(BINARY), &args.folder)?;
    Ok(Exit::Done)
}
