//! Warnings about volumes and claims. After `k8s.io/kubernetes/pkg/api/persistentvolume` and `persistentvolumeclaim`.

use super::{node_label, warn_of_fraction};
use crate::kinds::cursor::Cursor;

/// Warns of the requested storage in a claim's spec.
pub(super) fn warn_of_claim(spec: &Cursor<'_>, warnings: &mut Vec<String>) {
    for name in ["requests", "limits"] {
        let amounts = spec.at(&["resources", name]);
        let storage = Cursor { value: amounts.get("storage"), path: amounts.path.key("storage") };
        warn_of_fraction(&storage, warnings);
    }
}

const CLASS: (&str, &str) = (
    "volume.beta.kubernetes.io/storage-class",
    r#"deprecated since v1.8; use "storageClassName" attribute instead"#,
);
const OPTIONS: (&str, &str) = (
    "volume.beta.kubernetes.io/mount-options",
    r#"deprecated since v1.31; use "mountOptions" attribute instead"#,
);

fn warn_of_annotations(object: &Cursor<'_>, deprecated: &[(&str, &str)], warnings: &mut Vec<String>) {
    let annotations = object.at(&["metadata", "annotations"]);
    for (key, text) in deprecated.iter().filter(|(key, _)| annotations.has(key)) {
        Cursor { value: None, path: annotations.path.key(key) }.warn(warnings, text);
    }
}

/// Warns of the deprecated annotation of a claim's class.
pub(super) fn warn_of_annotation(claim: &Cursor<'_>, warnings: &mut Vec<String>) {
    warn_of_annotations(claim, &[CLASS], warnings);
}

/// Removed volume plugins, and their warnings.
pub(super) const PLUGINS: [(&str, &str); 6] = [
    ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("storageos", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
];

/// The path of a plugin's field, in the server's spelling.
pub(super) fn plugin(volume: &Cursor<'_>, name: &str) -> Cursor<'static> {
    let shown = if name == "storageos" { "storageOS" } else { name };
    Cursor { value: None, path: volume.path.child(shown) }
}

/// Warns of deprecated annotations, policies, labels and plugins of a volume.
pub(super) fn warn_of_volume(volume: &Cursor<'_>, warnings: &mut Vec<String>) {
    warn_of_annotations(volume, &[CLASS, OPTIONS], warnings);
    let spec = volume.child("spec");
    let policy = spec.child("persistentVolumeReclaimPolicy");
    if policy.text() == "Recycle" {
        let text = "The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.";
        policy.warn(warnings, text);
    }
    for term in spec.at(&["nodeAffinity", "required", "nodeSelectorTerms"]).items() {
        node_label::warn_of_term(&term, false, warnings);
    }
    for (name, text) in PLUGINS.iter().filter(|(name, _)| spec.has(name)) {
        plugin(&spec, name).warn(warnings, text);
    }
}
