//! The rules for services.

use std::collections::BTreeSet;

use baton_merge::value::Value;

use super::{
    check::Check,
    format, ip,
    metadata::check_labels,
    node::{Errors, Node},
    pod::check_port,
};
use crate::field::{FieldError, shown};

/// The longest time that a client stays with one pod.
const MAX_AFFINITY_SECONDS: i64 = 86400;

const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const ONLY_LOAD_BALANCER: &str = "may only be used when `type` is 'LoadBalancer'";
const SET_ONCE: &str = "may not change once set";
const SOURCE_RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";
const TOPOLOGY_HINTS: &str = "service.kubernetes.io/topology-aware-hints";
const TOPOLOGY_MODE: &str = "service.kubernetes.io/topology-mode";

/// Whether a service has no address of its own.
fn is_headless(spec: &Node<'_>) -> bool {
    let addresses = spec.child("clusterIPs");
    addresses.len() == 1 && addresses.texts().next() == Some("None")
}

/// Whether a service can be reached from outside.
pub(super) fn is_external(spec: &Node<'_>) -> bool {
    matches!(spec.text_of("type"), "LoadBalancer" | "NodePort")
        || (spec.text_of("type") == "ClusterIP" && spec.child("externalIPs").len() > 0)
}

/// Whether a load balancer asks the nodes of a service how they are.
pub(super) fn needs_health_check(spec: &Node<'_>) -> bool {
    spec.text_of("type") == "LoadBalancer" && spec.text_of("externalTrafficPolicy") == "Local"
}

/// The rules for a service.
pub(super) fn service(check: &mut Check<'_>) {
    check.metadata_or_update();
    let (spec, old_spec) = (check.spec(), check.old_at(&["spec"]));
    let errors = &mut check.errors;
    if check.old.is_some() {
        check_update(&spec, &old_spec, errors);
    }
    check_topology_annotations(&check.new.at(&["metadata", "annotations"]), errors);
    check_type(&spec, errors);
    let ports = spec.child("ports");
    let mut names = BTreeSet::new();
    for port in ports.items() {
        check_service_port(&port, ports.len() > 1, &mut names, errors);
    }
    check_labels(&spec.child("selector"), errors);
    check_affinity(&spec, errors);
    check_addresses(&spec, &old_spec, errors);
    let known: Vec<_> = old_spec.child("externalIPs").texts().collect();
    for address in spec.child("externalIPs").items() {
        let before = errors.len();
        ip::check_address(&address, errors, &known);
        if errors.len() == before {
            ip::check_endpoint(&address, errors);
        }
    }
    spec.child("type").check_choice(errors, &TYPES);
    check_repeated_ports(&spec, errors);
    check_source_ranges(&check.new, &old_spec, errors);
    let allocates = spec.child("allocateLoadBalancerNodePorts");
    if allocates.is_set() && spec.text_of("type") != "LoadBalancer" {
        errors.push(allocates.forbidden(ONLY_LOAD_BALANCER));
    }
    check_load_balancer_class(&spec, errors);
    check_traffic(&spec, errors);
}

fn check_topology_annotations(annotations: &Node<'_>, errors: &mut Errors) {
    let (hints, mode) = (annotations.get(TOPOLOGY_HINTS), annotations.get(TOPOLOGY_MODE));
    if let (Some(hints), Some(mode)) = (hints, mode)
        && hints != mode
    {
        let path = annotations.path.key(TOPOLOGY_MODE);
        let detail = format!("must match annotations[{TOPOLOGY_HINTS}] when both are specified");
        errors.push(FieldError::invalid(&path, mode, &detail));
    }
}

fn check_type(spec: &Node<'_>, errors: &mut Errors) {
    let kind = spec.text_of("type");
    let ports = spec.child("ports");
    if ports.len() == 0 && !is_headless(spec) && kind != "ExternalName" {
        errors.push(ports.required(""));
    }
    match kind {
        "LoadBalancer" | "NodePort" if is_headless(spec) => {
            let first = spec.child("clusterIPs").path.index(0);
            let detail = format!("may not be set to 'None' for {kind} services");
            errors.push(FieldError::invalid_text(&first, "None", &detail));
        }
        "ExternalName" => {
            for name in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
                let field = spec.child(name);
                if field.len() > 0 || !field.text().is_empty() {
                    errors.push(field.forbidden("may not be set for ExternalName services"));
                }
            }
            let name = spec.child("externalName");
            let target = name.text().strip_suffix('.').unwrap_or(name.text());
            if target.is_empty() {
                errors.push(name.required(""));
            }
            let problems = if target.is_empty() { vec![] } else { format::dns_subdomain(target) };
            errors
                .extend(problems.iter().map(|problem| FieldError::invalid_text(&name.path, target, problem)));
        }
        _ => {}
    }
}

