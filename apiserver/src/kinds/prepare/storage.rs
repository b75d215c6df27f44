//! `dataSource` and `dataSourceRef` of a claim, which the server keeps in sync.

use baton_merge::{Arena, value::Value};

use crate::kinds::edit::{map, text};

const SOURCE: [&str; 2] = ["spec", "dataSource"];
const REFERENCE: [&str; 2] = ["spec", "dataSourceRef"];

pub(super) fn with_data_sources<'a>(arena: &'a Arena, claim: Value<'a>, old: Option<Value<'a>>) -> Value<'a> {
    let in_use = |claim: Value<'_>| claim.at(&SOURCE).is_some() || claim.at(&REFERENCE).is_some();
    let mut claim = claim;
    if !old.is_some_and(in_use)
        && claim.at(&REFERENCE).is_none()
        && !claim.at(&SOURCE).is_some_and(is_claim_or_snapshot)
    {
        claim = claim.with(arena, &SOURCE, None);
    }
    let copied = |source: Value<'a>| {
        let names = ["apiGroup", "kind", "name"];
        Some(map(arena, names.iter().filter_map(|name| Some((*name, source.get(name)?)))))
    };
    match (claim.at(&SOURCE), claim.at(&REFERENCE)) {
        (Some(source), None) => claim.with(arena, &REFERENCE, copied(source)),
        (None, Some(reference)) if text(reference, &["namespace"]).is_empty() => {
            claim.with(arena, &SOURCE, copied(reference))
        }
        _ => claim,
    }
}

fn is_claim_or_snapshot(source: Value<'_>) -> bool {
    matches!(
        (text(source, &["apiGroup"]), text(source, &["kind"])),
        ("", "PersistentVolumeClaim") | ("snapshot.storage.k8s.io", "VolumeSnapshot")
    )
}
