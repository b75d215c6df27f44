//! `kubectl baton`: who owns a field, what an apply would do, and how to pass a field on.
//!
//! A kubectl plugin for server-side apply on any cluster. [`baton_apply`] predicts writes from the schemas of the cluster before they
//! are sent. [`run`] is the whole program; the binary gives it the streams of its process.
//!
//! Each module knows only modules below it:
//!
//! | module | contents |
//! | --- | --- |
//! | `cli` | the command line |
//! | `commands` | the commands, one module each |
//! | `view` | results as tables, JSON and YAML |
//! | `write` | writes: predicted, tried, compared and sent; the manifests and objects that they are made from |
//! | `error` | errors of commands, and exit codes |
//! | `cluster`, `offline` | kinds, schemas and objects: of a cluster, or of files |
//! | `manifest`, `model` | manifests; field paths, the owners of fields, and changes of fields |
//! | `terminal`, `text` | streams and colours; texts of commands and messages |

mod cli;
mod cluster;
mod commands;
mod error;
mod manifest;
mod model;
mod offline;
mod terminal;
mod text;
mod view;
mod write;

use std::{ffi::OsString, io};

use clap::{Parser as _, error::ErrorKind};

pub use crate::terminal::Terminal;
use crate::{
    cli::Cli,
    error::{CommandError, Exit},
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
            terminal.fail(one_line(&error));
            return Exit::Input as u8;
        }
        Err(error) => {
            // A failure can't be reported if the output isn't read.
            let _ = write!(terminal.out, "{}", error.render().ansi());
            return if error.use_stderr() { Exit::Input } else { Exit::Done } as u8;
        }
    };
    let exit = match Box::pin(cli.run(terminal)).await {
        Ok(exit) => exit,
        // The reader of a pipe has seen enough.
        Err(CommandError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
        Err(error) => {
            terminal.fail(error.line());
            error.exit()
        }
    };
    // As above.
    let _ = terminal.out.flush();
    exit as u8
}

/// The error of a command line, on one line.
fn one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let end = ["\n\nUsage:", "\n\nFor more"].iter().filter_map(|what| text.find(what)).min();
    let lines = text[..end.unwrap_or(text.len())].lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(" ")
}
