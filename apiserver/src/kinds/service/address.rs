//! Validation of service addresses and load balancer source ranges.

use std::collections::BTreeSet;

use baton_merge::value::Value;

use super::{ONLY_LOAD_BALANCER, SET_ONCE, SOURCE_RANGES, is_headless};
use crate::kinds::{
    cursor::{Cursor, Errors},
    ip,
};

/// Validates the cluster IPs of a service.
pub(super) fn check_addresses(spec: &Cursor<'_>, old_spec: &Cursor<'_>, errors: &mut Errors) {
    if spec.text_of("type") == "ExternalName" {
        return;
    }
    let (addresses, families) = (spec.child("clusterIPs"), spec.child("ipFamilies"));
    let (first, single) = (addresses.texts().next(), spec.text_of("clusterIP"));
    match first {
        None if !single.is_empty() => errors.push(addresses.required("")),
        Some(_) if single.is_empty() => {
            errors.push(addresses.invalid("must be empty when `clusterIP` is not specified"));
        }
        Some(first) if first != single => {
            errors.push(addresses.invalid("first value must match `clusterIP`"));
        }
        _ => {}
    }
    let mut seen = BTreeSet::new();
    for family in families.items() {
        family.check_one_of(errors, &["IPv4", "IPv6"]);
        if !seen.insert(family.text()) {
            errors.push(family.duplicate());
        }
    }
    spec.child("ipFamilyPolicy")
        .check_one_of(errors, &["PreferDualStack", "RequireDualStack", "SingleStack"]);
    if !check_each_address(&addresses, old_spec, errors) {
        return;
    }
    let is_v4 = |text: &str| ip::parse_sloppy(text).is_some_and(|ip| ip.to_canonical().is_ipv4());
    let sorts: Vec<_> = addresses.texts().map(is_v4).collect();
    if sorts.len() > 1 && (sorts.iter().all(|v4| *v4) || !sorts.iter().any(|v4| *v4)) {
        errors.push(addresses.invalid("may specify no more than one IP for each IP family"));
    }
    if is_headless(spec) {
        return;
    }
    for (position, (address, family)) in addresses.items().zip(families.texts()).enumerate() {
        if matches!((family, is_v4(address.text())), ("IPv4", false) | ("IPv6", true)) {
            let detail = format!("expected an {family} value as indicated by `ipFamilies[{position}]`");
            errors.push(address.invalid_text(&detail));
        }
    }
}

/// Validates the address fields of a service in an IPv4 cluster, which the server does before allocation.
pub(in crate::kinds) fn check_allocated(spec: &Cursor<'_>, is_new: bool, errors: &mut Errors) {
    const DUAL: &str = "must be 'RequireDualStack' or 'PreferDualStack' when multiple";

    let nothing = Cursor { value: None, path: spec.path.clone() };
    check_addresses(spec, &nothing, errors);
    if !errors.is_empty() || !is_new {
        return;
    }
    let (addresses, families) = (spec.child("clusterIPs"), spec.child("ipFamilies"));
    let is_free = is_headless(spec) && spec.child("selector").len() == 0;
    let mut policy = spec.child("ipFamilyPolicy");
    if !policy.is_set() {
        let default = if is_free { "RequireDualStack" } else { "SingleStack" };
        policy.value = Some(Value::String(default));
    }
    if policy.text() == "SingleStack" {
        for (list, of) in [(&addresses, "cluster IPs"), (&families, "IP families")] {
            if list.len() == 2 {
                errors.push(policy.invalid(&format!("{DUAL} {of} are specified")));
            }
        }
    }
    for address in addresses.items().skip(families.len()).take_while(|address| address.text() != "None") {
        if ip::parse_sloppy(address.text()).is_some_and(|ip| !ip.to_canonical().is_ipv4()) {
            errors.push(
                addresses.shown_at(address.path.clone()).invalid("IPv6 is not configured on this cluster"),
            );
        }
    }
    if !errors.is_empty() || is_free {
        return;
    }
    if policy.text() == "RequireDualStack" {
        errors.push(policy.invalid("this cluster is not configured for dual-stack services"));
    }
    for family in families.items().filter(|family| family.text() != "IPv4") {
        errors.push(family.invalid_text("not configured on this cluster"));
    }
}

