//! Validation of slices of endpoints.

use std::collections::BTreeSet;

use super::{
    check::Check,
    cursor::{Cursor, Errors, same},
    format, ip,
    metadata::check_labels,
};
use crate::field::FieldError;

const ENDPOINTS: usize = 1000;
const ADDRESSES: usize = 100;
const PORTS: usize = 20000;
const TOPOLOGY: usize = 16;
const HINTS: usize = 8;

pub(super) fn endpoint_slice(check: &mut Check<'_>) {
    check.metadata();
    let kind = check.new.child("addressType");
    kind.check_choice(&mut check.errors, &["FQDN", "IPv4", "IPv6"]);
    check_ports(&check.new.child("ports"), &mut check.errors);
    let endpoints = check.new.child("endpoints");
    let unchanged = check.old.is_some() && same(endpoints.value, check.old_at(&["endpoints"]).value);
    if endpoints.len() > ENDPOINTS {
        check.errors.push(FieldError::too_many(&endpoints.path, endpoints.len(), ENDPOINTS));
    } else if !unchanged {
        for endpoint in endpoints.items() {
            check_endpoint(&endpoint, kind.text(), &mut check.errors);
        }
    }
    check.immutable(&["addressType"]);
}

fn check_ports(ports: &Cursor<'_>, errors: &mut Errors) {
    if ports.len() > PORTS {
        errors.push(FieldError::too_many(&ports.path, ports.len(), PORTS));
        return;
    }
    let mut names = BTreeSet::new();
    for port in ports.items() {
        let name = port.child("name");
        name.check_unless_empty(errors, format::dns_label);
        if !names.insert(name.text()) {
            errors.push(name.duplicate());
        }
        let protocol = port.child("protocol");
        if protocol.is_set() {
            protocol.check_one_of(errors, &["SCTP", "TCP", "UDP"]);
        } else {
            errors.push(protocol.required(""));
        }
        port.child("appProtocol").check_if_set(errors, format::qualified_name);
    }
}

fn check_endpoint(endpoint: &Cursor<'_>, kind: &str, errors: &mut Errors) {
    let addresses = endpoint.child("addresses");
    if addresses.len() == 0 {
        errors.push(addresses.required("must contain at least 1 address"));
    } else if addresses.len() > ADDRESSES {
        errors.push(FieldError::too_many(&addresses.path, addresses.len(), ADDRESSES));
    }
    for address in addresses.items() {
        check_address(&address, &addresses, kind, errors);
    }
    endpoint.child("nodeName").check_if_set(errors, format::dns_subdomain);
    let topology = endpoint.child("deprecatedTopology");
    if topology.len() > TOPOLOGY {
        errors.push(FieldError::too_many(&topology.path, topology.len(), TOPOLOGY));
    }
    check_labels(&topology, errors);
    endpoint.child("hostname").check_if_set(errors, format::dns_label);
    for (name, rule) in
        [("forZones", format::label_value as fn(&str) -> Vec<String>), ("forNodes", format::dns_subdomain)]
    {
        let hints = endpoint.at(&["hints", name]);
        if hints.len() > HINTS {
            errors.push(FieldError::too_many(&hints.path, hints.len(), HINTS));
            return;
        }
        let mut names = BTreeSet::new();
        for hint in hints.items().map(|hint| hint.child("name")) {
            if !names.insert(hint.text()) {
                errors.push(hint.duplicate());
            }
            hint.check(errors, rule);
        }
    }
}

fn check_address(address: &Cursor<'_>, addresses: &Cursor<'_>, kind: &str, errors: &mut Errors) {
    let before = errors.len();
    match kind {
        "IPv4" => ip::check_address(address, errors, &[]),
        "IPv6" => ip::check_canonical_address(address, errors),
        "FQDN" => return check_domain(address, errors),
        _ => return,
    }
    if errors.len() > before {
        return;
    }
    let is_v4 = ip::parse_sloppy(address.text()).is_some_and(|ip| ip.to_canonical().is_ipv4());
    if is_v4 != (kind == "IPv4") {
        let place = address.shown_at(addresses.path.clone());
        errors.push(place.invalid_text(&format!("must be an {kind} address")));
    }
    ip::check_endpoint(address, errors);
}

fn check_domain(address: &Cursor<'_>, errors: &mut Errors) {
    let name = address.text().strip_suffix('.').unwrap_or(address.text());
    let invalid = |text: &str, detail: &str| FieldError::invalid_text(&address.path, text, detail);
    let problems = format::dns_subdomain(name);
    if address.text().is_empty() {
        errors.push(address.required(""));
    } else if !problems.is_empty() {
        errors.push(invalid(name, &problems.join(",")));
    } else if !name.contains('.') {
        errors.push(invalid(name, "should be a domain with at least two segments separated by dots"));
    } else if let Some(label) = name.split('.').find(|label| !format::dns_label(label).is_empty()) {
        errors.push(invalid(label, &format::dns_label(label).join(",")));
    }
}
