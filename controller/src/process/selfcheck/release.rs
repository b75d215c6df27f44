//! Whether this version of Baton supports the API server's release.

use baton_merge::Release;

use super::CheckResult;

/// The result for a server with this `gitVersion` in `/version`.
pub(super) fn judge(git_version: &str) -> CheckResult {
    let known = format!("{} to {}", minor(Release::OLDEST), minor(Release::LATEST));
    let release: Release = match git_version.parse() {
        Ok(release) => release,
        Err(error) => return CheckResult::Warning(format!("{error}; it is treated as {}", Release::LATEST)),
    };
    if release < Release::OLDEST {
        CheckResult::Wrong(format!(
            "its release {release} is too old: this version of Baton works with {known}. Upgrade the cluster"
        ))
    } else if release > Release::LATEST {
        CheckResult::Warning(format!(
            "its release {release} is newer than this version of Baton knows ({known}); it is treated as {}. Upgrade Baton",
            Release::LATEST
        ))
    } else {
        CheckResult::Fine(format!("release {release}"))
    }
}

/// A release without its patch.
fn minor(release: Release) -> String {
    let text = release.to_string();
    text.splitn(3, '.').take(2).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_releases_are_fine_older_ones_are_wrong_and_newer_ones_get_a_warning() {
        assert_eq!(judge("v1.36.3"), CheckResult::Fine("release 1.36.3".to_owned()));
        assert_eq!(judge("v1.33.0-eks-1"), CheckResult::Fine("release 1.33.0".to_owned()));
        let CheckResult::Wrong(message) = judge("v1.32.9") else { panic!("1.32 is too old") };
        assert!(message.contains("1.32.9") && message.contains("1.33 to 1.37"), "{message}");
        let CheckResult::Warning(message) = judge("v1.38.0") else { panic!("1.38 is newer") };
        assert!(message.contains("1.38.0") && message.contains("treated as 1.37"), "{message}");
        assert!(matches!(judge("latest"), CheckResult::Warning(_)));
    }
}
