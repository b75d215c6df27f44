//! Server releases and their differences.
//!
//! Everything that depends on the server's release is a field of [`Rules`], decided here and nowhere else.

use std::{fmt, str::FromStr};

/// A release of the API server, by minor and patch version of Kubernetes 1.
///
/// ```
/// use baton_merge::Release;
///
/// let release: Release = "v1.36.3".parse()?;
/// assert!(release < Release::LATEST);
/// assert_eq!(release.to_string(), "1.36.3");
/// # Ok::<(), baton_merge::ReleaseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release {
    minor: u16,
    patch: u16,
}

impl Release {
    /// The oldest release whose rules are known.
    pub const OLDEST: Self = Self { minor: 33, patch: 0 };
    /// The newest release whose rules are known, in its latest patch.
    pub const LATEST: Self = Self { minor: 37, patch: u16::MAX };
    /// A release given without its patch is taken for its latest one.
    const LATEST_PATCH: u16 = u16::MAX;

    /// The release 1.`minor`.`patch`.
    pub const fn new(minor: u16, patch: u16) -> Self {
        Self { minor, patch }
    }

    /// The rules of this release. Unknown releases have those of the nearest known one.
    pub(crate) fn rules(self) -> Rules {
        Rules {
            // structured-merge-diff 6.3.0; kube 1.33 has 4.6.
            keys_may_be_omitted: self.minor >= 34,
            // structured-merge-diff 6.3.1 and 6.3.2, taken back in 6.3.3.
            emptied_containers_stay: self.minor == 36 && self.patch < 3,
            // structured-merge-diff 6.3.1.
            extract_is_exact: self.minor >= 36,
            // structured-merge-diff 6.4.2.
            trailing_data_is_refused: self.minor >= 37,
            // apimachinery 0.34 marks them omitzero.
            unset_times_are_null: self.minor < 34,
            // apimachinery 0.37.
            failed_updates_keep_owners: self.minor >= 37,
        }
    }
}

impl Default for Release {
    /// The latest release.
    fn default() -> Self {
        Self::LATEST
    }
}

/// The differences between releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a rule of its own, that came or went in another release"
)]
pub(crate) struct Rules {
    /// Items of a map list may omit some of their keys. Before, each key without a default was required.
    pub(crate) keys_may_be_omitted: bool,
    /// A map or list that pruning empties stays as `{}` or `[]`; otherwise it is removed.
    pub(crate) emptied_containers_stay: bool,
    /// Extraction keeps empty maps and lists, and each item of a list once. Before, empty ones became null, and an item
    /// with paths below it came twice.
    pub(crate) extract_is_exact: bool,
    /// Text after the key or value in the name of a FieldsV1 member is refused; otherwise it is ignored.
    pub(crate) trailing_data_is_refused: bool,
    /// In the zero value of a Go type, `creationTimestamp` is null; elsewhere it is absent.
    pub(crate) unset_times_are_null: bool,
    /// If the new owners of an update can't be computed, the live ones stay; otherwise all are dropped.
    pub(crate) failed_updates_keep_owners: bool,
}

/// Text that isn't a release of Kubernetes 1.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is no release of Kubernetes; expected the form 1.36 or 1.36.3")]
pub struct ReleaseError(String);

impl FromStr for Release {
    type Err = ReleaseError;

    /// Parses `1.36`, `v1.36.3` and forms of providers, such as `v1.36.3-gke.100` and `1.36+`.
    fn from_str(text: &str) -> Result<Self, ReleaseError> {
        let error = || ReleaseError(text.to_owned());
        let version = text.strip_prefix('v').unwrap_or(text);
        let mut parts = version.splitn(3, '.');
        if parts.next() != Some("1") {
            return Err(error());
        }
        let minor = parts.next().ok_or_else(error)?;
        let minor = minor.strip_suffix('+').unwrap_or(minor).parse().map_err(|_| error())?;
        let patch = match parts.next() {
            None => Self::LATEST_PATCH,
            Some(patch) => {
                let digits = patch.find(|character: char| !character.is_ascii_digit()).unwrap_or(patch.len());
                patch[..digits].parse().map_err(|_| error())?
            }
        };
        Ok(Self { minor, patch })
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}", self.minor)?;
        if self.patch == Self::LATEST_PATCH { Ok(()) } else { write!(f, ".{}", self.patch) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_read_as_servers_and_people_write_them() {
        for (text, expected) in [
            ("1.36", Release::new(36, u16::MAX)),
            ("1.36+", Release::new(36, u16::MAX)),
            ("v1.36.3", Release::new(36, 3)),
            ("v1.36.3-gke.100", Release::new(36, 3)),
            ("1.37.0-alpha.1", Release::new(37, 0)),
        ] {
            assert_eq!(text.parse::<Release>().unwrap(), expected, "{text}");
        }
        for text in ["", "2.0", "1", "1.x", "1.36.x", "latest"] {
            assert!(text.parse::<Release>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_release_without_patch_is_its_latest() {
        let rules = |text: &str| text.parse::<Release>().unwrap().rules();
        assert!(rules("1.36.2").emptied_containers_stay);
        assert!(!rules("1.36").emptied_containers_stay);
        assert!(!rules("1.33").keys_may_be_omitted);
    }
}
