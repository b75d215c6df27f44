//! No prediction of the operator's may differ from what the server then did: whatever an operator runs for, its owner
//! fails if one did. It goes by the log, since that says what differed.

/// What each such line contains.
const MESSAGE: &str = "prediction mismatch";

/// Looks through the log of an operator that has ended, and panics if a prediction was wrong.
#[derive(Debug)]
pub(super) struct MismatchCheck {
    expected: bool,
}

impl MismatchCheck {
    /// Where mismatches are expected, nothing is looked at.
    pub(super) fn new(expected: bool) -> Self {
        Self { expected }
    }

    /// Panics if the log tells of a mismatch.
    pub(super) fn run(&self, log: &str) {
        let found = if self.expected { Vec::new() } else { mismatches(log) };
        assert!(found.is_empty(), "the operator predicted wrongly; its log says:\n{}", found.join("\n"));
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
    fn a_mismatch_is_a_panic_that_shows_it() {
        MismatchCheck::new(false).run(LOG);
    }

    #[test]
    fn a_mismatch_that_was_expected_is_none() {
        MismatchCheck::new(true).run(LOG);
        MismatchCheck::new(false).run("INFO ready\n");
    }
}
