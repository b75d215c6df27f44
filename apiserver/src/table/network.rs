//! Cells of services, endpoints and ingresses.

use std::collections::BTreeSet;

use baton_merge::value::Value;

use super::access::{at, first_few, int, list, text, text_or};

/// The most endpoints and hosts shown.
const MOST: usize = 3;

pub(super) fn endpoints(endpoints: Value<'_>) -> String {
    let subsets = list(endpoints, "subsets");
    if subsets.is_empty() {
        return "<none>".to_owned();
    }
    let mut all = Vec::new();
    for subset in subsets {
        let addresses = || list(*subset, "addresses").iter().map(|address| text(*address, "ip"));
        let ports = list(*subset, "ports");
        if ports.is_empty() {
            all.extend(addresses().map(str::to_owned));
        }
        for port in ports {
            let port = int(*port, "port");
            all.extend(
                addresses().map(|ip| {
                    if ip.contains(':') { format!("[{ip}]:{port}") } else { format!("{ip}:{port}") }
                }),
            );
        }
    }
    first_few(&all, MOST, ",")
}

pub(super) fn slice_ports(slice: Value<'_>) -> String {
    let ports = list(slice, "ports").iter().map(|port| match (at(*port, "port"), at(*port, "name")) {
        (Some(port), _) => port.to_string(),
        (None, Some(name)) => name.as_str().unwrap_or_default().to_owned(),
        (None, None) => "*".to_owned(),
    });
    or_unset(first_few(&ports.collect::<Vec<_>>(), MOST, ","))
}

pub(super) fn slice_endpoints(slice: Value<'_>) -> String {
    let endpoints = list(slice, "endpoints").iter().flat_map(|endpoint| list(*endpoint, "addresses"));
    let addresses: Vec<_> =
        endpoints.map(|address| address.as_str().unwrap_or_default().to_owned()).collect();
    or_unset(first_few(&addresses, MOST, ","))
}

fn or_unset(text: String) -> String {
    if text.is_empty() { "<unset>".to_owned() } else { text }
}

pub(super) fn cluster_ip(service: Value<'_>) -> String {
    let first = list(service, "spec.clusterIPs").first().and_then(Value::as_str);
    first.unwrap_or("<none>").to_owned()
}

pub(super) fn external_ip(service: Value<'_>) -> String {
    let own = texts(service, "spec.externalIPs").join(",");
    let joined = match text(service, "spec.type") {
        "ClusterIP" | "NodePort" => own,
        "LoadBalancer" => {
            let parts = [balancer(service), own];
            match parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(",") {
                none if none.is_empty() => "<pending>".to_owned(),
                some => some,
            }
        }
        "ExternalName" => return text(service, "spec.externalName").to_owned(),
        _ => "<unknown>".to_owned(),
    };
    if joined.is_empty() { "<none>".to_owned() } else { joined }
}

/// The load balancer addresses of a service or ingress.
pub(super) fn balancer(object: Value<'_>) -> String {
    let points = list(object, "status.loadBalancer.ingress").iter();
    let addresses: BTreeSet<_> =
        points.map(|point| text_or(*point, "ip", text(*point, "hostname"))).collect();
    addresses.into_iter().filter(|address| !address.is_empty()).collect::<Vec<_>>().join(",")
}

pub(super) fn service_ports(service: Value<'_>) -> String {
    let ports = list(service, "spec.ports").iter().map(|port| {
        let (number, protocol) = (int(*port, "port"), text(*port, "protocol"));
        match int(*port, "nodePort") {
            node_port @ 1.. => format!("{number}:{node_port}/{protocol}"),
            _ => format!("{number}/{protocol}"),
        }
    });
    match ports.collect::<Vec<_>>().join(",") {
        none if none.is_empty() => "<none>".to_owned(),
        some => some,
    }
}

pub(super) fn hosts(ingress: Value<'_>) -> String {
    let rules = list(ingress, "spec.rules");
    let mut hosts = Vec::new();
    let mut has_more = false;
    for rule in rules {
        has_more |= hosts.len() == MOST;
        let host = text(*rule, "host");
        if !has_more && !host.is_empty() {
            hosts.push(host);
        }
    }
    match hosts.join(",") {
        none if none.is_empty() => "*".to_owned(),
        // Rules without a host count, too.
        some if has_more => format!("{some} + {} more...", rules.len() - MOST),
        some => some,
    }
}

pub(super) fn ingress_ports(ingress: Value<'_>) -> String {
    if list(ingress, "spec.tls").is_empty() { "80" } else { "80, 443" }.to_owned()
}

pub(super) fn parameters(class: Value<'_>) -> String {
    let Some(parameters) = at(class, "spec.parameters") else { return "<none>".to_owned() };
    let group = at(parameters, "apiGroup").and_then(|group| group.as_str());
    let group = group.map(|group| format!(".{group}")).unwrap_or_default();
    format!("{}{group}/{}", text(parameters, "kind"), text(parameters, "name"))
}

pub(super) fn parent(address: Value<'_>) -> String {
    let Some(parent) = at(address, "spec.parentRef") else { return "<none>".to_owned() };
    let mut shown = text(parent, "resource").to_lowercase();
    let group = text(parent, "group");
    if !group.is_empty() {
        shown = format!("{shown}.{}", group.to_lowercase());
    }
    for part in [text(parent, "namespace"), text(parent, "name")] {
        if !part.is_empty() {
            shown.push('/');
            shown.push_str(part);
        }
    }
    shown
}

pub(super) fn cidrs(cidr: Value<'_>) -> String {
    texts(cidr, "spec.cidrs").join(",")
}

fn texts<'a>(object: Value<'a>, path: &str) -> Vec<&'a str> {
    list(object, path).iter().map(|item| item.as_str().unwrap_or_default()).collect()
}
