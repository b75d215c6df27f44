//! Where a command reads and writes.

use std::io::{self, BufRead, Write};

/// The streams of a command. Styles are written as ANSI codes: give it streams that remove them where nobody sees colours.
pub struct Terminal {
    /// Standard output.
    pub out: Box<dyn Write>,
    /// Standard error.
    pub err: Box<dyn Write>,
    /// Standard input.
    pub input: Box<dyn BufRead>,
    /// Whether a person can answer a question.
    pub is_interactive: bool,
}

impl Terminal {
    /// Asks a person to confirm. `None` if nobody can answer.
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
}
