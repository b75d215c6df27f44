//! The streams of a command, and its colours on them.

use std::{
    fmt::Display,
    io::{self, BufRead, Write},
};

use anstyle::{AnsiColor, Style};

/// Good or added.
pub(crate) const GREEN: Style = AnsiColor::Green.on_default();
/// Wrong, removed or refused.
pub(crate) const RED: Style = AnsiColor::Red.on_default();
/// Changed, or a warning.
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default();
/// A name.
pub(crate) const CYAN: Style = AnsiColor::Cyan.on_default();
/// Of less interest.
pub(crate) const DIM: Style = Style::new().dimmed();
/// A heading.
pub(crate) const BOLD: Style = Style::new().bold();
/// Without a mark.
pub(crate) const PLAIN: Style = Style::new();

/// The streams of a command. Styles are written as ANSI codes: give it streams that remove them where the output isn't a terminal.
pub struct Terminal {
    /// Standard output.
    pub out: Box<dyn Write>,
    /// Standard error.
    pub err: Box<dyn Write>,
    /// Standard input.
    pub input: Box<dyn BufRead>,
    /// Whether a user can confirm a question.
    pub is_interactive: bool,
}

impl Terminal {
    /// Asks the user to confirm. `None` if the input isn't a terminal.
    pub(crate) fn confirms(&mut self, question: &str) -> io::Result<Option<bool>> {
        if !self.is_interactive {
            return Ok(None);
        }
        write!(self.err, "{question} [y/N] ")?;
        self.err.flush()?;
        let mut answer = String::new();
        self.input.read_line(&mut answer)?;
        Ok(Some(matches!(answer.trim(), "y" | "Y" | "yes")))
    }

    /// Writes a warning to standard error.
    pub(crate) fn warn(&mut self, warning: impl Display) -> io::Result<()> {
        writeln!(self.err, "{YELLOW}warning:{YELLOW:#} {warning}")
    }

    /// Writes an error to standard error. A failure of that can't be reported.
    pub(crate) fn fail(&mut self, error: impl Display) {
        let _ = writeln!(self.err, "{RED}error:{RED:#} {error}");
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn only_a_person_who_says_yes_confirms() {
        let confirms = |answer: &'static str, is_interactive| {
            let (out, err) = (Box::new(io::sink()), Box::new(io::sink()));
            let mut terminal = Terminal { out, err, input: Box::new(Cursor::new(answer)), is_interactive };
            terminal.confirms("Clear it?").unwrap()
        };
        assert_eq!(confirms("y\n", true), Some(true));
        assert_eq!(confirms("\n", true), Some(false));
        assert_eq!(confirms("", true), Some(false));
        assert_eq!(confirms("y\n", false), None);
    }
}
