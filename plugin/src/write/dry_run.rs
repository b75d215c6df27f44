//! The flag `--dry-run`.

use std::{ffi::OsStr, io};

use clap::{
    Arg, Args, Command, Error,
    builder::{PossibleValue, TypedValueParser},
    error::ErrorKind,
};

use crate::terminal::Terminal;

/// How far a write goes, by the values of kubectl's flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DryRunStrategy {
    /// The write is stored.
    None,
    /// The write is predicted here, and not sent.
    Client,
    /// The server does everything but store the write.
    Server,
}

impl DryRunStrategy {
    const ALL: [Self; 3] = [Self::None, Self::Client, Self::Server];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

/// Reads the value of `--dry-run` as the KEP on dry runs has it: one of three words, or a boolean, which is deprecated.
#[derive(Clone)]
struct DryRunParser;

/// kubectl's warning about a boolean.
const DEPRECATED: &str = "Boolean values for --dry-run are deprecated and will be removed in a future version. \
                          Must be \"none\", \"server\", or \"client\".";

impl TypedValueParser for DryRunParser {
    type Value = (DryRunStrategy, bool);

    fn parse_ref(&self, _: &Command, _: Option<&Arg>, value: &OsStr) -> Result<Self::Value, Error> {
        let value = value.to_string_lossy();
        if let Some(known) = DryRunStrategy::ALL.into_iter().find(|known| known.name() == value) {
            return Ok((known, false));
        }
        match value.as_ref() {
            // As Go's ParseBool reads them.
            "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok((DryRunStrategy::Client, true)),
            "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok((DryRunStrategy::None, true)),
            other => Err(Error::raw(
                ErrorKind::InvalidValue,
                format!("Invalid dry-run value ({other}). Must be \"none\", \"server\", or \"client\".\n"),
            )),
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(DryRunStrategy::ALL.map(|known| PossibleValue::new(known.name())).into_iter()))
    }
}

/// The flag `--dry-run`.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct DryRunArgs {
    /// none: send the write. client: predict it here and send nothing. server: have the server try it without storing it, and compare
    /// its response with the prediction.
    #[arg(
        long,
        num_args = 0..=1,
        default_value = "none",
        default_missing_value = "",
        value_parser = DryRunParser,
        value_name = "none|client|server",
        hide_possible_values = true,
        hide_default_value = true
    )]
    dry_run: (DryRunStrategy, bool),
}

impl DryRunArgs {
    /// How far the write goes. Warns of a boolean.
    pub(crate) fn get(self, terminal: &mut Terminal) -> io::Result<DryRunStrategy> {
        let (dry_run, is_boolean) = self.dry_run;
        if is_boolean {
            terminal.warn(DEPRECATED)?;
        }
        Ok(dry_run)
    }
}
