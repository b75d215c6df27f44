//! Predictions must not differ from what the server then did: every test fails if one did. It is read from the log, which shows the
//! differences.

/// The text in each such line.
const MESSAGE: &str = "prediction mismatch";

/// Searches the log of an operator that has ended, and panics if a prediction was wrong.
#[derive(Debug)]
pub(super) struct MismatchCheck {
    expected: bool,
}

impl MismatchCheck {
    /// If mismatches are expected, it checks nothing.
    pub(super) fn new(expected: bool) -> Self {
        Self { expected }
    }

    /// Panics if the log has a mismatch.
    pub(super) fn run(&self, log: &str) {
        let found = if self.expected { Vec::new() } else { mismatches(log) };
        assert!(found.is_empty(), "the operator predicted wrongly; its log:\n{}", found.join("\n"));
    }
}

fn mismatches(log: &str) -> Vec<&str> {
    log.lines().filter(|line| line.contains(MESSAGE)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "INFO ready\nWARN prediction mismatch kind=\"Service\"\n";

    #[test]
    #[should_panic(expected = "prediction mismatch kind=\"Service\"")]
    fn a_mismatch_is_a_panic_that_shows_the_mismatch() {
        MismatchCheck::new(false).run(LOG);
    }

    #[test]
    fn an_expected_mismatch_is_no_panic() {
        MismatchCheck::new(true).run(LOG);
        MismatchCheck::new(false).run("INFO ready\n");
    }
}
