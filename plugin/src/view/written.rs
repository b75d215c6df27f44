//! Results of writes, for people.

use std::io;

use clap::Args;

use super::{OutputArgs, changes_table, moves_table};
use crate::{
    error::Ending,
    terminal::{BOLD, CYAN, GREEN, PLAIN, RED, Terminal},
    write::{DryRunArgs, DryRunStrategy, StepReport, Steps, WrittenReport},
};

/// Writes the result of one write: a line for the object, and one for each field. Warnings go to standard error.
pub(crate) fn write_object(report: &WrittenReport, terminal: &mut Terminal) -> io::Result<()> {
    write!(terminal.out, "{} ", report.object)?;
    write_result(report, terminal)?;
    // All fields of a new object are new.
    if report.result != "created" {
        changes_table(&report.changes).write(&mut *terminal.out, "  ")?;
    }
    write_notes(report, terminal, "  ")
}

/// The flags of a command that writes in steps.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct WriteArgs {
    #[command(flatten)]
    dry_run: DryRunArgs,
    #[command(flatten)]
    output: OutputArgs,
}

impl WriteArgs {
    /// How far the writes go. Warns of a deprecated value.
    pub(crate) fn dry_run(self, terminal: &mut Terminal) -> io::Result<DryRunStrategy> {
        self.dry_run.get(terminal)
    }

    /// Prints the result of all steps, with what is left to do if none was refused.
    pub(crate) fn finish(self, steps: Steps<'_>, left_to_do: Vec<String>, terminal: &mut Terminal) -> Ending {
        let (report, exit) = steps.report(left_to_do);
        self.output.print(terminal, &report, |terminal| {
            writeln!(terminal.out, "{BOLD}{}{BOLD:#}", report.object)?;
            for (StepReport { what, written, moves }, number) in report.steps.iter().zip(1..) {
                write!(terminal.out, "{number}. {what}: ")?;
                write_result(written, terminal)?;
                if !moves.is_empty() {
                    moves_table(moves).write(&mut *terminal.out, "   ")?;
                }
                write_notes(written, terminal, "   ")?;
            }
            if !report.left_to_do.is_empty() {
                writeln!(terminal.out, "{CYAN}Left to do:{CYAN:#}")?;
            }
            report.left_to_do.iter().try_for_each(|one| writeln!(terminal.out, "- {one}"))
        })?;
        Ok(exit)
    }
}

/// Writes what happened to the object, to the end of the line.
fn write_result(report: &WrittenReport, terminal: &mut Terminal) -> io::Result<()> {
    let how = match report.dry_run {
        "client" => " (client dry run)",
        "server" => " (server dry run)",
        _ => "",
    };
    let style = match report.result {
        "conflict" | "refused" => RED,
        "unchanged" => PLAIN,
        _ => GREEN,
    };
    writeln!(terminal.out, "{style}{}{style:#}{how}", report.result)
}

/// Writes why it is refused, and how the prediction compares, after an indentation.
fn write_notes(report: &WrittenReport, terminal: &mut Terminal, indentation: &str) -> io::Result<()> {
    let compared = match report.prediction {
        _ if report.dry_run != "server" => None,
        Some("agreed") => Some("as predicted"),
        Some("filledIn") => Some("as predicted, but for what the server fills in"),
        Some("uncertain") => Some("the prediction was uncertain, and differs"),
        _ => None,
    };
    for line in report.notes().chain(compared) {
        writeln!(terminal.out, "{indentation}{line}")?;
    }
    write_warnings(report, terminal)?;
    if report.prediction == Some("differs") {
        terminal.warn(format_args!("{}: not as predicted", report.object))?;
        report.differences.iter().try_for_each(|difference| writeln!(terminal.err, "  {difference}"))?;
    }
    Ok(())
}

/// Writes the server's warnings to standard error.
pub(crate) fn write_warnings(report: &WrittenReport, terminal: &mut Terminal) -> io::Result<()> {
    report.warnings.iter().try_for_each(|text| terminal.warn(format_args!("{}: {text}", report.object)))
}
