//! The oracle: a program that responds to the merge driver protocol with the libraries of a kube-apiserver.

use std::path::PathBuf;

use baton_merge_driver::corpus::RECORDED;
use baton_testbed::{Error, assets::GoProgram, workspace};

/// The oracle of a release, cached or built now. A build takes minutes, reports that on standard error, and blocks the
/// thread.
pub fn oracle(release: &str) -> Result<PathBuf, Error> {
    GoProgram {
        title: &format!("the merge oracle of {release}"),
        source: source(),
        // The libraries of another release, instead of those in go.mod.
        module_file: (release != RECORDED).then(|| format!("releases/{release}.mod").into()),
        package: ".",
        name: "oracle",
        packages: 800,
        takes: "a minute or two",
    }
    .binary()
}

/// The folder of its module.
fn source() -> PathBuf {
    workspace().join("merge/lab/oracle")
}

#[cfg(test)]
mod tests {
    use baton_merge_driver::corpus::RELEASES;

    use super::*;

    #[test]
    fn every_release_has_its_module_file() {
        for release in RELEASES.into_iter().filter(|release| *release != RECORDED) {
            assert!(source().join(format!("releases/{release}.mod")).is_file(), "{release}");
        }
    }
}