fn check_service_port<'a>(
    port: &Node<'a>,
    needs_name: bool,
    names: &mut BTreeSet<&'a str>,
    errors: &mut Errors,
) {
    let name = port.child("name");
    if !name.text().is_empty() {
        name.check(errors, format::dns_label);
        if !names.insert(name.text()) {
            errors.push(name.duplicate());
        }
    } else if needs_name {
        errors.push(name.required(""));
    }
    let number = port.child("port");
    errors.extend(format::port_number(number.int()).map(|problem| number.invalid_int(problem)));
    port.child("protocol").check_choice(errors, &["SCTP", "TCP", "UDP"]);
    check_port(&port.child("targetPort"), errors);
    let protocol = port.child("appProtocol");
    if protocol.is_set() {
        protocol.check(errors, format::qualified_name);
    }
}

fn check_affinity(spec: &Node<'_>, errors: &mut Errors) {
    let (affinity, config) = (spec.child("sessionAffinity"), spec.child("sessionAffinityConfig"));
    affinity.check_choice(errors, &["ClientIP", "None"]);
    match affinity.text() {
        "ClientIP" => {
            let seconds = config.at(&["clientIP", "timeoutSeconds"]);
            let missing = [&config, &config.child("clientIP"), &seconds]
                .into_iter()
                .find(|part| !part.is_set())
                .cloned();
            if let Some(part) = missing {
                errors.push(part.required("when session affinity type is ClientIP"));
            } else if !(1..=MAX_AFFINITY_SECONDS).contains(&seconds.int()) {
                let detail = format!("must be greater than 0 and less than {MAX_AFFINITY_SECONDS}");
                errors.push(seconds.invalid_int(&detail));
            }
        }
        "None" if config.is_set() => {
            errors.push(config.forbidden("must not be set when session affinity is None"));
        }
        _ => {}
    }
}