/// Returns whether all addresses are valid.
fn check_each_address(addresses: &Cursor<'_>, old_spec: &Cursor<'_>, errors: &mut Errors) -> bool {
    let old_addresses = old_spec.child("clusterIPs");
    let known: Vec<_> = old_addresses.texts().collect();
    let before = errors.len();
    for (position, address) in addresses.items().enumerate() {
        if position == 0 && address.text() == "None" {
            if addresses.len() > 1 {
                errors.push(addresses.invalid("'None' must be the first and only value"));
            }
        } else {
            ip::check_address(&address, errors, &known);
        }
    }
    let sound = errors.len() == before;
    if addresses.len() > 2 {
        errors.push(addresses.invalid("may only hold up to 2 values"));
    }
    sound
}

/// A list whose first item is immutable and whose second one can be removed.
pub(super) fn check_kept(
    spec: &Cursor<'_>,
    old_spec: &Cursor<'_>,
    list: &str,
    one: &str,
    errors: &mut Errors,
) {
    let (new, old) = (spec.child(list), old_spec.child(list));
    let (items, old_items): (Vec<_>, Vec<_>) = (new.texts().collect(), old.texts().collect());
    let changed = |position| new.shown_at(new.path.index(position)).invalid(SET_ONCE);
    if items.len() == old_items.len() {
        for position in (0..items.len()).filter(|position| items.get(*position) != old_items.get(*position)) {
            // The server always uses index 0 for families.
            errors.push(changed(if list == "clusterIPs" { position } else { 0 }));
        }
        return;
    }
    if items.is_empty() {
        errors.push(new.shown_at(new.path.index(0)).invalid(&format!("primary {one} can not be unset")));
    } else if !old_items.is_empty() && items.first() != old_items.first() {
        errors.push(changed(0));
    }
    let policy = spec.child("ipFamilyPolicy");
    if old_items.len() > 1 && items.len() == 1 && policy.text() != "SingleStack" {
        errors.push(
            policy.invalid(&format!("must be set to 'SingleStack' when releasing the secondary {one}")),
        );
    }
}

/// Validates the source ranges of a load balancer.
pub(super) fn check_source_ranges(service: &Cursor<'_>, old_spec: &Cursor<'_>, errors: &mut Errors) {
    let spec = service.child("spec");
    let is_load_balancer = spec.text_of("type") == "LoadBalancer";
    let ranges = spec.child("loadBalancerSourceRanges");
    let trimmed = |node: &Cursor<'_>, errors: &mut Errors, text: &str, known: &[&str]| {
        ip::check_range(
            &Cursor { value: Some(Value::String(text.trim())), path: node.path.clone() },
            errors,
            known,
        );
    };
    if ranges.len() > 0 {
        let place = ranges.shown_at(spec.path.child("LoadBalancerSourceRanges"));
        if !is_load_balancer {
            errors.push(place.forbidden(ONLY_LOAD_BALANCER));
        }
        let old_ranges = old_spec.child("loadBalancerSourceRanges");
        let known: Vec<_> = old_ranges.texts().map(str::trim).collect();
        for range in place.items() {
            trimmed(&range, errors, range.text(), &known);
        }
        return;
    }
    let annotations = service.at(&["metadata", "annotations"]);
    let annotation =
        Cursor { value: annotations.get(SOURCE_RANGES), path: annotations.path.key(SOURCE_RANGES) };
    if !annotation.is_set() {
        return;
    }
    if !is_load_balancer {
        errors.push(annotation.forbidden(ONLY_LOAD_BALANCER));
    }
    for range in annotation.text().split(',').filter(|_| !annotation.text().trim().is_empty()) {
        trimmed(&annotation, errors, range, &[]);
    }
}
