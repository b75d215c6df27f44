//! Warnings about variables and ports of containers that hide each other. After
//! `k8s.io/kubernetes/pkg/api/pod/warnings.go`.

use std::collections::{BTreeMap, BTreeSet};

use super::warn_of_fraction;
use crate::{field::FieldPath, kinds::cursor::Cursor};

/// Warns of a fractional number of bytes.
pub(super) fn warn_of_amounts(amounts: &Cursor<'_>, warnings: &mut Vec<String>) {
    for name in ["memory", "ephemeral-storage"] {
        warn_of_fraction(&Cursor { value: amounts.get(name), path: amounts.path.key(name) }, warnings);
    }
}

/// Warns of a variable that overrides an earlier one without using it.
pub(super) fn warn_of_variables(variables: &Cursor<'_>, warnings: &mut Vec<String>) {
    let mut names = BTreeSet::new();
    for variable in variables.items() {
        let (name, value) = (variable.text_of("name"), variable.text_of("value"));
        let reference = format!("$({name})");
        let extends = !variable.has("valueFrom") && value != reference && value.contains(&reference);
        if !names.insert(name) && !extends {
            let text =
                format!("hides previous definition of {name:?}, which may be dropped when using apply");
            variable.warn(warnings, &text);
        }
    }
}

/// Warns of duplicate ports.
pub(super) fn warn_of_ports(containers: &[Cursor<'_>], warnings: &mut Vec<String>) {
    let lists: Vec<_> = containers.iter().map(|container| container.child("ports")).collect();
    let ports: Vec<Cursor<'_>> = lists.iter().flat_map(Cursor::items).collect();
    for (position, port) in ports.iter().enumerate() {
        let of = |port: &Cursor<'_>| (port.int_of("containerPort"), port.text_of("protocol").to_owned());
        let host = |port: &Cursor<'_>| (port.text_of("hostIP").to_owned(), port.int_of("hostPort"));
        let (address, number) = host(port);
        if !address.is_empty() && number == 0 {
            let (container_port, protocol) = of(port);
            let text = format!(
                "hostIP set without hostPort: {{Name:{} HostPort:0 ContainerPort:{container_port} Protocol:{protocol} HostIP:{address}}}",
                port.text_of("name")
            );
            port.warn(warnings, &text);
        }
        for other in ports[..position].iter().filter(|other| of(other) == of(port)) {
            let (other_address, other_number) = host(other);
            let relation = if (&address, number) == (&other_address, other_number) {
                "duplicate port definition"
            } else if number == 0 || other_number == 0 {
                "overlapping port definition"
            } else if number == other_number && address.is_empty() != other_address.is_empty() {
                "dangerously ambiguous port definition"
            } else {
                continue;
            };
            port.warn(warnings, &format!("{relation} with {}", other.path));
        }
    }
    let mut names: BTreeMap<&str, &FieldPath> = BTreeMap::new();
    for port in ports.iter().filter(|port| !port.text_of("name").is_empty()) {
        let name = port.text_of("name");
        match names.get(name) {
            None => {
                names.insert(name, &port.path);
            }
            Some(other) => {
                let text = format!(
                    "duplicate port name {name:?} with {other}, services and probes that select ports by name will use {other}"
                );
                port.warn(warnings, &text);
            }
        }
    }
}
