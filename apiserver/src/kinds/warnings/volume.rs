//! Warnings about volumes of pods: removed plugins, and files that hide each other. After
//! `k8s.io/kubernetes/pkg/api/pod/warnings.go`.

use super::claim::{self, PLUGINS, warn_of_claim};
use crate::kinds::cursor::Cursor;

/// Removed plugins that only pods had, and their warnings.
const OF_PODS: [(&str, &str); 3] = [
    ("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
];

/// The warnings about each volume alone.
pub(super) fn warn_of_volumes(volumes: &Cursor<'_>, warnings: &mut Vec<String>) {
    for volume in volumes.items() {
        for (name, text) in OF_PODS.iter().chain(&PLUGINS).filter(|(name, _)| volume.has(name)) {
            claim::plugin(&volume, name).warn(warnings, text);
        }
        warn_of_claim(&volume.at(&["ephemeral", "volumeClaimTemplate", "spec"]), warnings);
    }
    volumes.items().for_each(|volume| warn_of_overlaps(&volume, warnings));
}

/// A file in a volume and its source, which is empty if there is only one.
#[derive(Clone, PartialEq)]
struct File<'a> {
    path: &'a str,
    source: String,
}

impl<'a> File<'a> {
    fn new(path: &'a str, source: &str) -> Self {
        Self { path: path.trim_end_matches('/'), source: source.to_owned() }
    }

    /// The files of a source's items.
    fn listed(source: &Cursor<'a>, name: &str) -> Vec<Self> {
        source.child("items").items().map(|item| Self::new(item.text_of("path"), name)).collect()
    }

    /// Whether one of them is or contains the other.
    fn overlaps(&self, other: &Self) -> bool {
        let holds = |inner: &Self, outer: &Self| {
            let rest = inner.path.strip_prefix(outer.path);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        !self.path.is_empty() && !other.path.is_empty() && (holds(self, other) || holds(other, self))
    }

    fn shown(&self) -> String {
        let Self { path, source } = self;
        if source.is_empty() { format!("{path:?}") } else { format!("{path:?} ({source})") }
    }
}

fn warn_of_overlaps(volume: &Cursor<'_>, warnings: &mut Vec<String>) {
    let named = |kind: &str, name: &str| format!("{kind} {name:?}");
    let one = |field: &str, name: &str, kind: &str| {
        let source = volume.child(field);
        let described =
            if kind.is_empty() { "DownwardAPI".to_owned() } else { named(kind, source.text_of(name)) };
        (described, File::listed(&source, ""))
    };
    let mut sources = vec![
        one("configMap", "name", "ConfigMap"),
        one("secret", "secretName", "Secret"),
        one("downwardAPI", "", ""),
    ];
    let mut projected = Vec::new();
    for source in volume.at(&["projected", "sources"]).items() {
        if source.len() == 0 {
            warnings.push(format!("volume {:?} (Projected) has no sources provided", volume.text_of("name")));
        }
        for (field, kind) in [("configMap", "ConfigMap"), ("secret", "Secret")] {
            let of = source.child(field);
            projected.extend(File::listed(&of, &named(kind, of.text_of("name"))));
        }
        projected.extend(File::listed(&source.child("downwardAPI"), "DownwardAPI"));
        let token = source.child("serviceAccountToken");
        projected.extend(token.has("path").then(|| File::new(token.text_of("path"), "ServiceAccountToken")));
    }
    sources.push(("Projected".to_owned(), projected));
    for (described, files) in sources {
        for (position, file) in files.iter().enumerate() {
            for other in files[..position].iter().filter(|other| file.overlaps(other)) {
                warnings.push(format!(
                    "volume {:?} ({described}): overlapping paths: {} with {}",
                    volume.text_of("name"),
                    file.shown(),
                    other.shown()
                ));
            }
        }
    }
}
