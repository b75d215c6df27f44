//! Validation of services.

mod address;

use std::collections::BTreeSet;

use baton_merge::value::Value;

pub(super) use self::address::check_allocated;
use self::address::{check_addresses, check_kept, check_source_ranges};
use super::{
    check::Check,
    cursor::{Cursor, Errors},
    format, ip,
    metadata::check_labels,
    pod::check_port,
};
use crate::field::{FieldError, shown};

/// The longest timeout of session affinity.
const MAX_AFFINITY_SECONDS: i64 = 86400;

const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const ONLY_LOAD_BALANCER: &str = "may only be used when `type` is 'LoadBalancer'";
const SET_ONCE: &str = "may not change once set";
const SOURCE_RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";
const TOPOLOGY_HINTS: &str = "service.kubernetes.io/topology-aware-hints";
const TOPOLOGY_MODE: &str = "service.kubernetes.io/topology-mode";

fn is_headless(spec: &Cursor<'_>) -> bool {
    let addresses = spec.child("clusterIPs");
    addresses.len() == 1 && addresses.texts().next() == Some("None")
}

/// Whether a service has external traffic.
pub(super) fn is_external(spec: &Cursor<'_>) -> bool {
    matches!(spec.text_of("type"), "LoadBalancer" | "NodePort")
        || (spec.text_of("type") == "ClusterIP" && spec.child("externalIPs").len() > 0)
}

/// Whether a load balancer checks the health of nodes.
pub(super) fn needs_health_check(spec: &Cursor<'_>) -> bool {
    spec.text_of("type") == "LoadBalancer" && spec.text_of("externalTrafficPolicy") == "Local"
}

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

fn check_topology_annotations(annotations: &Cursor<'_>, errors: &mut Errors) {
    let (hints, mode) = (annotations.get(TOPOLOGY_HINTS), annotations.get(TOPOLOGY_MODE));
    if let (Some(hints), Some(mode)) = (hints, mode)
        && hints != mode
    {
        let path = annotations.path.key(TOPOLOGY_MODE);
        let detail = format!("must match annotations[{TOPOLOGY_HINTS}] when both are specified");
        errors.push(FieldError::invalid(&path, mode, &detail));
    }
}

fn check_type(spec: &Cursor<'_>, errors: &mut Errors) {
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
    port: &Cursor<'a>,
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
    port.child("appProtocol").check_if_set(errors, format::qualified_name);
}

fn check_affinity(spec: &Cursor<'_>, errors: &mut Errors) {
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

fn check_repeated_ports(spec: &Cursor<'_>, errors: &mut Errors) {
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

fn check_load_balancer_class(spec: &Cursor<'_>, errors: &mut Errors) {
    let class = spec.child("loadBalancerClass");
    if !class.is_set() {
    } else if spec.text_of("type") == "LoadBalancer" {
        class.check(errors, format::qualified_name);
    } else {
        errors.push(class.forbidden(ONLY_LOAD_BALANCER));
    }
}

fn check_traffic(spec: &Cursor<'_>, errors: &mut Errors) {
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
        // An absent port is allocated before validation.
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

fn check_update(spec: &Cursor<'_>, old_spec: &Cursor<'_>, errors: &mut Errors) {
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

/// Validates the ingress points of a load balancer.
pub(super) fn check_ingress_points(
    points: &Cursor<'_>,
    old: &Cursor<'_>,
    has_mode: bool,
    errors: &mut Errors,
) {
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