fn check_addresses(spec: &Node<'_>, old_spec: &Node<'_>, errors: &mut Errors) {
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

/// Whether all addresses are proper ones.
fn check_each_address(addresses: &Node<'_>, old_spec: &Node<'_>, errors: &mut Errors) -> bool {
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

fn check_repeated_ports(spec: &Node<'_>, errors: &mut Errors) {
    let ports: Vec<_> = spec.child("ports").items().collect();
    if spec.text_of("type") == "ClusterIP" {
        for port in ports.iter().filter(|port| port.int_of("nodePort") != 0) {
            errors.push(port.child("nodePort").forbidden("may not be used when `type` is 'ClusterIP'"));
        }
    }
    let mut seen = BTreeSet::new();
    for port in ports.iter().filter(|port| port.int_of("nodePort") != 0) {
        if !seen.insert((port.text_of("protocol"), port.int_of("nodePort"))) {
            errors.push(port.child("nodePort").duplicate());
        }
    }
    let mut seen = BTreeSet::new();
    for port in &ports {
        let (protocol, number) = (port.text_of("protocol"), port.int_of("port"));
        if !seen.insert((protocol, number)) {
            let json = format!(
                "{{\"Name\":\"\",\"Protocol\":{},\"AppProtocol\":null,\"Port\":{number},\"TargetPort\":0,\"NodePort\":0}}",
                shown(Value::String(protocol))
            );
            errors.push(FieldError::duplicate_json(&port.path, &json));
        }
    }
}

fn check_source_ranges(service: &Node<'_>, old_spec: &Node<'_>, errors: &mut Errors) {
    let spec = service.child("spec");
    let is_load_balancer = spec.text_of("type") == "LoadBalancer";
    let ranges = spec.child("loadBalancerSourceRanges");
    let trimmed = |node: &Node<'_>, errors: &mut Errors, text: &str, known: &[&str]| {
        ip::check_range(
            &Node { value: Some(Value::String(text.trim())), path: node.path.clone() },
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
        Node { value: annotations.get(SOURCE_RANGES), path: annotations.path.key(SOURCE_RANGES) };
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

fn check_load_balancer_class(spec: &Node<'_>, errors: &mut Errors) {
    let class = spec.child("loadBalancerClass");
    if !class.is_set() {
    } else if spec.text_of("type") == "LoadBalancer" {
        class.check(errors, format::qualified_name);
    } else {
        errors.push(class.forbidden(ONLY_LOAD_BALANCER));
    }
}

fn check_traffic(spec: &Node<'_>, errors: &mut Errors) {
    let external = spec.child("externalTrafficPolicy");
    if is_external(spec) {
        external.check_choice(errors, &["Cluster", "Local"]);
    } else if !external.text().is_empty() {
        errors.push(external.invalid_text("may only be set for externally-accessible services"));
    }
    let health = spec.child("healthCheckNodePort");
    if !needs_health_check(spec) {
        if health.int() != 0 {
            let detail =
                "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
            errors.push(health.invalid_int(detail));
        }
    } else if health.int() != 0 {
        // One that isn't given is allocated before the server looks at it.
        errors.extend(format::port_number(health.int()).map(|problem| health.invalid_int(problem)));
    }
    let internal = spec.child("internalTrafficPolicy");
    if !internal.is_set() && matches!(spec.text_of("type"), "NodePort" | "LoadBalancer" | "ClusterIP") {
        errors.push(internal.required(""));
    }
    internal.check_one_of(errors, &["Cluster", "Local"]);
    spec.child("trafficDistribution")
        .check_one_of(errors, &["PreferClose", "PreferSameZone", "PreferSameNode"]);
}

fn check_update(spec: &Node<'_>, old_spec: &Node<'_>, errors: &mut Errors) {
    let involves_name = [spec, old_spec].iter().any(|spec| spec.text_of("type") == "ExternalName");
    let headless = (is_headless(old_spec), is_headless(spec));
    if !involves_name && headless != (true, true) {
        check_kept(spec, old_spec, "clusterIPs", "clusterIP", errors);
    }
    if !involves_name && headless == (false, false) {
        check_kept(spec, old_spec, "ipFamilies", "ipFamily", errors);
    }
    let class = spec.child("loadBalancerClass");
    let stays_balanced = [spec, old_spec].iter().all(|spec| spec.text_of("type") == "LoadBalancer");
    if stays_balanced && class.value != old_spec.get("loadBalancerClass") {
        errors.push(class.invalid(SET_ONCE));
    }
    check_load_balancer_class(spec, errors);
    let health = spec.child("healthCheckNodePort");
    if needs_health_check(spec)
        && needs_health_check(old_spec)
        && health.int() != old_spec.int_of("healthCheckNodePort")
    {
        errors.push(health.forbidden("field is immutable"));
    }
}

/// A list whose first item stays, and whose second one can be taken away.
fn check_kept(spec: &Node<'_>, old_spec: &Node<'_>, list: &str, one: &str, errors: &mut Errors) {
    let (new, old) = (spec.child(list), old_spec.child(list));
    let (items, old_items): (Vec<_>, Vec<_>) = (new.texts().collect(), old.texts().collect());
    let changed = |position| new.shown_at(new.path.index(position)).invalid(SET_ONCE);
    if items.len() == old_items.len() {
        for position in (0..items.len()).filter(|position| items.get(*position) != old_items.get(*position)) {
            // The server always shows families at the first place.
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

/// The rules for the status of a service.
pub(super) fn service_status(check: &mut Check<'_>) {
    check.metadata_update();
    let ingress = check.new.at(&["status", "loadBalancer", "ingress"]);
    let is_load_balancer = check.spec().text_of("type") == "LoadBalancer";
    if !is_load_balancer && ingress.len() > 0 {
        check.errors.push(ingress.forbidden("may only be used when `spec.type` is 'LoadBalancer'"));
        return;
    }
    let old_ingress = check.old_at(&["status", "loadBalancer", "ingress"]);
    check_ingress_points(&ingress, &old_ingress, true, &mut check.errors);
}

/// The points at which a load balancer can be reached.
pub(super) fn check_ingress_points(points: &Node<'_>, old: &Node<'_>, has_mode: bool, errors: &mut Errors) {
    let known: Vec<_> = old.items().map(|point| point.text_of("ip")).filter(|ip| !ip.is_empty()).collect();
    for point in points.items() {
        let (address, mode, hostname) = (point.child("ip"), point.child("ipMode"), point.child("hostname"));
        if !address.text().is_empty() {
            ip::check_address(&address, errors, &known);
        }
        match (address.text().is_empty(), mode.is_set()) {
            _ if !has_mode => {}
            (false, false) => errors.push(mode.required("must be specified when `ip` is set")),
            (true, true) => errors.push(mode.forbidden("may not be specified when `ip` is not set")),
            _ => mode.check_one_of(errors, &["Proxy", "VIP"]),
        }
        if !hostname.text().is_empty() {
            hostname.check(errors, format::dns_subdomain);
            if ip::parse_sloppy(hostname.text()).is_some() {
                errors.push(hostname.invalid_text("must be a DNS name, not an IP address"));
            }
        }
    }
}
