//! Validation of network policies, ingresses and their classes.

use baton_merge::value::Value;

use super::{
    check::Check,
    cursor::{Cursor, Errors},
    format, ip, selector,
    service::check_ingress_points,
};
use crate::field::FieldError;

const PATH_TYPES: [&str; 3] = ["Exact", "ImplementationSpecific", "Prefix"];
const BROKEN_PARTS: [&str; 5] = ["//", "/./", "/../", "%2f", "%2F"];
const BROKEN_ENDS: [&str; 2] = ["/..", "/."];
const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";

/// The longest name of an ingress controller.
const CONTROLLER_LENGTH: usize = 250;

pub(super) fn network_policy(check: &mut Check<'_>) {
    check.metadata_or_update();
    let (spec, old_spec) = (check.spec(), check.old_at(&["spec"]));
    let errors = &mut check.errors;
    let known = blocks(&old_spec);
    selector::check(&spec.child("podSelector"), errors);
    for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
        for rule in spec.child(direction).items() {
            for port in rule.child("ports").items() {
                check_policy_port(&port, errors);
            }
            for peer in rule.child(peers).items() {
                check_peer(&peer, &known, errors);
            }
        }
    }
    let types = spec.child("policyTypes");
    if types.len() > 2 {
        errors.push(types.invalid("may not specify more than two policyTypes"));
        return;
    }
    for policy_type in types.items() {
        policy_type.check_one_of(errors, &["Ingress", "Egress"]);
    }
}

/// All CIDRs of a policy, which may stay in any form.
fn blocks<'a>(spec: &Cursor<'a>) -> Vec<&'a str> {
    let mut known = vec![];
    for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
        for rule in spec.child(direction).items() {
            for block in rule.child(peers).items().map(|peer| peer.child("ipBlock")) {
                known.push(block.text_of("cidr"));
                known.extend(block.child("except").texts());
            }
        }
    }
    known
}

fn check_policy_port(port: &Cursor<'_>, errors: &mut Errors) {
    port.child("protocol").check_one_of(errors, &["TCP", "UDP", "SCTP"]);
    let (number, end) = (port.child("port"), port.child("endPort"));
    match number.value {
        None if end.is_set() => {
            errors.push(end.invalid_int("may not be specified when `port` is not specified"));
        }
        Some(Value::String(_)) => {
            if end.is_set() {
                errors.push(end.invalid_int("may not be specified when `port` is non-numeric"));
            }
            number.check(errors, format::port_name);
        }
        Some(_) => {
            errors.extend(format::port_number(number.int()).map(|problem| number.invalid_int(problem)));
            if end.is_set() {
                if end.int() < number.int() {
                    let detail = "must be greater than or equal to `port`";
                    errors.push(FieldError::invalid(&end.path, Value::Int(number.int()), detail));
                }
                errors.extend(format::port_number(end.int()).map(|problem| end.invalid_int(problem)));
            }
        }
        None => {}
    }
}

fn check_peer(peer: &Cursor<'_>, known: &[&str], errors: &mut Errors) {
    let mut found = 0;
    for selector in ["podSelector", "namespaceSelector"].map(|name| peer.child(name)) {
        if selector.is_set() {
            found += 1;
            selector::check(&selector, errors);
        }
    }
    let block = peer.child("ipBlock");
    if block.is_set() {
        found += 1;
        check_block(&block, known, errors);
    }
    if found == 0 {
        errors.push(peer.required("must specify a peer"));
    } else if found > 1 && block.is_set() {
        errors.push(peer.forbidden("may not specify both ipBlock and another peer"));
    }
}

fn check_block(block: &Cursor<'_>, known: &[&str], errors: &mut Errors) {
    let range = block.child("cidr");
    if range.text().is_empty() {
        errors.push(range.required(""));
        return;
    }
    ip::check_range(&range, errors, known);
    let Some(outer) = ip::parse_range_sloppy(range.text()) else { return };
    for except in block.child("except").items() {
        ip::check_range(&except, errors, known);
        let inner = ip::parse_range_sloppy(except.text());
        if inner.is_some_and(|inner| !ip::is_strictly_within(inner, outer)) {
            errors.push(except.invalid_text("must be a strict subset of `cidr`"));
        }
    }
}

