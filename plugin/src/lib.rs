//! `kubectl baton`: who owns a field, what an apply would do, and how to pass a field on.
//!
//! A kubectl plugin for server-side apply on any cluster. What writes would do is predicted by [`baton_apply`] from the schemas of
//! the cluster, before they are sent. [`run`] is the whole program; the binary gives it the streams of its process.
//!
//! | module | what it is for |
//! | --- | --- |
//! | `cli` | the command line |
//! | `commands` | one module for each command |
//! | `baton` | Baton's own objects |
//! | `cluster`, `manifest` | objects: of a cluster, and in files |
//! | `intents` | what manifests ask for, and the objects they are about |
//! | `path` | field paths as people write them |
//! | `owners` | who owns which field |
//! | `opened` | an object of a cluster, and writes to it that follow each other |
//! | `write` | a write: predicted, tried, compared and sent |
//! | `view` | tables, values without secrets, JSON and YAML |

mod baton;
mod cli;
mod cluster;
mod commands;
mod failure;
mod intents;
mod manifest;
mod opened;
mod owners;
mod path;
mod terminal;
mod view;
mod write;

use std::{ffi::OsString, io};

use clap::{Parser as _, error::ErrorKind};

use crate::{cli::Cli, failure::Exit, view::RED};
pub use crate::{
    cluster::ClusterError, failure::Failure, intents::OfflineError, manifest::ManifestError, path::PathError,
    terminal::Terminal,
};

/// Runs a command line, whose first argument is the program's name. Returns the exit code:
///
/// | code | means |
/// | --- | --- |
/// | 0 | it is done, or there is nothing to report |
/// | 1 | there are differences or conflicts, or the server refused the write |
/// | 2 | the command line, a manifest or a path is wrong, or there is no such kind or object |
/// | 3 | the cluster can't be reached, or doesn't allow it |
pub async fn run<A: Into<OsString> + Clone>(
    args: impl IntoIterator<Item = A>,
    terminal: &mut Terminal,
) -> u8 {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error)
            if error.use_stderr() && error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand =>
        {
            // If nobody reads it, there is nobody to report that to.
            let _ = writeln!(terminal.err, "{RED}error:{RED:#} {}", one_line(&error));
            return Exit::Input as u8;
        }
        Err(error) => {
            // As above.
            let _ = write!(terminal.out, "{}", error.render().ansi());
            return if error.use_stderr() { Exit::Input } else { Exit::Done } as u8;
        }
    };
    let exit = match Box::pin(cli.run(terminal)).await {
        Ok(exit) => exit,
        // Whoever read it has seen enough.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
        Err(failure) => {
            let _ = writeln!(terminal.err, "{RED}error:{RED:#} {}", failure.line());
            failure.exit()
        }
    };
    // As above.
    let _ = terminal.out.flush();
    exit as u8
}

/// What is wrong with a command line, on one line.
fn one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let end = ["\n\nUsage:", "\n\nFor more"].iter().filter_map(|what| text.find(what)).min();
    let lines = text[..end.unwrap_or(text.len())].lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(" ")
}
