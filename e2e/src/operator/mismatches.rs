//! Wrong predictions, as the operator logs them. A test fails if there was one.

/// The lines of a log that show a wrong prediction.
pub(crate) fn mismatches(log: &str) -> impl Iterator<Item = &str> {
    log.lines().filter(|line| line.contains("prediction mismatch"))
}

/// Panics if the log of an operator that has ended shows a wrong prediction, unless that is expected.
pub(super) fn check(log: &str, are_expected: bool) {
    let found: Vec<&str> = mismatches(log).filter(|_| !are_expected).collect();
    assert!(found.is_empty(), "the operator predicted wrongly; its log:\n{}", found.join("\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "INFO ready\nWARN prediction mismatch kind=\"Service\"\n";

    #[test]
    #[should_panic(expected = "prediction mismatch kind=\"Service\"")]
    fn a_mismatch_is_a_panic_that_shows_the_mismatch() {
        check(LOG, false);
    }

    #[test]
    fn an_expected_mismatch_is_no_panic() {
        check(LOG, true);
        check("INFO ready\n", false);
    }
}
