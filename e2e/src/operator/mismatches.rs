//! No prediction of the operator's may differ from what the server then did: whatever an operator runs for, its owner
//! fails if one did. It goes by the log, since that says what differed.

use std::path::{Path, PathBuf};

/// What each such line contains.
const MESSAGE: &str = "prediction mismatch";

/// Looks through the log of an operator that has ended, and panics if a prediction was wrong.
#[derive(Debug)]
pub(super) struct MismatchCheck {
    log: PathBuf,
    expected: bool,
}

impl MismatchCheck {
    /// For the operator with this log. Where mismatches are expected, nothing is looked at.
    pub(super) fn new(log: &Path, expected: bool) -> Self {
        Self { log: log.to_owned(), expected }
    }

    /// Panics if the log, as it is now, tells of a mismatch.
    pub(super) fn run(&self) {
        if self.expected {
            return;
        }
        // A log that can't be read has gone with its control plane, or the disk is full; neither is a mismatch.
        let bytes = std::fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let found = mismatches(&text);
        assert!(
            found.is_empty(),
            "the operator predicted wrongly; its log {} says:\n{}",
            self.log.display(),
            found.join("\n")
        );
    }
}

/// A test that fails already is left to fail for its own reason.
impl Drop for MismatchCheck {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.run();
        }
    }
}

fn mismatches(log: &str) -> Vec<&str> {
    log.lines().filter(|line| line.contains(MESSAGE)).collect()
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    const LOG: &str = "INFO starting\nWARN prediction mismatch kind=Service\nINFO stopped\n";

    fn dropping(log: &str, expected: bool) -> Result<(), String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::fs::write(&path, log).unwrap();
        let check = MismatchCheck::new(&path, expected);
        let dropped = catch_unwind(AssertUnwindSafe(|| drop(check)));
        dropped.map_err(|panic| panic.downcast_ref::<String>().unwrap().clone())
    }

    #[test]
    fn a_mismatch_in_the_log_is_a_panic_with_its_line() {
        let panic = dropping(LOG, false).unwrap_err();
        assert!(panic.ends_with("says:\nWARN prediction mismatch kind=Service"), "{panic}");
    }

    #[test]
    fn an_expected_mismatch_is_none_and_so_is_a_log_without_one() {
        assert_eq!(dropping(LOG, true), Ok(()));
        assert_eq!(dropping("INFO starting\n", false), Ok(()));
    }
}
