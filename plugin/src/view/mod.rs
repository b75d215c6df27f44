//! What people and programs see.

mod changes;
mod table;

use anstyle::{AnsiColor, Style};
pub(crate) use baton_apply::Secrecy;
use baton_merge::{fieldpath::Path, value::Value};
use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::Value as Json;

pub(crate) use self::{
    changes::{Change, ChangeKind, Changing},
    table::{Cell, Table},
};
use crate::{Terminal, failure::Failure};

/// What is good, or added.
pub(crate) const GREEN: Style = AnsiColor::Green.on_default();
/// What is gone, or stops.
pub(crate) const RED: Style = AnsiColor::Red.on_default();
/// What deserves a look.
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default();
/// What is named.
pub(crate) const CYAN: Style = AnsiColor::Cyan.on_default();
/// What is of less interest.
pub(crate) const DIM: Style = Style::new().dimmed();
/// What is read first.
pub(crate) const BOLD: Style = Style::new().bold();
/// What isn't marked.
pub(crate) const PLAIN: Style = Style::new();

/// Stands for a value that isn't shown, and that differs from the one before.
pub(crate) const HIDDEN_NEW: &str = "(hidden, another value)";
/// How many characters of a value fit into a table.
const LONGEST: usize = 48;

/// How a result is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Table,
    /// For programs.
    Json,
    /// The same as YAML.
    Yaml,
}

/// The flag that chooses the format.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct OutputArgs {
    /// How to print the result.
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

impl Format {
    /// Prints a result for programs, or calls `table` to print it for people.
    pub(crate) fn print<T: Serialize + ?Sized>(
        self,
        terminal: &mut Terminal,
        result: &T,
        table: impl FnOnce(&mut Terminal) -> std::io::Result<()>,
    ) -> Result<(), Failure> {
        match self {
            Self::Table => table(terminal)?,
            Self::Json => {
                let text = serde_json::to_string_pretty(result);
                let text = text.map_err(|error| Failure::Format("JSON", error.into()))?;
                writeln!(terminal.out, "{}", printable_json(&text))?;
            }
            Self::Yaml => {
                let text = baton_merge::yaml::to_string(result);
                write!(terminal.out, "{}", text.map_err(|error| Failure::Format("YAML", error.into()))?)?;
            }
        }
        Ok(())
    }
}

/// JSON with an escape for the control character that streams without colors would drop.
pub(crate) fn printable_json(json: &str) -> String {
    json.replace('\u{7f}', "\\u007f")
}

/// A value as it may be shown: as JSON, without secrets, and shortened.
pub(crate) fn shown(secrecy: Secrecy, path: Path<'_>, value: Value<'_>) -> String {
    shortened(&secrecy.shown(path, value))
}

/// A text as long as a table can have it.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text[..end].trim_end_matches('…')),
        None => text.to_owned(),
    }
}

/// A text as a shell reads it.
pub(crate) fn quoted(text: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_./:=@,+".contains(character);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// An object for printing: without `managedFields`, and with a text in place of each value of a Secret. `stands_for` is called with the
/// path of the value.
pub(crate) fn printable(
    object: &Json,
    secrecy: Secrecy,
    stands_for: impl Fn(&[&str], &Json) -> &'static str,
) -> Json {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Json::as_object_mut) {
        metadata.remove("managedFields");
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
