//! Validation of status of a pod.

use std::collections::BTreeSet;

use super::update::check_annotation_updates;
use crate::field::FieldError;
use crate::kinds::{
    cursor::{Cursor, Errors},
    format,
    go_json::{GoField, GoType, go_json},
    ip,
};

/// An address as Go prints it.
const ADDRESS: &[GoField] = &[("IP", "ip", GoType::Plain("\"\""))];

const NEGATIVE: &str = "must be a non-negative integer";

/// Validates an update of a pod's status, except for its metadata. Resources and users, which only nodes report, aren't
/// validated.
pub(in crate::kinds) fn check_status_update(new: &Cursor<'_>, old: &Cursor<'_>, errors: &mut Errors) {
    check_annotation_updates(new, old, errors);
    let (status, old_status) = (new.child("status"), old.child("status"));
    for condition in status.child("conditions").items() {
        let generation = condition.child("observedGeneration");
        if generation.int() < 0 {
            errors.push(generation.invalid_int(NEGATIVE));
        }
        let kind = condition.child("type");
        if !matches!(kind.text(), "PodScheduled" | "Ready" | "Initialized") {
            kind.shown_at(condition.path.child("Type")).check(errors, format::qualified_name);
        }
    }
    let node = status.child("nominatedNodeName");
    if !node.text().is_empty() && node.text() != old_status.text_of("nominatedNodeName") {
        node.check(errors, format::dns_subdomain);
    }
    let generation = status.child("observedGeneration");
    if generation.int() < 0 {
        errors.push(generation.invalid_int(NEGATIVE));
    }
    let class = status.child("qosClass");
    if class.text() != old_status.text_of("qosClass") {
        errors.push(class.invalid_text(crate::kinds::cursor::IMMUTABLE));
    }
    check_transitions(&status, &old_status, &old.child("spec"), errors);
    check_claims(&status.child("resourceClaimStatuses"), &new.at(&["spec", "resourceClaims"]), errors);
    check_addresses(&status, &old_status, "podIPs", errors);
    let host = status.child("hostIPs").items().next().map(|host| host.child("ip"));
    if let Some(host) = host.filter(|host| host.text() != status.text_of("hostIP")) {
        errors.push(host.invalid_text("must be equal to `hostIP`"));
    }
    check_addresses(&status, &old_status, "hostIPs", errors);
}

fn check_transitions(status: &Cursor<'_>, old_status: &Cursor<'_>, spec: &Cursor<'_>, errors: &mut Errors) {
    for (statuses, containers) in [
        ("containerStatuses", Some("containers")),
        ("initContainerStatuses", Some("initContainers")),
        ("ephemeralContainerStatuses", None),
    ] {
        let place = status.child(statuses);
        for (position, old) in old_status.child(statuses).items().enumerate() {
            let ended = old.at(&["state", "terminated"]);
            if !ended.is_set() {
                continue;
            }
            let name = old.text_of("name");
            let runs_again = place
                .items()
                .find(|new| new.text_of("name") == name)
                .is_some_and(|new| !new.at(&["state", "terminated"]).is_set());
            let may_run_again = containers
                .and_then(|containers| {
                    spec.child(containers).items().find(|container| container.text_of("name") == name)
                })
                .is_some_and(|container| restarts(&container, spec, ended.int_of("exitCode")));
            if runs_again && !may_run_again {
                let state = Cursor { value: None, path: place.path.index(position).child("state") };
                errors.push(state.forbidden("may not be transitioned to non-terminated state"));
            }
        }
    }
}

/// Whether a terminated container runs again.
fn restarts(container: &Cursor<'_>, spec: &Cursor<'_>, exit_code: i64) -> bool {
    let applies = |rule: &Cursor<'_>| {
        let codes = rule.child("exitCodes");
        let is_among = codes.child("values").items().any(|code| code.int() == exit_code);
        match codes.text_of("operator") {
            "In" => is_among,
            "NotIn" => !is_among,
            _ => false,
        }
    };
    if container.child("restartPolicyRules").items().any(|rule| applies(&rule)) {
        return true;
    }
    let policy = match container.text_of("restartPolicy") {
        "" => spec.text_of("restartPolicy"),
        own => own,
    };
    match policy {
        "Always" => true,
        "OnFailure" => exit_code != 0,
        _ => false,
    }
}

fn check_claims(statuses: &Cursor<'_>, claims: &Cursor<'_>, errors: &mut Errors) {
    let mut names = BTreeSet::new();
    for status in statuses.items() {
        let name = status.child("name");
        if !claims.items().any(|claim| claim.text_of("name") == name.text()) {
            errors.push(name.invalid_text("must match the name of an entry in `spec.resourceClaims`"));
        }
        if !names.insert(name.text()) {
            errors.push(name.duplicate());
        }
        status.child("resourceClaimName").check_if_set(errors, format::dns_subdomain);
    }
}

fn check_addresses(status: &Cursor<'_>, old_status: &Cursor<'_>, name: &str, errors: &mut Errors) {
    let addresses = status.child(name);
    let old_addresses = old_status.child(name);
    let known: Vec<_> = old_addresses.items().map(|address| address.text_of("ip")).collect();
    let mut families = Vec::new();
    for address in addresses.items() {
        ip::check_address(&address.child("ip").shown_at(address.path.clone()), errors, &known);
        families.push(ip::parse_sloppy(address.text_of("ip")).is_some_and(|ip| ip.is_ipv4()));
    }
    if families.len() > 2 || (families.len() == 2 && families.first() == families.last()) {
        let shown: Vec<_> = addresses.items().map(|address| go_json(address.value, ADDRESS)).collect();
        let detail = "may specify no more than one IP for each IP family";
        errors.push(FieldError::invalid_json(&addresses.path, &format!("[{}]", shown.join(",")), detail));
    }
}
