//! Allocated fields of a service that updates keep.

use baton_merge::{Arena, server::without_what_the_type_lacks, value::Value};

use crate::kinds::{
    cursor::{Cursor, same},
    edit::{change_each, items, keep, list, text},
    service::needs_health_check,
};

const ADDRESS: [&str; 2] = ["spec", "clusterIP"];
const ADDRESSES: [&str; 2] = ["spec", "clusterIPs"];
const HEALTH: [&str; 2] = ["spec", "healthCheckNodePort"];

/// A new service. Its address and ports are allocated elsewhere.
pub(super) fn prepare_new<'a>(arena: &'a Arena, service: Value<'a>) -> Value<'a> {
    let service = without_internal_policy(arena, service);
    match service.at(&ADDRESS) {
        Some(address) if !text(service, &ADDRESS).is_empty() && items(service, &ADDRESSES).is_empty() => {
            service.with(arena, &ADDRESSES, Some(list(arena, [address])))
        }
        _ => service,
    }
}

fn is_type(service: Value<'_>, wanted: &str) -> bool {
    text(service, &["spec", "type"]) == wanted
}

fn needs_address(service: Value<'_>) -> bool {
    !is_type(service, "ExternalName")
}

fn needs_node_ports(service: Value<'_>) -> bool {
    is_type(service, "NodePort") || is_type(service, "LoadBalancer")
}

fn node_port(port: Value<'_>) -> i64 {
    match port.get("nodePort") {
        Some(Value::Int(port)) => port,
        _ => 0,
    }
}

fn node_ports(service: Value<'_>) -> Vec<i64> {
    items(service, &["spec", "ports"]).iter().map(|port| node_port(*port)).filter(|port| *port != 0).collect()
}

fn holds(service: Value<'_>, rule: fn(&Cursor<'_>) -> bool) -> bool {
    rule(&Cursor::root(service).child("spec"))
}

pub(super) fn prepare_update<'a>(arena: &'a Arena, new: Value<'a>, old: Value<'a>) -> Value<'a> {
    let new = with_allocated(arena, new, old);
    let new = with_matching_addresses(arena, new, old);
    without_internal_policy(arena, without_what_the_type_lacks(arena, new, old))
}

/// An `ExternalName` service has no internal traffic policy: the server drops it on each read.
fn without_internal_policy<'a>(arena: &'a Arena, service: Value<'a>) -> Value<'a> {
    if is_type(service, "ExternalName") {
        service.with(arena, &["spec", "internalTrafficPolicy"], None)
    } else {
        service
    }
}

/// Keeps allocated values that the write omits.
fn with_allocated<'a>(arena: &'a Arena, new: Value<'a>, old: Value<'a>) -> Value<'a> {
    let mut new = new;
    if needs_address(old) && needs_address(new) {
        if text(new, &ADDRESS).is_empty() {
            new = keep(arena, new, &ADDRESS, old);
        }
        if items(new, &ADDRESSES).is_empty() {
            new = keep(arena, new, &ADDRESSES, old);
        }
        for name in ["ipFamilies", "ipFamilyPolicy"] {
            if new.at(&["spec", name]).is_none() {
                new = keep(arena, new, &["spec", name], old);
            }
        }
    }
    if needs_node_ports(old) && needs_node_ports(new) {
        let kept: Vec<_> = node_ports(new);
        new = change_each(arena, new, &["spec", "ports"], |port| {
            let old_ports = items(old, &["spec", "ports"]);
            let before = old_ports.iter().rfind(|other| text(**other, &["name"]) == text(port, &["name"]));
            match before.map(|before| node_port(*before)) {
                Some(before) if node_port(port) == 0 && before != 0 && !kept.contains(&before) => {
                    port.with(arena, &["nodePort"], Some(Value::Int(before)))
                }
                _ => port,
            }
        });
    }
    let both_checked = holds(old, needs_health_check) && holds(new, needs_health_check);
    if both_checked && matches!(new.at(&HEALTH), None | Some(Value::Int(0))) {
        new = keep(arena, new, &HEALTH, old);
    }
    new
}

/// `clusterIPs` follows `clusterIP`, if only that changed.
fn with_matching_addresses<'a>(arena: &'a Arena, new: Value<'a>, old: Value<'a>) -> Value<'a> {
    let (address, old_address) = (text(new, &ADDRESS), text(old, &ADDRESS));
    let unchanged = same(new.at(&ADDRESSES), old.at(&ADDRESSES));
    if address == old_address || !unchanged {
        return new;
    }
    let addresses = (!address.is_empty()).then(|| list(arena, [Value::String(address)]));
    new.with(arena, &ADDRESSES, addresses)
}
