//! Validation of pod specs, in the server's order.

use std::collections::BTreeSet;

use baton_merge::value::Value;

use super::{Scope, container, resources, scheduling, security, volume};
use crate::field::FieldError;
use crate::kinds::{
    cursor::{Cursor, Errors},
    format,
    go_json::{GoField, GoType, go_json},
    ip,
    metadata::check_labels,
};

pub(super) const RESTART_POLICIES: [&str; 3] = ["Always", "OnFailure", "Never"];

/// A resource claim as Go prints it.
const CLAIM: &[GoField] = &[
    ("Name", "name", GoType::Plain("\"\"")),
    ("ResourceClaimName", "resourceClaimName", GoType::Plain("null")),
    ("ResourceClaimTemplateName", "resourceClaimTemplateName", GoType::Plain("null")),
];

/// The most seconds that the field's type can hold.
const MAX_SECONDS: i64 = i32::MAX as i64;

/// Validates a pod spec. `metadata` is that of the pod, if it isn't a template.
pub(super) fn check(scope: &Scope<'_>, metadata: Option<&Cursor<'_>>, errors: &mut Errors) {
    let spec = &scope.spec;
    spec.child("terminationGracePeriodSeconds").check_set(errors, "");
    let volumes = volume::check_all(scope, metadata, errors);
    let claims = check_resource_claims(&spec.child("resourceClaims"), errors);
    let context = container::Context { scope, volumes: &volumes, claims: &claims };
    context.check_containers(errors);
    context.check_init_containers(errors);
    context.check_ephemeral_containers(errors);
    resources::check_pod_level(spec, &claims, errors);
    check_host_network_ports(scope, errors);
    spec.child("restartPolicy").check_choice(errors, &RESTART_POLICIES);
    spec.child("dnsPolicy")
        .check_choice(errors, &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"]);
    check_labels(&spec.child("nodeSelector"), errors);
    security::check_pod(scope, errors);
    scheduling::check_affinity(&spec.child("affinity"), errors);
    check_dns_config(spec, errors);
    for gate in spec.child("readinessGates").items() {
        gate.child("conditionType").check(errors, format::qualified_name);
    }
    scheduling::check_gates(&spec.child("schedulingGates"), errors);
    scheduling::check_spread(&spec.child("topologySpreadConstraints"), errors);
    check_host_processes(scope, errors);
    check_host_users(scope, errors);
    check_host_name_override(spec, errors);
    check_names(spec, errors);
    check_rest(scope, &claims, errors);
    check_file_key_volumes(scope, errors);
}

fn check_resource_claims<'a>(claims: &Cursor<'a>, errors: &mut Errors) -> BTreeSet<&'a str> {
    let mut names = BTreeSet::new();
    for claim in claims.items() {
        let name = claim.child("name");
        if name.text().is_empty() {
            errors.push(name.required(""));
        } else if names.insert(name.text()) {
            name.check(errors, format::dns_label);
        } else {
            errors.push(name.duplicate());
        }
        let sources = [claim.child("resourceClaimName"), claim.child("resourceClaimTemplateName")];
        match sources.iter().filter(|source| source.is_set()).count() {
            0 => {
                let detail = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`";
                errors.push(FieldError::invalid_json(&claim.path, &go_json(claim.value, CLAIM), detail));
            }
            2 => {
                let detail =
                    "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified";
                errors.push(FieldError::invalid_json(&claim.path, &go_json(claim.value, CLAIM), detail));
            }
            _ => {}
        }
        for source in sources.iter().filter(|source| source.is_set()) {
            source.check(errors, format::dns_subdomain);
        }
    }
    names
}

fn check_host_network_ports(scope: &Scope<'_>, errors: &mut Errors) {
    if !scope.spec.flag_of("hostNetwork") {
        return;
    }
    for container in scope.spec.child("containers").items() {
        for port in container.child("ports").items() {
            let host = port.child("hostPort");
            if (scope.is_pod || host.int() != 0) && host.int() != port.int_of("containerPort") {
                errors.push(host.invalid_int("must match `containerPort` when `hostNetwork` is true"));
            }
        }
    }
}

fn check_dns_config(spec: &Cursor<'_>, errors: &mut Errors) {
    const NAMESERVERS: usize = 3;
    const SEARCHES: usize = 32;
    const SEARCH_LENGTH: usize = 2048;

    let config = spec.child("dnsConfig");
    let (nameservers, searches) = (config.child("nameservers"), config.child("searches"));
    if spec.text_of("dnsPolicy") == "None" {
        if !config.is_set() {
            errors.push(config.required("must provide `dnsConfig` when `dnsPolicy` is None"));
            return;
        }
        if nameservers.len() == 0 {
            let detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            errors.push(nameservers.required(detail));
            return;
        }
    }
    if nameservers.len() > NAMESERVERS {
        errors.push(nameservers.invalid(&format!("must not have more than {NAMESERVERS} nameservers")));
    }
    for nameserver in nameservers.items() {
        ip::check_address(&nameserver, errors, &[]);
    }
    if searches.len() > SEARCHES {
        errors.push(searches.invalid(&format!("must not have more than {SEARCHES} search paths")));
    }
    if searches.texts().collect::<Vec<_>>().join(" ").len() > SEARCH_LENGTH {
        errors.push(searches.invalid(&format!(
            "must not have more than {SEARCH_LENGTH} characters (including spaces) in the search list"
        )));
    }
    for search in searches.items().filter(|search| search.text() != ".") {
        let name = search.text().strip_suffix('.').unwrap_or(search.text());
        let problems = format::dns_subdomain_with_underscore(name);
        errors.extend(problems.iter().map(|problem| FieldError::invalid_text(&search.path, name, problem)));
    }
    for option in config.child("options").items() {
        if option.text_of("name").is_empty() {
            errors.push(option.required("must not be empty"));
        }
    }
}

/// Validates host-process containers of Windows.
fn check_host_processes(scope: &Scope<'_>, errors: &mut Errors) {
    const HOST_PROCESS: [&str; 3] = ["securityContext", "windowsOptions", "hostProcess"];

    let spec = &scope.spec;
    let of_pod = spec.at(&HOST_PROCESS);
    let (mut all, mut processes) = (0, 0);
    for container in scope.containers() {
        let own = container.at(&HOST_PROCESS);
        if of_pod.is_set() && own.is_set() && own.flag() != of_pod.flag() {
            errors.push(own.invalid(&format!(
                "pod hostProcess value must be identical if both are specified, was {}",
                of_pod.flag()
            )));
        }
        all += 1;
        processes += usize::from(if own.is_set() { own.flag() } else { of_pod.flag() });
    }
    if processes == 0 {
        return;
    }
    if processes != all {
        let detail =
            "If pod contains any hostProcess containers then all containers must be HostProcess containers";
        errors.push(FieldError::invalid_text(&spec.path, "", detail));
    }
    if !spec.flag_of("hostNetwork") {
        let detail = "hostNetwork must be true if pod contains any hostProcess containers";
        errors.push(FieldError::invalid(&spec.child("hostNetwork").path, Value::Bool(false), detail));
    }
}

fn check_host_users(scope: &Scope<'_>, errors: &mut Errors) {
    const FORBIDDEN: &str = "when `hostUsers` is false";

    if scope.shares_host_users() {
        return;
    }
    let spec = &scope.spec;
    for (name, shown) in [("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")] {
        if spec.flag_of(name) {
            errors.push(spec.child(shown).forbidden(FORBIDDEN));
        }
    }
    for container in scope.containers() {
        let devices = container.child("volumeDevices");
        if devices.len() > 0 {
            errors.push(devices.forbidden(FORBIDDEN));
        }
    }
}

fn check_host_name_override(spec: &Cursor<'_>, errors: &mut Errors) {
    const LENGTH: usize = 64;

    let name = spec.child("hostnameOverride");
    if !name.is_set() {
        return;
    }
    if spec.flag_of("setHostnameAsFQDN") {
        errors.push(name.forbidden("may not be specified when setHostnameAsFQDN is true"));
    }
    if spec.flag_of("hostNetwork") {
        errors.push(name.forbidden("may not be specified when hostNetwork is true"));
    }
    if name.text().len() > LENGTH {
        errors.push(FieldError::too_long(&name.path, LENGTH));
    }
    name.check(errors, format::dns_subdomain);
}

fn check_names(spec: &Cursor<'_>, errors: &mut Errors) {
    let check = |name: &str, rule, errors: &mut Errors| {
        spec.child(name).check_unless_empty(errors, rule);
    };
    check("serviceAccountName", format::dns_subdomain, errors);
    check("nodeName", format::dns_subdomain, errors);
    spec.child("activeDeadlineSeconds").check_range(errors, 1, MAX_SECONDS);
    check("hostname", format::dns_label, errors);
    check("subdomain", format::dns_label, errors);
    scheduling::check_tolerations(&spec.child("tolerations"), errors);
    for alias in spec.child("hostAliases").items() {
        ip::check_address(&alias.child("ip"), errors, &[]);
        for hostname in alias.child("hostnames").items() {
            hostname.check(errors, format::dns_subdomain);
        }
    }
    check("priorityClassName", format::dns_subdomain, errors);
    spec.child("runtimeClassName").check_if_set(errors, format::dns_subdomain);
}

fn check_rest(scope: &Scope<'_>, claims: &BTreeSet<&str>, errors: &mut Errors) {
    let spec = &scope.spec;
    let preemption = spec.child("preemptionPolicy");
    if preemption.is_set() {
        scheduling::check_preemption_policy(&preemption, errors);
    }
    let overhead = spec.child("overhead");
    if overhead.is_set() {
        resources::check_overhead(&overhead, claims, errors);
    }
    let os = spec.child("os");
    match os.text_of("name") {
        _ if !os.is_set() => {}
        "" => errors.push(os.child("name").required("")),
        "linux" => security::check_linux(scope, errors),
        "windows" => security::check_windows(scope, errors),
        name => errors.push(FieldError::not_supported(&os.path, Value::String(name), &["linux", "windows"])),
    }
}

fn check_file_key_volumes(scope: &Scope<'_>, errors: &mut Errors) {
    let volumes: Vec<_> = scope.spec.child("volumes").items().collect();
    for container in scope.containers() {
        for variable in container.child("env").items() {
            let reference = variable.at(&["valueFrom", "fileKeyRef"]);
            if !reference.is_set() {
                continue;
            }
            let name = reference.child("volumeName");
            match volumes.iter().rfind(|volume| volume.text_of("name") == name.text()) {
                None => errors.push(name.not_found()),
                Some(volume) if !volume.has("emptyDir") => {
                    errors.push(name.invalid_text("referenced volume must be of type emptyDir"));
                }
                Some(_) => {}
            }
        }
    }
}
