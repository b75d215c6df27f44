//! The manifests that the demo applies, as the text that it shows.

/// The first version of the Workload.
pub(crate) const WEB: &str = include_str!("web.yaml");

/// Another manager's container for the Deployment.
pub(crate) const SIDECAR: &str = include_str!("sidecar.yaml");

/// A Deployment from before Baton.
pub(crate) const BEFORE: &str = include_str!("before.yaml");

/// The Workload that adopts it.
pub(crate) const ADOPTING: &str = include_str!("adopting.yaml");

/// The part of the Workload's spec that asks for an autoscaler. Its minimum is above the current replica count, so that it writes
/// at once, without any metric.
const AUTOSCALING: &str = "  autoscaling:\n    minReplicas: 5\n    maxReplicas: 8\n";

/// A change of the Workload: what is applied, and the changed lines.
pub(crate) struct Change {
    /// The whole manifest.
    pub(crate) manifest: String,
    /// The changed lines, marked `+` and `-`.
    pub(crate) shown: String,
}

/// Asks for an autoscaler.
pub(crate) fn autoscaling_on() -> Change {
    Change {
        manifest: format!("{WEB}{AUTOSCALING}"),
        shown: format!("  spec:\n{}", marked('+', AUTOSCALING)),
    }
}

/// Asks for no autoscaler, and for one pod more than it had chosen.
pub(crate) fn autoscaling_off() -> Change {
    let (before, after) = ("  replicas: 3\n", "  replicas: 6\n");
    let shown = [marked('-', before), marked('+', after), marked('-', AUTOSCALING)].concat();
    Change { manifest: WEB.replace(before, after), shown: format!("  spec:\n{shown}") }
}

fn marked(mark: char, lines: &str) -> String {
    lines.lines().flat_map(|line| [mark, ' '].into_iter().chain(line.chars()).chain(['\n'])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(manifest: &str) -> serde_json::Value {
        let manifest: serde_json::Value = baton_merge::yaml::from_str(manifest).unwrap();
        manifest["spec"].clone()
    }

    #[test]
    fn the_changes_change_only_the_shown_lines() {
        let mut expected = spec(WEB);
        expected["autoscaling"] = serde_json::json!({"minReplicas": 5, "maxReplicas": 8});
        assert_eq!(spec(&autoscaling_on().manifest), expected);

        let mut expected = spec(WEB);
        expected["replicas"] = 6.into();
        assert_eq!(spec(&autoscaling_off().manifest), expected);
        assert_eq!(
            autoscaling_off().shown,
            "  spec:\n-   replicas: 3\n+   replicas: 6\n-   autoscaling:\n-     minReplicas: 5\n-     maxReplicas: 8\n"
        );
    }
}