pub(super) fn ingress(check: &mut Check<'_>) {
    check.metadata_update_and_metadata();
    let (spec, old_spec) = (check.spec(), check.old_at(&["spec"]));
    let errors = &mut check.errors;
    let (rules, backend) = (spec.child("rules"), spec.child("defaultBackend"));
    if rules.len() == 0 && !backend.is_set() {
        let detail = "either `defaultBackend` or `rules` must be specified";
        errors.push(FieldError::invalid(&spec.path, rules.value.unwrap_or(Value::Null), detail));
    }
    if backend.is_set() {
        check_backend(&backend, errors);
    }
    for rule in rules.items() {
        check_rule(&rule, errors);
    }
    let has_broken_secret = old_spec.child("tls").items().any(|tls| has_broken_secret(&tls));
    for tls in spec.child("tls").items() {
        for host in tls.child("hosts").items() {
            check_host(&host, errors);
        }
        let secret = tls.child("secretName");
        if !has_broken_secret && !secret.text().is_empty() {
            secret.check(errors, format::dns_subdomain);
        }
    }
    let class = spec.child("ingressClassName");
    class.check_if_set(errors, format::dns_subdomain);
    let annotation = check.new.at(&["metadata", "annotations"]).child(CLASS_ANNOTATION);
    if check.old.is_none() && annotation.is_set() && class.is_set() && annotation.text() != class.text() {
        let path = crate::field::FieldPath::new("annotations").child(CLASS_ANNOTATION);
        let detail = "must match `ingressClassName` when both are specified";
        errors.push(annotation.shown_at(path).invalid_text(detail));
    }
}

fn has_broken_secret(tls: &Cursor<'_>) -> bool {
    let name = tls.text_of("secretName");
    !name.is_empty() && !format::dns_subdomain(name).is_empty()
}

fn check_host(host: &Cursor<'_>, errors: &mut Errors) {
    let is_wildcard = host.text().contains('*');
    host.check(errors, if is_wildcard { format::wildcard_subdomain } else { format::dns_subdomain });
}

fn check_rule(rule: &Cursor<'_>, errors: &mut Errors) {
    let host = rule.child("host");
    if !host.text().is_empty() {
        if ip::parse_sloppy(host.text()).is_some() {
            errors.push(host.invalid_text("must be a DNS name, not an IP address"));
        }
        check_host(&host, errors);
    }
    let http = rule.child("http");
    if !http.is_set() {
        return;
    }
    let paths = http.child("paths");
    if paths.len() == 0 {
        errors.push(paths.required(""));
    }
    for path in paths.items() {
        check_path(&path, errors);
    }
}

fn check_path(entry: &Cursor<'_>, errors: &mut Errors) {
    let (path, path_type) = (entry.child("path"), entry.child("pathType"));
    let is_absolute = path.text().starts_with('/');
    match path_type.text() {
        _ if !path_type.is_set() => {
            errors.push(path_type.required("pathType must be specified"));
            return;
        }
        "Exact" | "Prefix" => {
            if !is_absolute {
                errors.push(path.invalid_text("must be an absolute path"));
            }
            for part in BROKEN_PARTS.iter().filter(|part| path.text().contains(**part)) {
                errors.push(path.invalid_text(&format!("must not contain '{part}'")));
            }
            for end in BROKEN_ENDS.iter().filter(|end| path.text().ends_with(**end)) {
                errors.push(path.invalid_text(&format!("cannot end with '{end}'")));
            }
        }
        "ImplementationSpecific" => {
            if !path.text().is_empty() && !is_absolute {
                errors.push(path.invalid_text("must be an absolute path"));
            }
        }
        _ => errors.push(path_type.not_supported(&PATH_TYPES)),
    }
    check_backend(&entry.child("backend"), errors);
}

