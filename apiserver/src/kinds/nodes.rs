//! Validation of nodes, and their fields that the server keeps in sync.

use baton_merge::{Arena, value::Value};

use super::{
    check::Check,
    cursor::{Cursor, Errors, same},
    edit::{items, list, text},
    format,
    go_json::{GoField, GoType, go_json},
    ip,
    metadata::check_label_key,
    pod::check_amount,
};
use crate::field::{FieldError, FieldPath};

const TAINT_EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
const FEATURE: &str = "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or \
                       MyFeature/mySubFeature), and contain only alphanumeric characters and slashes";
const FEATURE_LENGTH: usize = 253;

/// A taint as Go prints it.
const TAINT: &[GoField] = &[
    ("Key", "key", GoType::Plain("\"\"")),
    ("Value", "value", GoType::Plain("\"\"")),
    ("Effect", "effect", GoType::Plain("\"\"")),
    ("TimeAdded", "timeAdded", GoType::Plain("null")),
];
/// An address as Go prints it.
const ADDRESS: &[GoField] =
    &[("Type", "type", GoType::Plain("\"\"")), ("Address", "address", GoType::Plain("\"\""))];

pub(super) fn node(check: &mut Check<'_>) {
    check.metadata();
    let (spec, errors) = (check.spec(), &mut check.errors);
    check_taints(&spec.child("taints"), errors);
    check_amounts(&check.new.child("status"), errors);
    check_features(&check.new.at(&["status", "declaredFeatures"]), errors);
    let ranges = spec.child("podCIDRs");
    for range in ranges.items() {
        ip::check_range(&range, errors, &[]);
    }
    let families: Vec<_> =
        ranges.texts().filter_map(ip::parse_range_sloppy).map(|(address, _)| address.is_ipv4()).collect();
    if ranges.len() > 1 && !matches!(families[..], [first, second] if first != second) {
        errors.push(ranges.invalid("may specify no more than one CIDR for each IP family"));
    }
    node_status(check);
}

/// Validates the status of a node, and its other updates.
pub(super) fn node_status(check: &mut Check<'_>) {
    if check.old.is_none() {
        return;
    }
    check.metadata_update();
    let (spec, old_spec) = (check.spec(), check.old_at(&["spec"]));
    let (status, errors) = (check.new.child("status"), &mut check.errors);
    check_amounts(&status, errors);
    check_features(&status.child("declaredFeatures"), errors);
    let mut known = vec![];
    for address in status.child("addresses").items() {
        if known.contains(&address.value) {
            errors.push(FieldError::duplicate_json(&address.path, &go_json(address.value, ADDRESS)));
        }
        known.push(address.value);
    }
    for name in ["podCIDRs", "providerID"] {
        let (new, old) = (spec.child(name), old_spec.child(name));
        let shown = if name == "podCIDRs" { "podCIDR" } else { name };
        if old.is_set() && !same(new.value, old.value) {
            let detail = format!("node updates may not change {shown} except from \"\" to valid");
            errors.push(new.forbidden(&detail));
        }
    }
    check_taints(&spec.child("taints"), errors);
    let external = spec.child("externalID");
    if external.text() != old_spec.text_of("externalID") {
        errors.push(external.forbidden("may not be updated"));
    }
}

fn check_taints(taints: &Cursor<'_>, errors: &mut Errors) {
    // The server puts them below `metadata`.
    let path = FieldPath::new("metadata").child("taints");
    let mut known = vec![];
    for (position, taint) in taints.items().enumerate() {
        let taint = taint.shown_at(path.index(position));
        let (key, value, effect) = (taint.child("key"), taint.child("value"), taint.child("effect"));
        check_label_key(&key, key.text(), errors);
        let problems = format::label_value(value.text());
        if !problems.is_empty() {
            errors.push(value.invalid_text(&problems.join(";")));
        }
        effect.check_choice(errors, &TAINT_EFFECTS);
        let own = (key.text(), effect.text());
        if known.contains(&own) {
            let mut error = FieldError::duplicate_json(&taint.path, &go_json(taint.value, TAINT));
            error.message += ": taints must be unique by key and effect pair";
            errors.push(error);
        }
        known.push(own);
    }
}

/// Validates capacity and allocatable resources.
fn check_amounts(status: &Cursor<'_>, errors: &mut Errors) {
    for of in ["capacity", "allocatable"] {
        let amounts = status.child(of);
        for (name, amount) in amounts.members() {
            check_amount(name, &amount.shown_at(amounts.path.child(name)), errors);
        }
    }
}

fn check_features(features: &Cursor<'_>, errors: &mut Errors) {
    let is_feature = |text: &str| {
        let mut segments = text.split('/').enumerate();
        segments.all(|(position, segment)| {
            let mut letters = segment.chars();
            let starts = |letter: char| {
                if position == 0 { letter.is_ascii_uppercase() } else { letter.is_ascii_alphabetic() }
            };
            letters.next().is_some_and(starts) && letters.all(|letter| letter.is_ascii_alphanumeric())
        })
    };
    let mut before = None;
    for feature in features.items() {
        let text = feature.text();
        if text.len() > FEATURE_LENGTH {
            let detail =
                format!("invalid feature name {text:?}: must be no more than {FEATURE_LENGTH} characters");
            errors.push(feature.invalid_text(&detail));
        } else if !is_feature(text) {
            errors.push(feature.invalid_text(&format!("invalid feature name {text:?}: {FEATURE}")));
        }
        match before {
            Some(before) if before == text => errors.push(feature.duplicate()),
            Some(before) if before > text => {
                errors.push(feature.invalid_text("list must be sorted alphabetically"));
            }
            _ => {}
        }
        before = Some(text);
    }
}

/// Syncs `podCIDR` and `podCIDRs`; `podCIDR` wins.
pub(super) fn with_ranges<'a>(arena: &'a Arena, node: Value<'a>) -> Value<'a> {
    const ONE: [&str; 2] = ["spec", "podCIDR"];
    const ALL: [&str; 2] = ["spec", "podCIDRs"];

    let (one, all) = (text(node, &ONE), items(node, &ALL));
    match all.first() {
        Some(first) if one.is_empty() => node.with(arena, &ONE, Some(*first)),
        Some(Value::String(first)) if *first == one => node,
        _ if one.is_empty() => node,
        _ => node.with(arena, &ALL, Some(list(arena, [Value::String(one)]))),
    }
}
