//! Results for people and programs.

mod rows;
mod table;
mod written;

use std::io;

use clap::{Args, ValueEnum};
use serde::Serialize;

pub(crate) use self::{
    rows::{changes_table, manager_cells, moved_values, moves_table, owners_table},
    table::{Cell, Table},
    written::{WriteArgs, write_object, write_warnings},
};
use crate::{error::CommandError, terminal::Terminal};

/// The format of a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Table,
    /// For programs, as JSON.
    Json,
    /// For programs, as YAML.
    Yaml,
}

/// The flag that chooses the format.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct OutputArgs {
    /// How to print the result.
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

impl OutputArgs {
    /// Prints a result for programs, or calls `table` to print it for people.
    pub(crate) fn print<T: Serialize + ?Sized>(
        self,
        terminal: &mut Terminal,
        result: &T,
        table: impl FnOnce(&mut Terminal) -> io::Result<()>,
    ) -> Result<(), CommandError> {
        match self.output {
            Format::Table => table(terminal)?,
            Format::Json => writeln!(terminal.out, "{}", json(result, serde_json::to_string_pretty)?)?,
            Format::Yaml => write!(terminal.out, "{}", yaml(result)?)?,
        }
        Ok(())
    }
}

/// A result as JSON, with an escape for the control character that streams without colors would drop.
pub(crate) fn json<T: Serialize + ?Sized>(
    result: &T,
    write: impl FnOnce(&T) -> serde_json::Result<String>,
) -> Result<String, CommandError> {
    let text = write(result).map_err(CommandError::format("JSON"))?;
    Ok(text.replace('\u{7f}', "\\u007f"))
}

/// A result as YAML.
pub(crate) fn yaml<T: Serialize + ?Sized>(result: &T) -> Result<String, CommandError> {
    baton_merge::yaml::to_string(result).map_err(CommandError::format("YAML"))
}
