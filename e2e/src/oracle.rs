//! The merge oracle, and the releases whose libraries it can be built from: one for each sort of merging that servers know.
//! It doesn't know what differs between them.

use std::path::{Path, PathBuf};

use baton_testbed::{Error, assets::GoProgram, workspace};
use clap::ValueEnum;

/// A release of Kubernetes, as requests of the merge driver protocol name it. One without a patch is built from the
/// latest patch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Release {
    /// The oldest whose rules the merge core knows.
    #[value(name = "1.33")]
    V1_33,
    /// From here on an item of a list may omit some of its keys.
    #[value(name = "1.34")]
    V1_34,
    /// Merges as the one before.
    #[value(name = "1.35")]
    V1_35,
    /// The last that leaves emptied containers behind.
    #[value(name = "1.36.2")]
    V1_36_2,
    /// The one that everything else here is tested with.
    #[default]
    #[value(name = "1.36.3")]
    V1_36_3,
    /// The newest whose rules the merge core knows.
    #[value(name = "1.37")]
    V1_37,
}

impl Release {
    /// All of them, from the oldest to the newest.
    pub const ALL: [Self; 6] =
        [Self::V1_33, Self::V1_34, Self::V1_35, Self::V1_36_2, Self::V1_36_3, Self::V1_37];

    /// The profile of a request.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V1_33 => "1.33",
            Self::V1_34 => "1.34",
            Self::V1_35 => "1.35",
            Self::V1_36_2 => "1.36.2",
            Self::V1_36_3 => "1.36.3",
            Self::V1_37 => "1.37",
        }
    }

    /// The file in the oracle's module that says which libraries to build it from, if that isn't `go.mod`.
    fn module_file(self) -> Option<PathBuf> {
        (self != Self::default()).then(|| Path::new("releases").join(format!("{}.mod", self.name())))
    }
}

/// The merge oracle of a release, from the cache or built now: a program that answers the merge driver protocol with the
/// libraries that its kube-apiserver is made of. A build takes minutes, says so on standard error, and blocks the thread.
///
/// # Errors
/// When it can't be built.
pub fn oracle(release: Release) -> Result<PathBuf, Error> {
    GoProgram {
        title: &format!("the merge oracle of {}", release.name()),
        source: source(),
        module_file: release.module_file(),
        package: ".",
        name: "oracle",
        packages: 800,
        takes: "a minute or two",
    }
    .binary()
}

/// The folder of its module.
fn source() -> PathBuf {
    workspace().join("e2e/oracle")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_release_has_its_module_file_and_says_its_name_on_the_command_line() {
        for release in Release::ALL {
            let file = release.module_file().unwrap_or_else(|| "go.mod".into());
            assert!(source().join(&file).is_file(), "{}", file.display());
            assert_eq!(Release::from_str(release.name(), false), Ok(release));
        }
    }
}
