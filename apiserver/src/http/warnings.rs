//! Deduplication and truncation of warnings. After `k8s.io/apiserver/pkg/endpoints/filters/warning.go`.

use std::collections::HashSet;

/// The limit of all warnings together, in characters.
const ALL: usize = 4 * 1024;
/// The limit of one warning, if all are too long.
const ONE: usize = 256;

/// Drops duplicates, and truncates warnings that are too long together.
pub(super) fn limited(mut warnings: Vec<String>) -> Vec<String> {
    let mut known = HashSet::new();
    warnings.retain(|warning| known.insert(warning.clone()));
    let length = |warning: &String| warning.chars().count();
    if warnings.iter().map(length).sum::<usize>() <= ALL {
        return warnings;
    }
    let mut written = 0;
    let cut = warnings.into_iter().map(|warning| warning.chars().take(ONE).collect::<String>());
    cut.take_while(|warning| {
        let fits = written < ALL;
        written += length(warning);
        fits
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_given_once() {
        let given = ["a", "b", "a"].map(str::to_owned);
        assert_eq!(limited(given.into()), ["a", "b"]);
    }

    #[test]
    fn warnings_that_are_too_long_are_cut() {
        let given: Vec<_> = (0..100).map(|number| format!("{number:0300}")).collect();
        let limited = limited(given);
        assert_eq!(limited.len(), ALL / ONE);
        assert!(limited.iter().all(|warning| warning.len() == ONE));
    }
}