fn check_backend(backend: &Cursor<'_>, errors: &mut Errors) {
    let empty = |detail| FieldError::invalid_text(&backend.path, "", detail);
    let (resource, service) = (backend.child("resource"), backend.child("service"));
    match (resource.is_set(), service.is_set()) {
        (true, true) => errors.push(empty("cannot set both resource and service backends")),
        (false, false) => errors.push(empty("resource or service backend is required")),
        (true, false) => check_typed_reference(&resource, errors),
        (false, true) => {
            service.child("name").check_required(errors, format::dns_label);
            let (name, number) = (service.at(&["port", "name"]), service.at(&["port", "number"]));
            match (!name.text().is_empty(), number.int() != 0) {
                (true, true) => errors.push(empty("cannot set both port name & port number")),
                (true, false) => name.check(errors, format::port_name),
                (false, true) => {
                    errors
                        .extend(format::port_number(number.int()).map(|problem| number.invalid_int(problem)));
                }
                (false, false) => errors.push(backend.required("port name or number is required")),
            }
        }
    }
}

fn check_typed_reference(reference: &Cursor<'_>, errors: &mut Errors) {
    reference.child("apiGroup").check_if_set(errors, format::dns_subdomain);
    for name in ["kind", "name"] {
        reference.child(name).check_required(errors, format::path_segment);
    }
}

pub(super) fn ingress_status(check: &mut Check<'_>) {
    check.metadata_update();
    let points = ["status", "loadBalancer", "ingress"];
    let old = check.old_at(&points);
    check_ingress_points(&check.new.at(&points), &old, false, &mut check.errors);
}

/// Validates a class of ingresses.
pub(super) fn ingress_class(check: &mut Check<'_>) {
    check.metadata_update();
    let controller = check.spec().child("controller");
    if check.old.is_some() && controller.text() != check.old_at(&["spec", "controller"]).text() {
        check.errors.push(controller.invalid_text(super::cursor::IMMUTABLE));
    }
    check.metadata();
    let (spec, errors) = (check.spec(), &mut check.errors);
    let controller = spec.child("controller");
    if controller.text().len() > CONTROLLER_LENGTH {
        errors.push(FieldError::too_long(&controller.path, CONTROLLER_LENGTH));
    }
    check_prefixed_path(&controller, errors);
    let parameters = spec.child("parameters");
    if !parameters.is_set() {
        return;
    }
    check_typed_reference(&parameters, errors);
    let (scope, namespace) = (parameters.child("scope"), parameters.child("namespace"));
    if !scope.is_set() {
        errors.push(scope.required(""));
        return;
    }
    scope.check_one_of(errors, &["Cluster", "Namespace"]);
    match scope.text() {
        "Namespace" if !namespace.is_set() => {
            errors.push(namespace.required("`parameters.scope` is set to 'Namespace'"));
        }
        "Namespace" => namespace.check(errors, format::dns_label),
        "Cluster" if namespace.is_set() => {
            errors.push(namespace.forbidden("`parameters.scope` is set to 'Cluster'"));
        }
        _ => {}
    }
}

/// A path with a domain as its prefix, such as `example.com/name`.
pub(super) fn check_prefixed_path(text: &Cursor<'_>, errors: &mut Errors) {
    if text.text().is_empty() {
        errors.push(text.required(""));
        return;
    }
    match text.text().split_once('/') {
        Some((host, path)) if !host.is_empty() && !path.is_empty() => {
            let mut check = |part: &str, problems: Vec<String>| {
                errors.extend(
                    problems.iter().map(|problem| FieldError::invalid_text(&text.path, part, problem)),
                );
            };
            check(host, format::dns_subdomain(host));
            check(path, format::http_path(path));
        }
        _ => errors.push(text.invalid_text("must be a domain-prefixed path (such as \"acme.io/foo\")")),
    }
}
