//! Cells of volumes, claims and what provides them.

use baton_merge::value::Value;

use super::access::{at, list, map, quantity, text};

const MODES: [(&str, &str); 4] = [
    ("ReadWriteOnce", "RWO"),
    ("ReadOnlyMany", "ROX"),
    ("ReadWriteMany", "RWX"),
    ("ReadWriteOncePod", "RWOP"),
];

pub(super) fn access_modes(object: Value<'_>, path: &str) -> String {
    let modes = list(object, path);
    let has = |mode: &str| modes.iter().any(|has| has.as_str() == Some(mode));
    MODES.iter().filter(|(mode, _)| has(mode)).map(|(_, short)| *short).collect::<Vec<_>>().join(",")
}

/// The storage in a resource list.
pub(super) fn amount(object: Value<'_>, path: &str) -> String {
    quantity(map(object, path).get("storage"))
}

pub(super) fn phase(object: Value<'_>) -> String {
    let is_deleted = at(object, "metadata.deletionTimestamp").is_some();
    if is_deleted { "Terminating" } else { text(object, "status.phase") }.to_owned()
}

/// The result of `show` for a bound claim; otherwise empty.
pub(super) fn if_bound(claim: Value<'_>, show: impl Fn(Value<'_>) -> String) -> String {
    if text(claim, "spec.volumeName").is_empty() { String::new() } else { show(claim) }
}

pub(super) fn claim(volume: Value<'_>) -> String {
    at(volume, "spec.claimRef")
        .map(|claim| format!("{}/{}", text(claim, "namespace"), text(claim, "name")))
        .unwrap_or_default()
}

/// The storage class of a volume or claim, also by its former annotation.
pub(super) fn class(object: Value<'_>) -> String {
    let annotation = map(object, "metadata.annotations").get("volume.beta.kubernetes.io/storage-class");
    annotation
        .map_or_else(|| text(object, "spec.storageClassName"), |class| class.as_str().unwrap_or_default())
        .to_owned()
}

/// The name of a class, with a note if one of these annotations makes it the default.
pub(super) fn default_name(class: Value<'_>, annotations: &[&str]) -> String {
    let own = map(class, "metadata.annotations");
    let is_default = |name| own.get(name).is_some_and(|value| value.as_str() == Some("true"));
    let note = if annotations.iter().copied().any(is_default) { " (default)" } else { "" };
    format!("{}{note}", text(class, "metadata.name"))
}

pub(super) fn token_requests(driver: Value<'_>) -> String {
    if at(driver, "spec.tokenRequests").is_none() {
        return "<unset>".to_owned();
    }
    let requests = list(driver, "spec.tokenRequests").iter();
    requests.map(|request| text(*request, "audience")).collect::<Vec<_>>().join(",")
}

pub(super) fn lifecycle_modes(driver: Value<'_>) -> String {
    let modes = list(driver, "spec.volumeLifecycleModes").iter();
    match modes.map(|mode| mode.as_str().unwrap_or_default()).collect::<Vec<_>>().join(",") {
        none if none.is_empty() => "<none>".to_owned(),
        some => some,
    }
}
